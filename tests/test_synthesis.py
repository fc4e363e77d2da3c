"""Synthetic trajectories: what one user adds is bounded, all is charged, and drawing looks at nothing private."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._folder.writing import _write_table
from flowveil._noise import PARTS, Ledger
from flowveil._synthesis import contributions, model
from flowveil._synthesis.clock import Days, local_minutes, parse_days, utc_minutes
from flowveil._synthesis.contributions import Counted, add_up
from flowveil._synthesis.divided import Places, box_cells, divide, find_places, root_square
from flowveil._synthesis.drawing import draw_paths
from flowveil._synthesis.estimates import fit, lower, smooth
from flowveil._synthesis.evaluation import traces_of
from flowveil._synthesis.measure import compare
from flowveil._synthesis.model import learn
from flowveil._synthesis.neighbors import distances
from flowveil._synthesis.parts import GRID, SHARES, UNITS, part_shapes, size_class, size_edges
from flowveil._synthesis.paths import Paths, paths_within
from flowveil._synthesis.records import Records, make_samples
from flowveil.synthetic import PHONES_BBOX, phones
from flowveil.trajectories import make_grid, read_trajectories, synthesize

DAYS = "2024-03-04,2024-03-17"
FIRST = parse_days(DAYS).first
GRID_OF_TESTS = make_grid(PHONES_BBOX, "1km,1min")
RUNS, ALPHA = 20_000, 1e-6


@st.composite
def paths_of_users(draw):
    """Return paths of a few users, some with a single sample, on a small map and three days."""
    x0, _, y0, _ = box_cells(GRID_OF_TESTS)
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 4), st.integers(0, 3 * 1440 - 1), st.integers(x0, x0 + 4), st.integers(y0, y0 + 4)
            ),
            min_size=1,
            max_size=60,
        )
    )
    rows = sorted(set(rows))
    user, minute, x, y = np.array(rows, np.int64).T
    _, user = np.unique(user, return_inverse=True)
    return Paths(user.ravel(), minute + FIRST * 1440, x, y)


def amounts(paths, places):
    """Return what users add to every part of the model, without noise."""
    days = Days(FIRST, 3, "UTC")
    place = find_places(places, root_square(GRID_OF_TESTS), paths.x, paths.y)
    records = Records(make_samples(paths.user, paths.minute, days), places, place, days)
    block = np.arange(len(places)) % 3
    found = {}
    for part, (rows, columns) in part_shapes(len(places), 3, days.many).items():
        user, cell = records.of(part, block if part in ("pairs", "moves") else None)
        assert ((cell >= 0) & (cell < rows * columns)).all()
        shared = np.full(records.users, 4) if part == "stays" else None
        found[part] = add_up(user, cell, rows * columns, shared)
    return found


def even_places(edge=8):
    """Return places of one size that cover the box."""
    x0, x1, y0, y1 = box_cells(GRID_OF_TESTS)
    x, y = np.meshgrid(np.arange(x0, x1 + 1, edge), np.arange(y0, y1 + 1, edge))
    return Places(x.ravel(), y.ravel(), np.full(x.size, edge))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(paths_of_users())
def test_one_user_adds_at_most_one(paths):
    """Taking any user away lowers each part by at most UNITS in all, and raises no count."""
    places = even_places(1 << 1)
    whole = amounts(paths, places)

    for user in np.unique(paths.user).tolist():
        kept = paths.user != user
        if not kept.any():
            continue
        _, number = np.unique(paths.user[kept], return_inverse=True)
        less = amounts(Paths(number.ravel(), paths.minute[kept], paths.x[kept], paths.y[kept]), places)
        for part, counts in whole.items():
            change = counts - less[part]
            assert (change >= 0).all(), part
            assert change.sum() <= UNITS, part


@settings(max_examples=40, deadline=None)
@given(paths_of_users())
def test_places_cover_the_box_once(paths):
    """Whatever the noise, places tile the cells of the box, and every sample is in the place that holds it."""
    places, place = divide(Ledger(20.0 / UNITS), GRID_OF_TESTS, Counted(paths.user, paths.x, paths.y))
    x0, x1, y0, y1 = box_cells(GRID_OF_TESTS)
    x, y = (part.ravel() for part in np.meshgrid(np.arange(x0, x1 + 1), np.arange(y0, y1 + 1)))
    inside = (
        (x[:, None] >= places.x)
        & (x[:, None] < places.x + places.edge)
        & (y[:, None] >= places.y)
        & (y[:, None] < places.y + places.edge)
    )

    assert (inside.sum(axis=1) == 1).all()
    assert (inside.argmax(axis=1) == find_places(places, root_square(GRID_OF_TESTS), x, y)).all()
    assert (place == find_places(places, root_square(GRID_OF_TESTS), paths.x, paths.y)).all()


def test_shares_are_all_of_epsilon():
    """The parts of the budget add up to epsilon, and each is a part of the model or the grid."""
    assert sum(SHARES.values()) == 1000
    assert set(SHARES) == {GRID, *part_shapes(1, 1, 1)}


@pytest.mark.slow
def test_drawing_depends_on_the_noisy_model_alone():
    """Two inputs that give the same noisy counts give the same synthetic paths, byte for byte."""
    days = parse_days(DAYS)
    data = read_trajectories(phones(30), PHONES_BBOX, step="1km,1min")
    paths, _ = paths_within(data, days)
    learned, _ = learn(paths, data.grid, days, 50.0)
    copied = model.Model(**{**vars(learned), "counts": {part: each.copy() for part, each in learned.counts.items()}})

    one, other = draw_paths(learned, seed=3), draw_paths(copied, seed=3)

    for name in ("user", "minute", "x", "y"):
        assert (getattr(one, name) == getattr(other, name)).all()
    assert set(vars(learned)) == {"grid", "days", "places", "block", "counts", "scales"}  # nothing of the samples


@pytest.mark.slow
def test_same_counts_from_other_people(monkeypatch):
    """Where noise hides a difference of two inputs wholly, all files of the releases are the same."""
    one, other = phones(20), phones(20, seed=5)
    seen = []

    def publish(self, name, nodes, counts):
        """Give every count the same noisy value: as likely as any other, only less."""
        self._charge(name, nodes, self.left(nodes))
        return np.full(len(counts), 7 * UNITS), np.full(len(nodes), PARTS)

    monkeypatch.setattr(Ledger, "publish", publish)
    monkeypatch.setattr("flowveil._noise.growing.Growth.splits", lambda _self, nodes, _counts: nodes == 0)
    for table in (one, other):
        release = synthesize(table, 1, bbox=PHONES_BBOX, days=DAYS, step="1km,1min", seed=1)
        seen.append((release.tables, release.manifest))

    assert seen[0] == seen[1]


def observed(paths, epsilon, part, runs):
    """Return what a part of the model counts in its first cells, in many runs."""
    ledger = Ledger(model.share_of(epsilon))
    user, cell = np.zeros(paths, np.int64), np.zeros(paths, np.int64)
    counts = np.tile(contributions.add_up(user, cell, 1) if paths else np.zeros(1, np.int64), runs)
    own = ledger.part(part, model._parts(part))
    noisy, _ = own.publish(part, own.children(np.zeros(runs, np.int64)), counts)
    return noisy


def lower_bound(one, other):
    """Return the epsilon that two lots of runs prove: of events above a threshold, with Clopper-Pearson bounds."""
    best = 0.0
    for threshold in np.quantile(one, np.linspace(0.05, 0.95, 19)):
        for a, b in ((one >= threshold, other >= threshold), (one < threshold, other < threshold)):
            low = stats.beta.ppf(ALPHA, a.sum(), len(a) - a.sum() + 1) if a.any() else 0.0
            high = stats.beta.ppf(1 - ALPHA, b.sum() + 1, len(b) - b.sum()) if not b.all() else 1.0
            if low > 0:
                best = max(best, math.log(low / high))
    return best


@pytest.mark.slow
def test_an_auditor_finds_no_more_than_was_charged():
    """With and without a user of many samples, no event is more likely than the charge of a part allows."""
    epsilon = 100.0
    allowed = epsilon * SHARES["homes"] / 1000
    found = lower_bound(*(observed(many, epsilon, "homes", RUNS) for many in (5, 0)))

    assert found / min(allowed, 9) > 0.3
    assert found <= allowed


@pytest.mark.slow
def test_the_auditor_sees_planted_mistakes(monkeypatch):
    """A user whose samples all count, and a part that is not charged for what it draws, are both found."""
    epsilon = 20.0
    allowed = epsilon * SHARES["homes"] / 1000
    assert lower_bound(*(observed(many, epsilon, "homes", RUNS) for many in (3, 0))) <= allowed
    with monkeypatch.context() as planted:
        planted.setattr(contributions, "add_up", lambda user, _cell, _cells: np.array([UNITS * len(user)]))
        assert lower_bound(*(observed(many, epsilon, "homes", RUNS) for many in (3, 0))) > allowed
    with monkeypatch.context() as planted:
        planted.setattr(model, "_parts", lambda _part: PARTS * 3 * SHARES["homes"] // 1000)
        assert lower_bound(*(observed(many, epsilon, "homes", RUNS) for many in (3, 0))) > allowed


def test_the_ledger_refuses_an_unpaid_part(monkeypatch):
    """A model whose shares are more than all of epsilon is not learned."""
    monkeypatch.setitem(SHARES, "moves", SHARES["moves"] + 1)
    with pytest.raises(fv.PromiseError, match="would spend"):
        synthesize(phones(5), 1, bbox=PHONES_BBOX, days=DAYS, step="1km,1min")


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20), st.floats(0.1, 100))
def test_lowering_keeps_the_total(counts, total):
    """Lowered counts are not negative and have the total."""
    lowered = lower(np.array(counts), total)

    assert (lowered >= 0).all()
    assert lowered.sum() == pytest.approx(total)


def test_smoothing_keeps_a_peak_and_drops_noise():
    """A peak stays where it is, and what noise explains is gone."""
    counts = np.zeros(48)
    counts[20] = 500
    shaken = counts + np.random.default_rng(0).laplace(scale=5, size=48)

    smoothed = smooth(shaken, 5)

    assert smoothed.argmax() == 20
    assert np.abs(np.delete(smoothed, 20)).max() < 20


def test_fitting_meets_all_sums():
    """A fitted table has the sums of rows, columns and classes that it was given."""
    true = np.random.default_rng(1).random((4, 4))
    classes = np.abs(np.arange(4)[:, None] - np.arange(4))
    totals = np.bincount(classes.ravel(), true.ravel())

    table = fit(true.sum(axis=1), true.sum(axis=0), classes, totals) * true.sum()

    assert table.sum(axis=1) == pytest.approx(true.sum(axis=1), rel=1e-3)
    assert np.bincount(classes.ravel(), table.ravel()) == pytest.approx(totals, rel=1e-2)


@given(st.integers(1, 100_000))
def test_a_class_holds_its_sizes(size):
    """The edges of a class hold the numbers of samples that are put into it."""
    number = int(size_class(np.array([size]))[0])
    edges = size_edges()

    assert edges[number] <= size + 1e-9
    assert number == len(edges) - 2 or size < edges[number + 1]


@given(st.integers(28_000_000, 29_000_000))
def test_clocks_go_back_and_forth(minute):
    """Local minutes are minutes of UTC again, but for the hour that clocks show twice."""
    local = local_minutes(np.array([minute]), "Europe/Brussels")

    assert abs(int(utc_minutes(local, "Europe/Brussels")[0]) - minute) in (0, 60)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return samples of phones and a release of them."""
    folder = tmp_path_factory.mktemp("synthetic")
    pq.write_table(phones(60, samples=40), folder / "samples.parquet")
    options = {"bbox": PHONES_BBOX, "days": DAYS, "timezone": "Europe/Brussels", "seed": 4}
    release = synthesize(folder / "samples.parquet", 20, **options)
    return folder / "samples.parquet", release.write(folder / "out", report=True)


