"""Conditions: which are taken, which are refused, and that none of them reaches beyond its row."""

from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._engine import open_source
from flowveil._engine.condition import FUNCTIONS, check_condition, without_errors
from flowveil._engine.duckdb import connection, relation
from flowveil.trajectories import read_trajectories

ROWS = pa.table(
    {
        "start_lon": [4.5, 4.6, 4.7],
        "start_lat": [50.4, 50.4, 50.4],
        "end_lon": [4.5, 4.6, 4.7],
        "end_lat": [50.4, 50.4, 50.4],
        "n": pa.array([1, 2, None], pa.int64()),
        "text": ["one", "Two", None],
        "moment": pa.array(["2024-05-01 08:00:00", "2024-05-02 09:00:00", None]).cast(pa.timestamp("us")),
        "place": [{"x": 1, "inner": {"y": "a"}}, {"x": 2, "inner": {"y": "b"}}, None],
        "list": [[1, 2], [3], None],
        "yes": [True, False, None],
        'odd "name; --': [1, 2, 3],
        "user": ["a", "b", "c"],
        "select": [1, 2, 3],
    }
)

GOOD = {
    "n = 1": 1,
    "n <> 1 AND n < 3": 1,
    "n BETWEEN 1 AND 2": 2,
    "n NOT BETWEEN 2 AND 3": 1,
    "n IN (1, 7)": 1,
    "text NOT IN ('one')": 1,
    "n IN [1, 2]": 2,
    "text LIKE 'o%'": 1,
    "text NOT LIKE 'o%'": 1,
    "text ILIKE 't%'": 1,
    "text LIKE 'T#_%' ESCAPE '#'": 0,
    "text SIMILAR TO '[a-z]+'": 1,
    "regexp_matches(text, '^[oT]')": 2,
    "text GLOB 'T*'": 1,
    "CASE WHEN n = 1 THEN true ELSE false END": 1,
    "CASE n WHEN 1 THEN 'a' WHEN 2 THEN 'b' END = 'b'": 1,
    "CAST(n AS VARCHAR) = '1' OR n::DOUBLE = 2.0": 2,
    "TRY_CAST(text AS INTEGER) IS NULL": 3,
    "n::DECIMAL(10, 2) = 1": 1,
    "moment >= '2024-05-02'": 1,
    "moment >= DATE '2024-05-01' AND moment < TIMESTAMP '2024-05-02 00:00:00'": 1,
    "moment + INTERVAL 1 DAY > '2024-05-03'": 1,
    "moment + INTERVAL '1 day' > '2024-05-03'": 1,
    "EXTRACT(hour FROM moment) = 8": 1,
    "hour(moment) = 9 AND isodow(moment) = 4": 1,
    "strftime(moment, '%Y-%m') = '2024-05'": 2,
    "date_trunc('day', moment) = '2024-05-01'": 1,
    "moment AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Paris' >= '2024-05-02 11:00'": 1,
    "n IS NULL": 1,
    "n IS NOT NULL": 2,
    "n ISNULL OR n NOTNULL": 3,
    "n IS DISTINCT FROM 1": 2,
    "yes": 1,
    "NOT yes": 1,
    "yes IS NOT TRUE": 2,
    "(n + 1) * 2 - 1 = 3": 1,
    "n % 2 = 1 AND n // 2 = 0 AND -n = -1 AND n ** 2 = 1": 1,
    "(n & 1) = 1 OR (n | 4) = 6": 2,
    "lower(text) || '!' = 'two!'": 1,
    "upper(trim(text)) = 'ONE'": 1,
    "substring(text FROM 1 FOR 1) = 'T'": 1,
    "position('w' IN text) = 2": 1,
    "split_part(text, 'n', 1) = 'o'": 1,
    "coalesce(n, 7) = 7": 1,
    "ifnull(nullif(n, 1), 9) = 9": 2,
    "greatest(n, 2) = 2": 3,
    "abs(start_lon - 4.5) < 0.001": 1,
    "place.x = 1": 1,
    "place.inner.y = 'b'": 1,
    "place['x'] = 2": 1,
    "(place).x = 2": 1,
    "list[1] = 3": 1,
    "list_contains(list, 2)": 1,
    "len(list) = 2": 1,
    '"odd ""name; --" > 1': 2,
    "\"user\" = 'a'": 1,
    "user = 'b'": 1,
    '"select" = 3': 1,
    "N = 1": 1,
    "text = 'it''s; -- no comment' OR text = $$one$$": 1,
    "text COLLATE NOCASE = 'TWO'": 1,
    "n = 1 -- a comment": 1,
    "n = 1 /* a comment */": 1,
    "(n, text) = (1, 'one')": 1,
    " OR ".join(f"n = {number}" for number in range(3000)): 2,
}

