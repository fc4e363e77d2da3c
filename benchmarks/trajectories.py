"""Trajectories: the stretch kernel and whole glove against plain loops, in one run; growth with the number of users.

FLOWVEIL_LARGE=1 adds 10,000 and 20,000 users (some minutes) and draws docs/pictures/trajectories-growth.svg.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from numba import njit

from benchmarks.data import SHARED
from benchmarks.trajectory_growth import growth_svg
from flowveil._trajectories.glove import _Run, choose_kernel, glove
from flowveil._trajectories.kernels import stretch
from flowveil._trajectories.neighbors import Workers
from flowveil._trajectories.pool import Pool
from flowveil.synthetic import PHONES_BBOX, phones
from flowveil.trajectories import read_trajectories

CHECKINS = SHARED / "gowalla_nyc_checkins.parquet"
CHECKINS_BBOX = (-74.3, 40.4, -73.6, 41.0)
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "trajectories-growth.svg"
GPU = (20_000, 50_000)  # pairs a second in the paper, section 6.3
PAIRS = 20_000


@njit(cache=True)
def plain_stretch(samples, a0, a1, b0, b1, na, nb, space, time_limit):
    """Eq. 1 to 10 as they are written, in 64-bit integers."""
    n = na + nb
    total = 0
    for i in range(a0, a1):
        best = 2 * space * time_limit * n
        for j in range(b0, b1):
            left, right = min(samples[2, i], samples[2, j]), max(samples[3, i], samples[3, j])
            low, high = min(samples[4, i], samples[4, j]), max(samples[5, i], samples[5, j])
            first, last = min(samples[0, i], samples[0, j]), max(samples[1, i], samples[1, j])
            in_space = (samples[2, i] - left + samples[4, i] - low + right - samples[3, i] + high - samples[5, i]) * na
            in_space += (samples[2, j] - left + samples[4, j] - low + right - samples[3, j] + high - samples[5, j]) * nb
            in_time = (samples[0, i] - first + last - samples[1, i]) * na
            in_time += (samples[0, j] - first + last - samples[1, j]) * nb
            cost = time_limit * min(in_space, space * n) + space * min(in_time, time_limit * n)
            best = min(best, cost)
        total += best
    return total / (2 * space * time_limit * n * (a1 - a0))


@njit(cache=True)
def plain_pairs(samples, place, one, other, space, time_limit):
    values = np.empty(len(one))
    for number in range(len(one)):
        a, b = min(one[number], other[number]), max(one[number], other[number])
        if place[1, b] - place[0, b] > place[1, a] - place[0, a]:
            a, b = b, a
        values[number] = plain_stretch(
            samples, place[0, a], place[1, a], place[0, b], place[1, b], place[2, a], place[2, b], space, time_limit
        )
    return values


@njit(cache=True)
def kernel_pairs(groups, one, other, sweep):
    values = np.empty(len(one))
    for number in range(len(one)):
        values[number] = stretch(groups, one[number], other[number], np.inf, sweep)
    return values


def plain_glove(trajectories, k):
    """Strict glove with a dense matrix: all stretches first, the least of the whole matrix at every step."""
    grid, workers = trajectories.grid, Workers()
    run = _Run(trajectories, k, "strict", np.array([2**62, 2**62]), workers)  # for its merge, which is no bottleneck
    workers.close()
    pool, count = run.pool, len(trajectories)
    caps = grid.space_limit, grid.time_limit
    low, high = np.triu_indices(count, 1)
    matrix = np.full((count, count), np.inf)
    matrix[low, high] = plain_pairs(pool.samples.astype(np.int64), pool.place, low, high, *caps)
    merges = []
    while np.isfinite(least := matrix.min()):
        a, b = divmod(int(matrix.argmin()), count)
        merges.append((float(least), a, b))
        run._merge(a, b)  # noqa: SLF001
        matrix[[a, b]], matrix[:, [a, b]] = np.inf, np.inf
        if len(run.crowds[a].members) < k:
            others = np.flatnonzero(pool.alive & (np.arange(count) != a))
            others = others[[len(run.crowds[other].members) < k for other in others.tolist()]]
            values = plain_pairs(pool.samples.astype(np.int64), pool.place, np.full(len(others), a), others, *caps)
            matrix[np.minimum(a, others), np.maximum(a, others)] = values
        else:
            pool.rest(a)
    return merges


def timed(task):
    start = time.perf_counter()
    found = task()
    return time.perf_counter() - start, found


def compare_kernels(name, trajectories):
    pool, random = Pool(trajectories, 2), np.random.default_rng(0)
    one = random.integers(len(trajectories), size=PAIRS)
    other = (one + random.integers(1, len(trajectories), size=PAIRS)) % len(trajectories)
    samples = pool.samples.astype(np.int64)
    caps = trajectories.grid.space_limit, trajectories.grid.time_limit
    groups = pool.groups()
    sweep = choose_kernel(pool)
    plain_pairs(samples, pool.place, one[:2], other[:2], *caps)
    kernel_pairs(groups, one[:2], other[:2], sweep)
    # The least of three tries: other work on the machine disturbs it the least.
    plain = min(timed(lambda: plain_pairs(samples, pool.place, one, other, *caps))[0] for _ in range(3))
    ours = min(timed(lambda: kernel_pairs(groups, one, other, sweep))[0] for _ in range(3))
    assert (plain_pairs(samples, pool.place, one, other, *caps) == kernel_pairs(groups, one, other, sweep)).all()
    print(
        f"  stretch, {name}: plain loop {1e6 * plain / PAIRS:.1f} us a pair, {'sweep' if sweep else 'scan'} "
        f"{1e6 * ours / PAIRS:.1f} us: {plain / ours:.1f} times; one core {PAIRS / ours:,.0f} pairs a second"
    )


def compare_glove(users, k):
    trajectories = read_trajectories(phones(users), PHONES_BBOX)
    glove(trajectories, k)
    ours, found = timed(lambda: glove(trajectories, k))
    matrix, _ = timed(lambda: glove(trajectories, k, memory=10**9))
    plain, merges = timed(lambda: plain_glove(trajectories, k))
    assert found.merges == merges
    print(
        f"  glove, {users:,} phone users of 120 samples, k = {k}: plain with a dense matrix {plain:.1f} s, "
        f"lists {ours:.1f} s: {plain / ours:.1f} times (triangular matrix {matrix:.1f} s: {plain / matrix:.1f} times); "
        "same merges"
    )


def grow(sizes):
    print(f"  growth, phone users of 100 samples, k = 2 (the paper's GPU: {GPU[0]:,} to {GPU[1]:,} pairs a second)")
    found = []
    for users in sizes:
        trajectories = read_trajectories(phones(users, samples=100), PHONES_BBOX)
        start = time.process_time()
        seconds, _ = timed(lambda data=trajectories: glove(data, 2))
        cpu = time.process_time() - start  # of all cores; other work on the machine does not disturb it
        pairs = users * (users - 1) // 2
        found.append((users, cpu))
        print(
            f"    {users:6,} users: {seconds:7.1f} s, {pairs / seconds:9,.0f} pairs a second; "
            f"{cpu:7.1f} s of processor time, {pairs / cpu:9,.0f} pairs a second and core"
        )
    return found


def main():
    print("trajectories")
    compare_kernels("phones (120 samples, 14 days, 6 km)", read_trajectories(phones(2000), PHONES_BBOX))
    if CHECKINS.is_file():
        compare_kernels("Gowalla NYC", read_trajectories(CHECKINS, CHECKINS_BBOX, min_samples=10))
    for k in (2, 5):
        compare_glove(1000, k)
    large = bool(os.environ.get("FLOWVEIL_LARGE"))
    points = grow((1000, 2000, 5000, 10_000, 20_000) if large else (1000, 2000))
    if large:
        PICTURE.write_text(growth_svg("glove, k = 2, phone users of 100 samples", points, GPU), encoding="utf-8")