@pytest.mark.slow
def test_every_operation_works(written, tmp_path):
    """A written release verifies, is read back, evaluated, reported on and exported."""
    samples, folder = written

    assert fv.verify(folder).checks
    assert fv.read_release(folder).samples.num_rows == pq.read_table(folder / "samples.parquet").num_rows
    figures = fv.evaluate(folder, samples)
    assert figures["users"] == 60
    assert figures["measures"]["hours"] < 0.2
    assert fv.report(folder, samples).name == "out.private.html"
    for form in ("csv", "datapackage", "dcat", "skmob", "movingpandas"):
        assert fv.export(folder, form, tmp_path / form).flows > 0
    with pytest.raises(fv.InputError, match="synthetic"):
        fv.export(folder, "gpkg", tmp_path / "gpkg")
    with pytest.raises(fv.InputError, match="synthetic"):
        fv.query(folder)


BROKEN = {
    "more epsilon": lambda manifest, _: manifest["promise"]["budget"][3].update(epsilon=9.0),
    "other words": lambda manifest, _: manifest.update(promise_text="Trust us."),
    "a key": lambda manifest, _: manifest["options"].update(input="samples.parquet"),
    "fewer users": lambda manifest, _: manifest["options"].update(users=3),
    "other days": lambda manifest, _: manifest["options"].update(days="2024-03-05,2024-03-18"),
    "a count": lambda _, tables: tables.update(model=tables["model"].slice(1)),
    "a scale": lambda _, tables: tables.update(model=changed(tables["model"], "scale", lambda values: values / 2)),
    "a place": lambda _, tables: tables.update(places=tables["places"].slice(0, tables["places"].num_rows - 1)),
    "stays": lambda _, tables: tables.update(places=changed(tables["places"], "stays", lambda values: values + 2)),
    "elsewhere": lambda _, tables: tables.update(samples=changed(tables["samples"], "lon", lambda lon: lon + 0.2)),
    "names": lambda _, tables: tables.update(samples=changed(tables["samples"], "user", lambda user: user + 1)),
    "disorder": lambda _, tables: tables.update(samples=changed(tables["samples"], "time", lambda time: time[::-1])),
}


