"""Synthetic paths at epsilon 1 beside plain private models and glove, on phones that nothing was tuned on.

python -m benchmarks synthesis prints the tables of docs/trajectories-measured.md. Half of the users of a city are
learned from; the others, whom no method saw, say what another sample of the same city would score, and whether
synthetic paths are nearer to those who were learned from than chance would have it.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow.parquet as pq

from benchmarks.plain_paths import chosen_order, first_order
from benchmarks.trajectories import CHECKINS, CHECKINS_BBOX
from flowveil import trajectories
from flowveil._synthesis.clock import parse_days
from flowveil._synthesis.divided import root_square
from flowveil._synthesis.drawing import draw_paths
from flowveil._synthesis.evaluation import traces_of
from flowveil._synthesis.measure import MEANINGS, compare, make_traces
from flowveil._synthesis.model import learn
from flowveil._synthesis.neighbors import distances
from flowveil._synthesis.paths import paths_within
from flowveil._trajectories.evaluation import published_boxes
from flowveil.synthetic import PHONES_BBOX, phones

USERS = 2_000
SEEDS = (1, 2)  # shares of the budget and the grid of the plain model were chosen on seed 0
SIDE = 32  # of the fixed grid: the best of 8, 16 and 32 on seed 0
DAYS = "2024-03-04,2024-03-17"


def halves(table, bbox, days, **options):
    """Return paths of half of the users, and of the others, with the grid."""
    users = sorted(set(table["user_id"].to_pylist()))
    random = np.random.default_rng(0)
    mine = set(random.permutation(users)[: len(users) // 2].tolist())
    chosen = np.array([user in mine for user in table["user_id"].to_pylist()])
    data = [trajectories.read_trajectories(table.filter(part), bbox, **options) for part in (chosen, ~chosen)]
    return data[0], [paths_within(each, days)[0] for each in data]


def glove_traces(data):
    """Return glove's trajectories at k = 5: the middles of boxes and spans, each standing for its users."""
    release = trajectories.anonymize(data, 5)
    grid = data.grid
    groups = published_boxes(release, grid)
    sizes = release.trajectories["size"].to_numpy()[np.flatnonzero(np.diff(release.trajectories["group"], prepend=-1))]
    user = np.repeat(np.arange(len(groups)), [box.shape[1] for box in groups])
    t0, t1, x0, x1, y0, y1 = np.concatenate(groups, axis=1)
    minute = (t0 + t1 - 1) // 2 * grid.minutes
    return make_traces(user, minute, (x0 + x1) / 2 * grid.meters, (y0 + y1) / 2 * grid.meters, weight=sizes)


def nearest(drawn, mine, others):
    """Say whether synthetic paths are nearer to users learned from than to others, and nearer than others are."""
    to_mine, to_others = distances(drawn, mine), distances(drawn, others)
    known, unknown = to_mine.min(axis=1), to_others.min(axis=1)
    share = float((known < unknown).mean() + (known == unknown).mean() / 2)
    medians = [to_mine.min(axis=0), to_others.min(axis=0), distances(mine, others).min(axis=1)]
    return (
        f"{share:.1%} of synthetic paths are nearest to a user learned from (chance: 50 %); {(known == 0).mean():.2%} "
        f"have the places and hours of one, {(unknown == 0).mean():.2%} those of an unseen user; median distance "
        "from a user learned from to the nearest synthetic path {:.3f}, from an unseen user {:.3f}, from a user "
        "learned from to the nearest unseen user {:.3f}".format(*map(np.median, medians))
    )


def run(name, table, bbox, days, epsilons=(1.0,), glove=True, **options):
    data, (mine, others) = halves(table, bbox, days, **options)
    grid, root = data.grid, root_square(data.grid)
    true, unseen = (traces_of(each, grid, days.timezone) for each in (mine, others))
    rows = {"unseen users": compare(true, unseen)}
    random = np.random.default_rng(0)
    for epsilon in epsilons:
        start = time.process_time()
        model, _ = learn(mine, grid, days, epsilon)
        drawn = traces_of(draw_paths(model, seed=0), grid, days.timezone)
        seconds = time.process_time() - start
        rows[f"ours, {epsilon:g}"] = compare(true, drawn)
        told = nearest(drawn, true, unseen)
        print(
            f"  {name}, epsilon {epsilon:g}: {seconds:.1f} s of processor time, {len(model.places)} places; {told}",
            flush=True,
        )
        rows[f"first order, {epsilon:g}"] = compare(true, first_order(mine, root, SIDE, epsilon, random))
        rows[f"chosen order, {epsilon:g}"] = compare(true, chosen_order(mine, root, epsilon, random))
    if glove:
        rows["glove k = 5"] = compare(true, glove_traces(data))
    return rows


def show(title, runs):
    mean = {
        name: {key: np.mean([each[name][key] for each in runs if name in each]) for key in MEANINGS} for name in runs[0]
    }
    print(f"  {title}\n  {'':16}" + "".join(f"{name:>18}" for name in mean))
    for key in MEANINGS:
        print(f"  {key:16}" + "".join(f"{row[key]:18.3f}" for row in mean.values()), flush=True)


def main():
    print("synthetic paths")
    days = parse_days(DAYS)
    for extent in (6_000.0, 15_000.0):
        name = f"phones in {extent / 1000:g} km"
        runs = []
        for seed in SEEDS:
            table = phones(2 * USERS, seed=seed, extent=extent)
            runs.append(run(f"{name}, seed {seed}", table, PHONES_BBOX, days, glove=seed == SEEDS[0]))
        show(f"{name}, {USERS:,} users, mean of {len(SEEDS)} cities", runs)
    if CHECKINS.is_file():
        table = pq.read_table(CHECKINS, columns=["user_id", "lon", "lat", "time"])
        checkins = parse_days("2009-02-01,2010-10-31", "America/New_York")
        show("Gowalla NYC", [run("Gowalla NYC", table, CHECKINS_BBOX, checkins, glove=False)])
