"""Releases of trajectories: what they hold, and that the verifier refuses every mutant."""

from __future__ import annotations

import json
import stat

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowveil import InputError, PromiseError, VerificationError, trajectories
from flowveil.synthetic import PHONES_BBOX, phones
from tests.test_verify import write_table
from tests.trajectories import scattered_sets, small_sets

K = 3


@pytest.fixture(scope="module")
def records():
    """Phone records of 40 users."""
    return phones(40, samples=25)


@pytest.fixture
def folder(records, tmp_path):
    """Write a release of them."""
    return trajectories.anonymize(records, K, bbox=PHONES_BBOX).write(tmp_path / "out")


def rewrite(path, change):
    """Change the columns of a Parquet file, keeping its schema and how it is written."""
    table = pq.read_table(path)
    columns = change({name: table[name].to_pylist() for name in table.column_names})
    write_table(pa.table(columns, schema=table.schema), path)


def _members_of(folder):
    return folder.with_name(folder.name + ".members.parquet")


def test_what_is_written(folder, records):
    """Two files in the folder, two private ones beside it; nothing tells who is in a group."""
    assert sorted(item.name for item in folder.iterdir()) == ["manifest.json", "trajectories.parquet"]
    for ending in (".members.parquet", ".audit.json"):
        private = folder.with_name(folder.name + ending)
        assert stat.S_IMODE(private.stat().st_mode) == 0o600
    table = pq.read_table(folder / "trajectories.parquet")
    assert table.column_names == ["group", "size", "support", "t0", "t1", "lon0", "lat0", "lon1", "lat1"]
    assert min(table["size"].to_pylist()) >= K
    assert "u0000" not in (folder / "manifest.json").read_text()
    result = trajectories.verify(folder, records)
    assert result.users == 40
    assert 0 <= result.unsupported < 1
    audit = json.loads(folder.with_name("out.audit.json").read_text())
    assert audit["unsupported"] == pytest.approx(result.unsupported)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    small_sets(),
    st.integers(2, 3),
    st.sampled_from(trajectories.VARIANTS),
    st.sampled_from([None, ("3km", "2h")]),
    st.booleans(),
)
def test_every_release_verifies(tmp_path, users, k, variant, most, reshape):
    """Whatever the points, a release holds what it promises, or there is none."""
    rows = [(f"u{rank}", 4.6 + x / 3000, 50.4 + y / 4000, t * 60) for rank, own in enumerate(users) for t, x, y in own]
    name, lon, lat, time = zip(*rows, strict=True)
    times = pa.array([moment * 10**6 for moment in time]).cast(pa.timestamp("us", tz="UTC"))
    table = pa.table({"uid": name, "lng": lon, "lat": lat, "datetime": times})
    extent, duration = most or (None, None)
    try:
        release = trajectories.anonymize(
            table, k, bbox=PHONES_BBOX, variant=variant, max_extent=extent, max_duration=duration, reshape=reshape
        )
    except PromiseError:
        return

    out = release.write(tmp_path / "out", overwrite=True)

    result = trajectories.verify(out, table)
    assert result.users >= k
    sizes = dict(zip(release.trajectories["group"].to_pylist(), release.trajectories["size"].to_pylist(), strict=True))
    assert min(sizes.values()) >= k


def _rows(*samples):
    """Return a table of samples (user, lon, lat, minute of a day)."""
    user, lon, lat, minute = zip(*samples, strict=True)
    times = pa.array([round(60 * 10**6 * moment) for moment in minute]).cast(pa.timestamp("us", tz="UTC"))
    return pa.table({"uid": user, "lng": lon, "lat": lat, "datetime": times})


def _people(release, table):
    """Return by group the users with a row inside one of its samples, found row by row."""
    boxes = release.trajectories.to_pylist()
    group_of = {row["user_id"]: row["group"] for row in release.members.to_pylist()}
    people = {box["group"]: set() for box in boxes}
    for row in table.to_pylist():
        for box in boxes:
            here = box["lon0"] <= row["lng"] < box["lon1"] and box["lat0"] <= row["lat"] < box["lat1"]
            if box["group"] == group_of[row["uid"]] and box["t0"] <= row["datetime"] < box["t1"] and here:
                people[box["group"]].add(row["uid"])
    return people