def changed(table, name, change):
    """Return a table with other values of a column."""
    place, kind = table.column_names.index(name), table.schema.field(name).type
    values = table[name].cast(pa.int64()).to_numpy() if pa.types.is_timestamp(kind) else table[name].to_numpy()
    return table.set_column(place, pa.field(name, kind), pa.array(change(values)).cast(kind))


def copy_release(folder, copy, change):
    """Write a release again, with a change."""
    manifest = json.loads((folder / "manifest.json").read_text())
    tables = {name: pq.read_table(folder / f"{name}.parquet") for name in ("samples", "places", "model")}
    change(manifest, tables)
    copy.mkdir()
    (copy / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    for name, table in tables.items():
        _write_table(table, copy / f"{name}.parquet")
    return copy


def test_a_copy_verifies(written, tmp_path):
    """A release that was copied without a change holds: what is refused below is refused for its change."""
    assert fv.verify(copy_release(written[1], tmp_path / "copy", lambda _manifest, _tables: None)).checks


@pytest.mark.parametrize("change", BROKEN)
def test_verify_finds_what_is_broken(change, written, tmp_path):
    """A release that was changed is refused, whoever changed it and whatever the hashes say."""
    with pytest.raises(fv.VerificationError):
        fv.verify(copy_release(written[1], tmp_path / "copy", BROKEN[change]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"days": None}, "days that are public"),
        ({"days": "2024-03-17,2024-03-04"}, "not between"),
        ({"days": "march"}, "cannot be read"),
        ({"bbox": None}, "bounding box that is public"),
        ({"epsilon": 0}, "epsilon"),
        ({"users": 0}, "users"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_options_are_refused(options, message):
    """What cannot be used is refused, with a reason and a hint."""
    with pytest.raises(fv.InputError, match=message):
        synthesize(phones(3), **{"bbox": PHONES_BBOX, "days": DAYS, "step": "1km,1min", **options})


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"days": "2020-01-01,2020-01-02"},
        {"bbox": (10, 50, 11, 51)},
        {"min_samples": 1_000},
        {"where": "CAST(user_id AS TINYINT) >= 0"},
    ],
    ids=["nobody", "other days", "other box", "few samples", "failing condition"],
)
def test_that_nobody_is_there_is_no_error(options, tmp_path):
    """Success must not depend on a single user or row: there would be an error without, and a release with one."""
    source = phones(3) if options else phones(3).slice(0, 0)
    asked = {"bbox": PHONES_BBOX, "days": DAYS, "step": "1km,1min", "users": 2, **options}

    release = synthesize(source, **asked)

    assert any("that is private" in note for note in release.audit["notes"])
    assert "that is private" not in json.dumps(release.manifest)
    assert fv.verify(release.write(tmp_path / "out"))