OTHER = "read_text('SECRET')"
BAD = {
    "a second statement": "true); COPY (SELECT 42) TO 'TARGET'; --",
    "a second statement before": "true; COPY (SELECT 42) TO 'TARGET'",
    "an end of the statement": "n = 1;",
    "a statement that is no query": "true); SET memory_limit = '1GB'; --",
    "union": "1=1) UNION SELECT 1 --\n",
    "union that closes": "1=1) UNION SELECT (2",
    "another table": "1=1) FROM read_text('SECRET') WHERE (true",
    "another expression": "true), (false",
    "parentheses that only look whole": "true) OR (SELECT true",
    "a name for it": "true) AS x, (true",
    "an order": "true) ORDER BY (1",
    "an open comment": "true /* ",
    "an open text": "text = 'one",
    "an open dollar": "text = $$one",
    "nothing": "",
    "a comment": "-- true",
    "a list of expressions for a statement": "n = 1, n = 2",
    "a subquery on a file": f"(SELECT content FROM {OTHER}) IS NOT NULL",
    "a subquery": "n = (SELECT 1)",
    "a subquery that starts with FROM": "n = (FROM range(1))",
    "exists": f"EXISTS (SELECT 1 FROM {OTHER})",
    "in subquery": f"text IN (SELECT content FROM {OTHER})",
    "in a table function": "n IN (FROM range(5))",
    "any": "n = ANY([1, 2])",
    "any subquery": "n = ANY(SELECT 1)",
    "all": "n > ALL(SELECT 1)",
    "array of a subquery": "n = ARRAY(SELECT 1)[1]",
    "a subquery deep inside": f"CASE WHEN n > 0 THEN lower((SELECT content FROM {OTHER})) END = 'x'",
    "a list comprehension": f"len([x FOR x IN list IF x > (SELECT count(*) FROM {OTHER})]) > 1",
    "a lambda": "list_contains(list_transform(list, lambda x: x + 1), 2)",
    "a file for a table": "n IN 'SECRET'.n",
    "a table function": "read_text('SECRET') IS NOT NULL",
    "read_csv": "read_csv('SECRET') IS NOT NULL",
    "glob": "glob('*') IS NOT NULL",
    "query": "query('SELECT 1') = 1",
    "count": "count(*) > 1",
    "sum": "sum(n) > 1",
    "a sum with a filter": "sum(n) FILTER (WHERE n > 1) > 1",
    "a window": "sum(n) OVER () > 1",
    "row_number": "row_number() OVER (ORDER BY n) > 1",
    "lag": "lag(n) OVER () = n",
    "unnest": "unnest(list) = 1",
    "chance": "random() < 0.5",
    "uuid": "uuid() IS NOT NULL",
    "the clock": "moment < now()",
    "today": "moment < today()",
    "current_date": "moment < current_date",
    "current_timestamp": "moment < CURRENT_TIMESTAMP",
    "localtime": "localtime IS NULL",
    "age to today": "age(moment) > INTERVAL 3 DAY",
    "who": "session_user = 'duckdb'",
    "a setting": "current_setting('memory_limit') = '1'",
    "a variable of the shell": "getenv('HOME') = '/'",
    "a variable": "getvariable('x') = 1",
    "a sequence": "nextval('s') = 1",
    "an error": "error('text') IS NULL",
    "waiting": "sleep_ms(10) IS NULL",
    "a plan": "json_serialize_plan('SELECT 1') IS NULL",
    "a hidden column": "rowid = 1",
    "a column of the file reader": "file_row_number = 1",
    "the whole row": "input_table IS NOT NULL",
    "a table before a column": "input_table.n = 1",
    "a method of a column": "text.lower() = 'one'",
    "another schema": "pg_catalog.lower(text) = 'one'",
    "a parameter": "n = ?",
    "a numbered parameter": "n = $1",
    "a named parameter": "n = $n",
    "a position": "#1 = 1",
    "a star": "* = 1",
    "columns": "COLUMNS(*) IS NOT NULL",
    "columns by pattern": "COLUMNS('n') = 1",
    "a default": "n = DEFAULT",
    "grouping": "grouping(n) = 1",
    "an unknown column": "m = 1",
    "an unknown function": "frobnicate(n) = 1",
    "a type that is none": "n::frobnicate = 1",
    "a struct for a condition": "place",
    "deep nesting": "NOT " * 5000 + "yes",
    "a deep sum": "+".join(["n"] * 950) + " > 1",
    "half a letter": "text = '\ud800'",
    "a number": "1",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Write the rows as Parquet."""
    file = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(ROWS, file)
    return file


def planted(text, folder):
    """Return a condition that names files of a folder."""
    return text.replace("SECRET", f"{folder}/secret.csv").replace("TARGET", f"{folder}/target.csv")


def kept(source, where):
    """Return how many rows a condition keeps."""
    opened = open_source(source)
    condition = check_condition(opened, where)
    with connection(opened) as con:
        return con.execute(f"SELECT count(*) FROM {relation(con, opened)} WHERE ({condition})").fetchall()[0][0]


@pytest.mark.slow
@pytest.mark.parametrize("where", GOOD)
def test_good(where, path):
    """What is run keeps the rows that DuckDB keeps by itself, and is checked to the same text again."""
    condition = check_condition(open_source(path), where)
    told = duckdb.connect().execute(f"SELECT count(*) FROM '{path}' WHERE (\n{where}\n)").fetchall()[0][0]

    assert kept(path, where) == told == GOOD[where]
    assert kept(ROWS, condition) == told


@pytest.mark.parametrize("name", BAD)
def test_bad(name, path, tmp_path):
    """It is refused before anything runs: nothing is written, and no other file is read."""
    (tmp_path / "secret.csv").write_text("n\n1\n")
    where = planted(BAD[name], tmp_path)

    with pytest.raises(fv.InputError, match="cannot be used") as caught:
        fv.read_trips(path, where=where)

    assert repr(where) in caught.value.message
    assert caught.value.message.isprintable()
    assert "one row" in caught.value.hint
    assert [item.name for item in tmp_path.iterdir()] == ["secret.csv"]


def test_functions_look_at_one_row():
    """DuckDB itself says of each function that it is plain: no aggregate, no side effect, the same at any time."""
    known = duckdb.connect().execute("SELECT function_name, function_type, stability FROM duckdb_functions()")
    kinds = {}
    for name, kind, stability in known.fetchall():
        if kind in ("scalar", "macro", "aggregate"):  # a table function cannot stand in an expression
            kinds.setdefault(name, set()).add((kind, stability))
    names = {name for text in FUNCTIONS.values() for name in text.split()}

    assert {name: kinds[name] for name in names if kinds.get(name, set()) - PLAIN} == {}
    assert len(names & kinds.keys()) > 0.95 * len(names)


PLAIN = {("scalar", "CONSISTENT"), ("macro", None)}


def test_functions_are_documented():
    """The page that errors point to lists each function."""
    page = (Path(__file__).parents[1] / "docs" / "command-line.md").read_text(encoding="utf-8").replace("\\|", "|")

    assert [name for text in FUNCTIONS.values() for name in text.split() if f"`{name}`" not in page] == []


def test_connection_is_shut(path, tmp_path):
    """Even SQL that was never checked reads no other file, writes none, sees no variable and cannot open the door."""
    (tmp_path / "secret.csv").write_text("n\n1\n")
    variable = pa.table({"n": [1]})
    words = ["SELECT * FROM variable", "INSTALL httpfs", "LOAD httpfs", "ATTACH 'TARGET'"]
    words += ["COPY (SELECT 42) TO 'TARGET'", "COPY (SELECT 42) TO 'TARGET' (USE_TMP_FILE false)", "FROM 'SECRET'"]
    words += ["SELECT * FROM read_text('SECRET')", "SELECT * FROM glob('SECRET*')", "EXPORT DATABASE 'TARGET'"]
    words += ["SET enable_external_access = true", "SET allowed_paths = ['SECRET']", "SET temp_directory = 'TARGET'"]

    with connection(open_source(path)) as con:
        assert con.execute(f"SELECT count(*) FROM read_parquet('{path}')").fetchall() == [(variable.num_rows + 2,)]
        for sql in words:
            with pytest.raises(duckdb.Error):
                con.execute(planted(sql, tmp_path))
            with pytest.raises(duckdb.Error):
                con.cursor().execute(planted(sql, tmp_path))

    assert [item.name for item in tmp_path.iterdir()] == ["secret.csv"]


def test_names_of_files(tmp_path):
    """A file is read under any name, by itself: patterns in names are text, and what they match stays closed."""
    for name in ("a*.csv", "ab.csv", "it's [1]?.csv"):
        pa.csv.write_csv(ROWS.select(["start_lon", "start_lat", "end_lon", "end_lat", "n"]), tmp_path / name)

    for name in ("a*.csv", "it's [1]?.csv"):
        flows = fv.build_flows(fv.read_trips(tmp_path / name, where="n = 1"), "h3:5")
        assert (flows.provenance.rows, flows.provenance.where) == (1, "(n = 1)")


def test_times_are_compared_in_utc(tmp_path, monkeypatch):
    """What a condition keeps does not depend on the clock of the machine."""
    table = ROWS.set_column(6, "moment", [pa.array([0, 3_600_000_000, None], pa.timestamp("us", "Europe/Paris"))])
    monkeypatch.setenv("TZ", "America/New_York")
    pq.write_table(table, tmp_path / "t.parquet")

    for source in (table, tmp_path / "t.parquet"):
        trips = fv.read_trips(source, where="hour(moment) = 0 AND moment < '1970-01-01 00:30:00'")
        assert fv.build_flows(trips, "h3:5").total == 1


def test_types_of_a_csv_file(tmp_path):
    """A condition sees numbers and times as DuckDB reads them, also of columns that flowveil reads as text."""
    lines = ["start_lon,start_lat,end_lon,end_lat,who,moment"]
    lines += [f"4.5,50.4,4.6,50.4,{number},2024-05-0{number} 08:00:00" for number in range(1, 8)]
    (tmp_path / "t.csv").write_text("\n".join(lines))

    for where, total in {
        "who >= 3 AND moment < '2024-05-06'": 3,
        "start_lon < end_lon AND isodow(moment) < 6": 5,
    }.items():
        assert fv.build_flows(fv.read_trips(tmp_path / "t.csv", where=where), "h3:5", unit="who").total == total


def test_samples_are_filtered_by_the_same_rule():
    """Trajectories and frames of a day take a good condition, and refuse one that looks elsewhere."""
    table = pa.table({"user_id": ["a", "b"], "lon": [1.0, 1.0], "lat": [1.0, 1.0], "time": ["2024-05-01 07:00"] * 2})
    frames = {"frames": "6-10", "max_trips_per_person": 1}

    assert read_trajectories(table, (0, 0, 2, 2), where="user_id LIKE 'a'").users == ("a",)
    matrix = fv.build_frame_matrix(table, (0, 0, 2, 2), 10, where="user_id LIKE 'a'", **frames)
    assert (matrix.points.counts.sum(), matrix.provenance.where) == (1, "(user_id ~~ 'a')")
    for where in ("(SELECT true)", "count(*) OVER () > 1"):
        with pytest.raises(fv.InputError, match="cannot be used"):
            read_trajectories(table, (0, 0, 2, 2), where=where)
        with pytest.raises(fv.InputError, match="cannot be used"):
            fv.build_frame_matrix(table, (0, 0, 2, 2), 10, where=where, **frames)


numbers = st.integers(-9, 9) | st.none()
values = st.sampled_from(["a", "b", "(-3)", "2", "NULL"])
sums = st.tuples(values, st.sampled_from(["+", "-", "*"]), values).map(lambda part: f"({' '.join(part)})")
signs = st.sampled_from(["=", "<>", "<", ">=", "IS DISTINCT FROM"])
tests = st.tuples(values | sums, signs, values | sums).map(" ".join)
conditions = st.recursive(
    tests | values.map("{} IS NULL".format) | values.map("{} IN (1, 2, b)".format),
    lambda inner: st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(" ".join) | inner.map("NOT ({})".format),
    max_leaves=6,
)


@pytest.mark.slow
@given(st.lists(st.tuples(numbers, numbers), max_size=6), conditions)
@settings(max_examples=50, deadline=None)
def test_a_condition_is_the_one_that_was_typed(rows, where):
    """What is run keeps what the typed text keeps, row by row: rows beside a row change nothing."""
    table = pa.table({name: pa.array([row[at] for row in rows], pa.int64()) for at, name in enumerate(("a", "b"))})
    con = duckdb.connect()
    alone = 0
    for number in range(len(rows)):
        con.register("one", table.slice(number, 1))
        alone += con.execute(f"SELECT count(*) FROM one WHERE (\n{where}\n)").fetchall()[0][0]

    assert kept(table, where) == alone


@pytest.mark.parametrize("where", ["day >= '2024-06-31'", "n > 'abc'", "day > strptime('May', '%Y')"])
@pytest.mark.parametrize("noise", [[], ["--epsilon", "1", "--bbox", "0,0,9,9"]])
def test_values_that_cannot_be(where, noise, tmp_path, capsys):
    """A date that does not exist is an error before any row is read, with noise too: it depends on no row."""
    place = dict.fromkeys(("start_lon", "start_lat", "end_lon", "end_lat"), pa.array([1.0] * 12))
    day = pa.array([datetime(2024, 6, 1, tzinfo=UTC)] * 12)
    pq.write_table(pa.table(place | {"day": day, "n": [1] * 12}), tmp_path / "t.parquet")

    arguments = ["anonymize", str(tmp_path / "t.parquet"), "-o", str(tmp_path / "out"), "--where", where, *noise]
    assert run(arguments) == 2

    told = capsys.readouterr().err
    assert "the condition" in told
    assert "06-31" in told or "abc" in told or "May" in told
    assert not (tmp_path / "out").exists()


def test_without_errors():
    """A row on which a condition fails is left out, and the others stay."""
    table = pa.table({"a": ["1", "x", "3"]})
    condition = without_errors(check_condition(open_source(table), "CAST(a AS INTEGER) > 0"))

    with connection(open_source(table)) as con:
        assert con.execute(
            f"SELECT count(*) FROM {relation(con, open_source(table))} WHERE {condition}"
        ).fetchall() == [(2,)]
    assert without_errors(None) is None