def test_boxes_at_180_degrees(tmp_path):
    """A box that ends where the world does is cut there, and verifies."""
    table = _rows(*((user, 179.99999, 0.5, minute) for user in "abc" for minute in (3.5, 90.5)))

    folder = trajectories.anonymize(table, 3, bbox=(179.0, -1.0, 180.0, 1.0)).write(tmp_path / "out")

    assert max(pq.read_table(folder / "trajectories.parquet")["lon1"].to_pylist()) == 180.0
    assert trajectories.verify(folder, table).users == 3


# Two users who meet nowhere within 1 km: a's samples would be published as those of two, b's were all suppressed.
_APART = [
    ("a", 0.0005, 0.0005, 0.5),
    ("a", 0.0185, 0.0005, 96.5),
    ("b", 0.0005, 0.0005, 95.5),
    ("b", 0.0185, 0.0005, 90.5),
]


def test_a_user_without_samples_is_no_crowd():
    """Nothing is published of two users when thresholds leave the samples of one of them only."""
    with pytest.raises(PromiseError, match="no group"):
        trajectories.anonymize(_rows(*_APART), 2, bbox=(-1, -1, 1, 1), max_extent="1km", max_duration="6h")


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    st.one_of(small_sets(), scattered_sets()),
    st.integers(2, 3),
    st.sampled_from(trajectories.VARIANTS),
    st.sampled_from([("1km", "6h"), ("3km", None), (None, "2h")]),
    st.booleans(),
)
def test_k_users_are_really_there(users, k, variant, most, reshape):
    """Counted row by row, every group has as many users with a row in its samples as it says, and at least k."""
    table = _rows(
        *((f"u{rank}", 4.6 + x / 3000, 50.4 + y / 4000, t) for rank, own in enumerate(users) for t, x, y in own)
    )
    try:
        release = trajectories.anonymize(
            table, k, bbox=PHONES_BBOX, variant=variant, max_extent=most[0], max_duration=most[1], reshape=reshape
        )
    except PromiseError:
        return

    sizes = dict(zip(*(release.trajectories[name].to_pylist() for name in ("group", "size")), strict=True))

    assert sizes == {group: len(people) for group, people in _people(release, table).items()}
    assert min(sizes.values()) >= k


def _count_who_is_not_there(folder, size):
    """Put users whose samples were all suppressed into the first group, until it seems to have `size` users."""

    def join(columns):
        hidden = [row for row, group in enumerate(columns["group"]) if group is None]
        for row in hidden[: size - columns["group"].count(0)]:
            columns["group"][row] = 0
        return columns

    rewrite(_members_of(folder), join)
    rewrite(
        folder / "trajectories.parquet",
        lambda columns: (
            columns
            | {"size": [old if group else size for group, old in zip(columns["group"], columns["size"], strict=True)]}
        ),
    )


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_members_who_are_not_there_are_noticed(tmp_path, k):
    """A group that counts users without a row in its samples is refused, whether it has k others or not."""
    together = [(name, 0.0005, 0.0005, 600.5) for name in ("c", "d")]
    table = _rows(*_APART, *together)
    release = trajectories.anonymize(table, 2, bbox=(-1, -1, 1, 1), max_extent="1km", max_duration="6h")
    folder = release.write(tmp_path / "out")
    trajectories.verify(folder, table)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["promise"]["k"] = k
    manifest["promise_text"] = manifest["promise_text"].replace("at least 2", f"at least {k}")
    (folder / "manifest.json").write_text(json.dumps(manifest))

    _count_who_is_not_there(folder, 3)

    with pytest.raises(
        VerificationError, match="fewer than 3 users have" if k == 3 else "counts users who have no row"
    ):
        trajectories.verify(folder, table)


def _move_a_user(columns):
    columns["group"][0] = 1 - columns["group"][0] if columns["group"][0] in {0, 1} else 0
    return columns


def _swap_two_users(columns):
    first = columns["group"][0]
    other = next(row for row, group in enumerate(columns["group"]) if group != first)
    columns["group"][0], columns["group"][other] = columns["group"][other], first
    return columns