def test_cut_trajectories_are_refused():
    """A day of a user is not what is protected."""
    data = read_trajectories(phones(3), PHONES_BBOX, cut_into="day")
    with pytest.raises(fv.InputError, match="whole user"):
        synthesize(data, days=DAYS)


@pytest.mark.parametrize(("name", "value"), [("bbox", PHONES_BBOX), ("step", "1km,1min"), ("memory", "1GB")])
def test_nothing_is_ignored_of_samples_that_are_read(name, value):
    """What is asked of reading, once that is done, is refused."""
    data = read_trajectories(phones(3), PHONES_BBOX)
    with pytest.raises(fv.InputError, match=f"{name} was given"):
        synthesize(data, days=DAYS, **{name: value})


def test_the_register_adds_up(tmp_path):
    """Epsilons of synthetic paths are entered, and a budget that is spent refuses another release."""
    register = tmp_path / "register"
    options = {"bbox": PHONES_BBOX, "days": DAYS, "step": "1km,1min", "register": register, "users": 3}
    fv.register(register, epsilon_budget=1.5)
    synthesize(phones(5), 1, **options).write(tmp_path / "one")

    with pytest.raises(fv.PromiseError, match="more than is left"):
        synthesize(phones(5), 1, **options)


@pytest.mark.slow
def test_nobody_is_copied():
    """A copied path has distance 0 to its original; of drawn ones none has, though there is little noise."""
    days = parse_days(DAYS)
    data = read_trajectories(phones(40), PHONES_BBOX)
    paths, _ = paths_within(data, days)
    learned, _ = learn(paths, data.grid, days, 10.0)
    true = traces_of(paths, data.grid, "UTC")

    assert (np.diag(distances(true, true)) == 0).all()
    assert distances(traces_of(draw_paths(learned, seed=0), data.grid, "UTC"), true).min() > 0


