"""Trips from a PostgreSQL server: the same release as from a file, in bounded memory, and no password anywhere."""

from __future__ import annotations

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from adbc_driver_postgresql import dbapi

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._engine import QuerySource
from flowveil.synthetic import write_city
from tests.postgres import PASSWORD, quoted, server
from tests.waiting import run_program

TRIPS = 1_000_000
QUERY = "SELECT * FROM trips"
OPTIONS = ["--hierarchy", "h3", "--unit", "person_id", "--weight", "weight", "--grid", "h3:8"]
LIMIT = 900  # MB, of which Python with all libraries and compiled loops takes about 300

pytestmark = pytest.mark.slow  # a server and a million trips

# Runs the command and prints the most memory it had.
MEASURED = """
import sys
from flowveil._cli.commands import run
code = run(sys.argv[1:])
from flowveil._processes import peak_memory
print("peak", round(peak_memory()), file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    """Write the trips as a file."""
    path = tmp_path_factory.mktemp("database") / "trips.parquet"
    write_city(path, trips=TRIPS, persons=50_000)
    return path


@pytest.fixture(scope="module")
def url(trips):
    """Start a server and load the trips."""
    with server() as address:
        file = pq.ParquetFile(trips)
        with dbapi.connect(address) as con, con.cursor() as cursor:
            cursor.adbc_ingest(
                "trips", pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches()), mode="create"
            )
            con.commit()
        yield address


def flowveil(*arguments):
    """Run a command in a process of its own."""
    return run_program([sys.executable, "-c", MEASURED, *map(str, arguments)])


def test_release_from_a_database(url, trips, tmp_path):
    """A million trips go from the server to a verified release: same bytes as from the file, memory is bounded."""
    plain = flowveil("anonymize", trips, *OPTIONS, "-o", tmp_path / "plain")  # first: it may have to compile loops
    made = flowveil("anonymize", url, "--query", QUERY, *OPTIONS, "--memory", "200MB", "-o", tmp_path / "out")
    assert made.returncode == 0, made.stderr
    peak = int(made.stderr.split("peak ")[1])
    checked = flowveil("verify", tmp_path / "out", "--against", url, "--query", QUERY)

    assert plain.returncode == 0, plain.stderr
    for name in ("flows.parquet", "areas.parquet", "manifest.json"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
    assert checked.returncode == 0, checked.stderr
    assert peak < LIMIT
    secrets = [PASSWORD, quoted(PASSWORD), "127.0.0.1", "SELECT"]
    texts = [path.read_text() for path in [tmp_path / "out.audit.json", tmp_path / "out" / "manifest.json"]]
    for text in [*texts, made.stdout, made.stderr, checked.stdout, checked.stderr]:
        assert not [secret for secret in secrets if secret in text]
    assert json.loads(texts[0])["input"]["fingerprint"][0]["name"] == "query"


def test_types_of_a_database(url):
    """Numbers of any precision, ids of other types and conditions work as in files; nulls are counted."""
    query = (
        "SELECT start_lon::numeric(12, 8), start_lat::real, end_lon,"
        " CASE WHEN trip_id % 4 > 0 THEN end_lat END AS end_lat,"
        " md5(person_id)::uuid AS person, trip_id FROM trips WHERE trip_id < 1000"
    )
    trips = fv.read_trips(url, where="trip_id < 100", query=query)

    flows = fv.build_flows(trips, "h3:5", unit="person", max_unusable=0.25)

    assert flows.provenance.rows == 100
    assert flows.provenance.dropped == {"null coordinate": 25}
    assert flows.total == 75


@pytest.mark.parametrize(
    ("change", "query", "says"),
    [
        (lambda url: url, "SELECT nothing FROM trips", "nothing"),
        (lambda url: url, "DELETE FROM trips RETURNING *", "read-only"),
        (lambda url: url, "SELECT 1 / 0 AS origin, 2 AS destination", ""),
        (lambda url: url.replace("owner:", "owner:wrong"), QUERY, "password"),
        (lambda url: url.replace("%", "%zz"), QUERY, "URL"),
        (lambda url: url.replace("@127.0.0.1", "@[127.0.0.1"), QUERY, "URL"),
        (lambda url: url.replace("/postgres", "/nowhere"), QUERY, "nowhere"),
        (lambda url: url.split("@")[0] + "@127.0.0.1:1/postgres", QUERY, "connection"),
    ],
)
def test_errors_tell_no_password(change, query, says, url, tmp_path, capsys):
    """What goes wrong is told in one sentence, with exit code 2, and no error shows the password."""
    code = run(["anonymize", change(url), "--query", query, "-o", str(tmp_path / "out")])

    told = capsys.readouterr().err
    assert code == 2, told
    assert told.startswith("error: ")
    assert says in told
    for secret in (PASSWORD, quoted(PASSWORD), "hush"):
        assert secret not in told
    assert not (tmp_path / "out").exists()


def test_query_and_database_go_together(tmp_path):
    """A database without a query is an error, and so is a query without a database."""
    with pytest.raises(fv.InputError, match="what to ask"):
        fv.read_trips("postgresql://owner:hush@127.0.0.1/postgres")
    with pytest.raises(fv.InputError, match="no database"):
        fv.read_trips(str(tmp_path), query=QUERY)


def test_repr_tells_no_password():
    """Looking at trips in Python does not show the password."""
    assert "hush" not in repr(QuerySource("postgresql://owner:hush@127.0.0.1/postgres", QUERY))
