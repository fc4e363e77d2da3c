"""Plain private models of paths to compare with: first order on a fixed grid, and PrivTrace's choice of the order.

Every user weighs 1 in each table, as in ours. Times are given to them for free: hours of the true samples.
"""

from __future__ import annotations

import numpy as np

from flowveil._synthesis.estimates import lower
from flowveil._synthesis.measure import make_traces
from flowveil._synthesis.parts import size_class, size_edges

CLASSES = 48


def first_order(paths, root, side, epsilon, random):
    """Return synthetic traces of a first-order Markov model on side x side cells; a third of epsilon for the start."""
    cell = grid_cells(paths, root, side)
    boxes = [(x, y, root[2] / side) for y in range(side) for x in range(side)]
    corners = np.array([[root[0] + x * edge, root[1] + y * edge, edge] for x, y, edge in boxes])
    sizes = draw_sizes(paths, 0.1 * epsilon, random)
    start = noisy(paths.user[first_of(paths)], cell[first_of(paths)], side * side, 0.2 * epsilon, random)
    steps = noisy_steps(paths, cell, side * side, 0.7 * epsilon, random)
    walk = walk_first(sizes, chances(start[None])[0], chances(steps), random)
    return place(paths, sizes, walk, corners, random)


def chosen_order(paths, root, epsilon, random, side=16):
    """Return synthetic traces of PrivTrace: an adaptive grid of two levels, second order where counts are large."""
    coarse = grid_cells(paths, root, side)
    density = np.maximum(noisy(paths.user, coarse, side * side, 0.2 * epsilon, random), 0)
    parts = np.maximum(1, np.rint(np.sqrt(density * epsilon / 40))).astype(int)  # of each side of a cell
    corners, first = [], np.zeros(side * side, int)
    for number, many in enumerate(parts.tolist()):
        first[number] = len(corners)
        edge = root[2] / side
        x, y = root[0] + number % side * edge, root[1] + number // side * edge
        corners += [(x + a * edge / many, y + b * edge / many, edge / many) for b in range(many) for a in range(many)]
    corners = np.array(corners)
    many = parts[coarse]
    edge = root[2] / side
    inner = [
        np.minimum(((part - begin) % edge / edge * many).astype(int), many - 1)
        for part, begin in ((paths.x + 0.5, root[0]), (paths.y + 0.5, root[1]))
    ]
    cell = first[coarse] + inner[1] * many + inner[0]
    total = len(corners)
    sizes = draw_sizes(paths, 0.1 * epsilon, random)
    start = noisy(paths.user[first_of(paths)], cell[first_of(paths)], total, 0.1 * epsilon, random)
    steps = noisy_steps(paths, cell, total, 0.3 * epsilon, random)
    kept = np.maximum(steps, 0)
    # Second order for cells with more users than the noise of a row of its table: the rest would be noise.
    strong = np.argsort(-kept.sum(axis=1))[: max(2, int(np.sqrt(kept.sum() * 0.3 * epsilon / 4)))]
    rank = np.full(total, -1)
    rank[strong] = np.arange(len(strong))
    here = np.flatnonzero((np.diff(paths.user) == 0)[:-1] & (np.diff(paths.user) == 0)[1:])
    inside = (rank[cell[here]] >= 0) & (rank[cell[here + 1]] >= 0) & (rank[cell[here + 2]] >= 0)
    here = here[inside]
    wide = len(strong)
    keys = (rank[cell[here]] * wide + rank[cell[here + 1]]) * wide + rank[cell[here + 2]]
    second = noisy(paths.user[here], keys, wide**3, 0.3 * epsilon, random).reshape(wide * wide, wide)
    walk = walk_second(sizes, chances(start[None])[0], chances(steps), (rank, strong, second), random)
    return place(paths, sizes, walk, corners, random)


def grid_cells(paths, root, side):
    column, row = ((part - begin) * side // root[2] for part, begin in ((paths.x, root[0]), (paths.y, root[1])))
    return row * side + column


def first_of(paths):
    return np.flatnonzero(np.diff(paths.user, prepend=-1))


def noisy(user, cell, cells, epsilon, random):
    """Return how users are spread over cells, each weighing 1, with noise."""
    pairs, many = np.unique(np.stack([user, cell]), axis=1, return_counts=True)
    share = many / np.bincount(pairs[0], many)[pairs[0]]
    counts = np.bincount(pairs[1], share, minlength=cells) + random.laplace(scale=1 / epsilon, size=cells)
    return lower(counts, float(len(np.unique(user))))  # norm-sub, as PrivTrace has it; the total is given for free


def noisy_steps(paths, cell, cells, epsilon, random):
    here = np.flatnonzero(np.diff(paths.user) == 0)
    keys = cell[here] * cells + cell[here + 1]
    return noisy(paths.user[here], keys, cells * cells, epsilon, random).reshape(cells, cells)


def chances(counts):
    kept = np.maximum(counts, 0)
    sums = kept.sum(axis=1, keepdims=True)
    return np.where(sums > 0, kept / np.maximum(sums, 1e-12), 1 / kept.shape[1])


def draw_sizes(paths, epsilon, random):
    sizes = np.bincount(paths.user)
    counts = noisy(np.arange(len(sizes)), size_class(sizes), CLASSES, epsilon, random)
    classes = random.choice(CLASSES, size=len(sizes), p=chances(counts[None])[0])
    edges = np.ceil(size_edges() - 1e-9).astype(int)
    return edges[classes] + random.integers(np.maximum(edges[classes + 1] - edges[classes], 1))


def pick(table, rows, random):
    ends = np.cumsum(table, axis=1)
    return np.minimum((ends[rows] < random.random(len(rows))[:, None]).sum(axis=1), table.shape[1] - 1)


def walk_first(sizes, start, steps, random):
    now = random.choice(len(start), size=len(sizes), p=start)
    walk = [now]
    for _ in range(int(sizes.max()) - 1):
        now = pick(steps, now, random)
        walk.append(now)
    return np.stack(walk, axis=1)


def walk_second(sizes, start, steps, memory, random):
    rank, strong, second = memory
    ready = np.maximum(second, 0).sum(axis=1) > 0
    table = chances(second)
    before = random.choice(len(start), size=len(sizes), p=start)
    now = pick(steps, before, random)
    walk = [before, now]
    for _ in range(int(sizes.max()) - 2):
        row = np.where((rank[before] >= 0) & (rank[now] >= 0), rank[before] * len(strong) + rank[now], 0)
        known = (rank[before] >= 0) & (rank[now] >= 0) & ready[row]
        then = pick(steps, now, random)
        then[known] = strong[pick(table, row[known], random)]
        before, now = now, then
        walk.append(now)
    return np.stack(walk, axis=1)


def place(paths, sizes, walk, corners, random):
    """Put walks on the map, evenly inside of cells, at times of true samples."""
    user = np.repeat(np.arange(len(sizes)), sizes)
    turn = np.arange(len(user)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    corner = corners[walk[user, turn]]
    minute = random.choice(paths.minute, size=len(user))
    minute = minute[np.lexsort((minute, user))]
    x, y = (np.floor(corner[:, axis] + random.random(len(user)) * corner[:, 2]) for axis in (0, 1))
    return make_traces(user, minute, (x + 0.5) * 100, (y + 0.5) * 100)