@pytest.mark.slow
def test_much_epsilon_is_near_the_truth():
    """With hardly any noise, what was drawn has the places, hours and distances of the data."""
    days = parse_days(DAYS)
    data = read_trajectories(phones(1000), PHONES_BBOX)
    paths, _ = paths_within(data, days)
    learned, _ = learn(paths, data.grid, days, 100.0)
    found = compare(*(traces_of(each, data.grid, "UTC") for each in (paths, draw_paths(learned, seed=0))))

    assert all(found[name] < 0.06 for name in ("density", "homes", "diameter", "gyration", "hours", "commutes"))


@pytest.mark.slow
def test_the_command_line(written, tmp_path, capsys):
    """The command writes a release, and tells the promise; what is missing is said with a hint."""
    samples, _ = written
    box = "4.40,50.26,4.82,50.53"
    typed = ["trajectories", "synthesize", str(samples), "-o", str(tmp_path / "out"), "--bbox", box, "--days", DAYS]

    assert run([*typed, "--epsilon", "1", "--users", "4", "--step", "1km,1min"]) == 0
    assert "4 synthetic users" in capsys.readouterr().out
    assert run(["trajectories", "evaluate", str(tmp_path / "out"), "--against", str(samples), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["synthetic_users"] == 4
    assert run([*typed[:-2], "--days", "soon", "--epsilon", "1", "--overwrite"]) == 2
    assert "hint: write the first and the last day" in capsys.readouterr().err


@pytest.mark.slow
def test_samples_as_they_are_written(tmp_path, capsys):
    """How samples are written can be said, and is remembered where they are read again."""
    samples = phones(4, samples=10).to_pandas()
    samples["time"] = samples["time"].dt.strftime("%d.%m.%y %Hh%M")
    samples.to_csv(tmp_path / "samples.csv", sep=";", decimal=",", index=False)
    typed = [str(tmp_path / "samples.csv"), "-o", str(tmp_path / "out"), "--bbox", "4.40,50.26,4.82,50.53"]
    typed += ["--days", DAYS, "--epsilon", "1", "--users", "4", "--step", "1km,1min"]

    assert run(["trajectories", "synthesize", *typed, "--time-format", "%d.%m.%y %Hh%M"]) == 0
    assert fv.evaluate(tmp_path / "out", tmp_path / "samples.csv")["users"] == 4
    assert run(["trajectories", "synthesize", *typed, "--time-format", "%Y", "--overwrite"]) == 0
    assert "--time-format" in capsys.readouterr().err  # told in private: an error would tell of single rows