def _hide_a_user(columns):
    return {name: values[1:] for name, values in columns.items()}


def _forget_rows(columns):
    columns["kept"][0] -= 1
    columns["suppressed"][0] += 1
    return columns


@pytest.mark.slow
@pytest.mark.parametrize("change", [_move_a_user, _swap_two_users, _hide_a_user, _forget_rows])
def test_members_that_do_not_fit(folder, records, change):
    """A user moved between groups, swapped, left out, or with rows that went missing is noticed."""
    rewrite(_members_of(folder), change)

    with pytest.raises(VerificationError):
        trajectories.verify(folder, records)


def _shrink_a_box(columns):
    columns["lon1"][0] = columns["lon0"][0] + (columns["lon1"][0] - columns["lon0"][0]) / 1e6
    return columns


def _shorten_a_sample(columns):
    row = max(range(len(columns["t0"])), key=lambda row: columns["t1"][row] - columns["t0"][row])
    columns["t1"][row] = columns["t0"][row] + (columns["t1"][row] - columns["t0"][row]) / 1000
    return columns


def _drop_a_sample(columns):
    return {name: values[1:] for name, values in columns.items()}


def _smaller_size(columns):
    columns["size"] = [size if group else K - 1 for group, size in zip(columns["group"], columns["size"], strict=True)]
    return columns


def _split_a_group(columns):
    count = columns["group"].count(0)
    columns["group"] = [group + 1 if row >= count // 2 else 0 for row, group in enumerate(columns["group"])]
    return columns


def _add_a_sample(columns):
    last = {name: values[-1] for name, values in columns.items()}
    span = last["t1"] - last["t0"]
    for name, values in columns.items():
        values.append(last["t1"] + (0 if name == "t0" else 1) * span if name in {"t0", "t1"} else last[name])
    return columns


def _overlap(columns):
    columns["t1"][0] = columns["t1"][1]
    return columns


def _off_grid(columns):
    columns["lat1"][0] += 1e-4
    return columns


def _off_the_globe(columns):
    columns["lon0"][0] = -np.inf
    return columns


def _nowhere(columns):
    columns["lat0"][0] = np.nan
    return columns


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_shrink_a_box, "not on the grid"),
        (_shorten_a_sample, "not on the grid"),
        (_drop_a_sample, "lie outside"),
        (_smaller_size, "fewer than 3 users"),
        (_split_a_group, "a group"),
        (_add_a_sample, "nobody of its group"),
        (_overlap, "overlap in time"),
        (_off_grid, "not on the grid"),
        (_off_the_globe, "on the globe"),
        (_nowhere, "on the globe"),
    ],
)
def test_mutants_are_refused(folder, records, change, reason):
    """Boxes that are shrunk, moved or invented, and groups that are split or too small, are noticed."""
    rewrite(folder / "trajectories.parquet", change)

    with pytest.raises(VerificationError, match=reason):
        trajectories.verify(folder, records)


def _bytes_of_no_column(path):
    data = path.read_bytes()
    columns = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[:columns] + b"u000001" + data[columns:])


def _metadata_of_a_column(path):
    table = pq.read_table(path)
    named = [field.with_metadata({"who": "u000001"}) for field in table.schema]
    write_table(table.cast(pa.schema(named)), path, store_schema=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        _bytes_of_no_column,
        _metadata_of_a_column,
        lambda path: write_table(pq.read_table(path), path, write_statistics=False),
    ],
)
def test_nothing_hides_in_the_file(folder, records, change):
    """What a reader of the table does not see is noticed, too, whatever the hashes of the audit file say."""
    folder.with_name("out.audit.json").unlink()
    change(folder / "trajectories.parquet")

    with pytest.raises(VerificationError, match=r"trajectories\.parquet"):
        trajectories.verify(folder, records)


def test_a_shrunk_box_on_the_grid(folder, records):
    """A box that loses its outermost column of cells, with a sample in it, is noticed by counting rows."""
    grid = trajectories.make_grid(PHONES_BBOX)

    def shrink(columns):
        middle = [(a + b) / 2 for a, b in zip(columns["lon0"], columns["lon1"], strict=True)]
        wide = max(range(len(middle)), key=lambda row: columns["lon1"][row] - columns["lon0"][row])
        column, _ = grid.cells(np.array([middle[wide]]), np.array([columns["lat0"][wide]]))
        columns["lon1"][wide] = float(grid.longitudes(column)[0])
        return columns

    rewrite(folder / "trajectories.parquet", shrink)

    with pytest.raises(VerificationError, match=r"rows lie outside|nobody"):
        trajectories.verify(folder, records)


def test_other_input_is_noticed(folder):
    """A release does not verify on the records of others."""
    with pytest.raises(VerificationError):
        trajectories.verify(folder, phones(40, samples=25, seed=1))
    with pytest.raises(VerificationError, match="not the users"):
        trajectories.verify(folder, phones(41, samples=25))


@pytest.mark.parametrize("key", ["k", "text", "extra"])
def test_changed_manifests(folder, records, key):
    """A manifest that promises more, says something else or tells more is refused."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    if key == "k":
        manifest["promise"]["k"] = 10
    elif key == "text":
        manifest["promise_text"] = "Trust us."
    else:
        manifest["input"] = "secret.csv"
    path.write_text(json.dumps(manifest))

    with pytest.raises(VerificationError):
        trajectories.verify(folder, records)


def test_extra_files_and_missing_members(folder, records):
    """Nothing else may lie in the folder; without the members file nothing can be verified."""
    (folder / "notes.txt").write_text("hello")
    with pytest.raises(VerificationError, match="other files"):
        trajectories.verify(folder, records)
    (folder / "notes.txt").unlink()
    _members_of(folder).unlink()
    with pytest.raises(InputError, match="no file"):
        trajectories.verify(folder, records)


def test_thresholds_are_kept_and_checked(records, tmp_path):
    """With thresholds no sample is larger, and a manifest with lower ones is refused."""
    release = trajectories.anonymize(records, 2, bbox=PHONES_BBOX, max_extent="3km", max_duration="4h")
    out = release.write(tmp_path / "out")
    result = trajectories.verify(out, records)
    table = release.trajectories.to_pydict()

    assert result.users <= 40
    assert max(end - start for start, end in zip(table["t0"], table["t1"], strict=True)).total_seconds() <= 4 * 3600
    for name, value in (("max_extent", "200m"), ("max_duration", "2min")):
        manifest = json.loads(json.dumps(release.manifest))
        manifest["promise"][name] = manifest["options"][name] = value
        (out / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(VerificationError, match="than promised"):
            trajectories.verify(out, records)


@pytest.mark.parametrize(
    ("option", "value"), [("max_extent", "3"), ("max_duration", "3 days"), ("memory", "lots"), ("max_extent", "10m")]
)
def test_refused_options(records, option, value):
    """Amounts that cannot be read, or are finer than the grid, are refused."""
    with pytest.raises(InputError):
        trajectories.anonymize(records, 2, bbox=PHONES_BBOX, **{option: value})


def test_nothing_is_made_of_wrong_groups(records):
    """Groups that are too small, lose samples or claim presence are refused before anything is written."""
    from flowveil._trajectories.glove import Group, Grouping, glove
    from flowveil._trajectories.release import make_release

    data = trajectories.read_trajectories(records, PHONES_BBOX)
    first, *others = glove(data, K).groups
    late = first.samples[:, -1:] + np.array([[10], [10], [0], [0], [0], [0]])
    wrong = {
        "fewer than": Group(first.members[:2], first.samples),
        "would be lost": Group(first.members, first.samples[:, 1:]),
        "nobody was seen": Group(first.members, np.concatenate([first.samples, late + 10**6], axis=1)),
    }

    for message, group in wrong.items():
        with pytest.raises(PromiseError, match=message):
            make_release(data, Grouping([group, *others]), "glove", {}, K)


def test_verified_paths_in_a_notebook():
    """What was checked is a list, with how many groups and users it is about."""
    shown = trajectories.TrajectoryVerification(("every group has at least 2 users",), 3, 1_007, 0.25)._repr_html_()

    assert "3 groups of 1,007 users" in shown
    assert "<li>every group has at least 2 users</li>" in shown
