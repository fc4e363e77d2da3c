"""GLOVE as the paper and docs/trajectories.md write it down, with Python's whole numbers. Plain, and slow on purpose.

A sample is (t0, t1, x0, x1, y0, y1); intervals are half-open.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise


@dataclass
class Plain:
    """A group: id (smallest rank), members, samples in order, kept originals as (t, x, y, owner)."""

    id: int
    members: list
    samples: list
    kept: list


def order(sample):
    t0, t1, x0, x1, y0, y1 = sample
    return t0, t1, x0, y0, x1, y1


def cost(one, other, n_one, n_other, space_limit, time_limit, of_space=1, of_time=1):
    """Return Eq. 1 times space_limit * time_limit * n * (both weights), from Eq. 4 to 9 as they are written."""
    n = n_one + n_other

    def stretch_of(a, b, low, high):
        return (a[low] - min(a[low], b[low])) + (max(a[high], b[high]) - a[high])

    in_space = sum(
        stretch_of(one, other, axis, axis + 1) * n_one + stretch_of(other, one, axis, axis + 1) * n_other
        for axis in (2, 4)
    )
    in_time = stretch_of(one, other, 0, 1) * n_one + stretch_of(other, one, 0, 1) * n_other
    space, time = min(in_space, space_limit * n), min(in_time, time_limit * n)
    return of_space * time_limit * space + of_time * space_limit * time


def longer_first(a, b):
    return (a, b) if (-len(a.samples), a.id) <= (-len(b.samples), b.id) else (b, a)


def stretch(a, b, space_limit, time_limit, of_space=1, of_time=1):
    """Return Eq. 10; one division of two whole numbers."""
    limits = space_limit, time_limit, of_space, of_time
    a, b = longer_first(a, b)
    sizes = len(a.members), len(b.members)
    total = sum(min(cost(i, j, *sizes, *limits) for j in b.samples) for i in a.samples)
    return total / ((of_space + of_time) * space_limit * time_limit * sum(sizes) * len(a.samples))


def union(*samples):
    return tuple((min if row % 2 == 0 else max)(sample[row] for sample in samples) for row in range(6))


def inside(original, sample):
    t, x, y, _ = original
    return sample[0] <= t < sample[1] and sample[2] <= x < sample[3] and sample[4] <= y < sample[5]


def over(sample, most):
    t0, t1, x0, x1, y0, y1 = sample
    return max(x1 - x0, y1 - y0) > most[0] or t1 - t0 > most[1]


def merge(a, b, limits, most):
    """Return the group that a and b become: users with a kept original, maybe nobody."""
    a, b = longer_first(a, b)
    na, nb = len(a.members), len(b.members)

    def nearest(sample, n_sample, others, n_others):
        return min(others, key=lambda other: (cost(sample, other, n_sample, n_others, *limits), order(other)))

    matched = {}
    lost = []
    for i in a.samples:
        j = nearest(i, na, b.samples, nb)
        if over(union(i, j), most):
            lost.append(i)
        else:
            matched.setdefault(j, []).append(i)
    stage_a = {j: union(j, *group) for j, group in matched.items()}
    results = [[box, box] for box in stage_a.values()]  # as stage B sees it, and as it grows
    for j in b.samples:
        if j in stage_a:
            continue
        if not results:
            lost.append(j)
            continue
        best = min(results, key=lambda pair: (cost(j, pair[0], nb, na + nb, *limits), order(pair[0])))
        if over(union(j, best[0]), most):
            lost.append(j)
        else:
            best[1] = union(best[1], j)
    kept = [
        original
        for group in (a, b)
        for original in group.kept
        if not any(inside(original, sample) for sample in lost if sample in group.samples)
    ]
    samples, kept = reshape([grown for _, grown in results], kept, most)
    return Plain(min(a.id, b.id), sorted({owner for *_, owner in kept}), samples, kept)


def merge_overlapping(a, b, limits, most):
    """Return the group that a and b become without reshape; `kept` has a list of originals for each sample."""
    a, b = longer_first(a, b)
    na, nb = len(a.members), len(b.members)
    to = {}
    for i, sample in enumerate(a.samples):
        j = min(range(len(b.samples)), key=lambda j: (cost(sample, b.samples[j], na, nb, *limits), j))
        if not over(union(sample, b.samples[j]), most):
            to[i] = j
    merged = []
    for j in sorted(set(to.values())):
        own = [i for i in to if to[i] == j]
        box = union(b.samples[j], *(a.samples[i] for i in own))
        merged.append((box, b.kept[j] + [original for i in own for original in a.kept[i]]))
    before = sorted(merged, key=lambda pair: order(pair[0]))
    after = list(before)
    for j in set(range(len(b.samples))) - set(to.values()):
        costs = [(cost(b.samples[j], box, nb, na + nb, *limits), spot) for spot, (box, _) in enumerate(before)]
        spot = min(costs)[1] if costs else None
        if spot is not None and not over(union(b.samples[j], before[spot][0]), most):
            after[spot] = (union(after[spot][0], b.samples[j]), after[spot][1] + b.kept[j])
    left = sorted((pair for pair in after if not over(pair[0], most)), key=lambda pair: order(pair[0]))
    members = sorted({owner for _, kept in left for *_, owner in kept})
    return Plain(min(a.id, b.id), members, [box for box, _ in left], [kept for _, kept in left])


def reshape(boxes, kept, most):
    """Cut at every start and end; drop pieces that hold no kept original or are over a threshold."""
    cuts = sorted({box[0] for box in boxes} | {box[1] for box in boxes})
    samples, still = [], []
    for start, end in pairwise(cuts):
        covering = [box for box in boxes if box[0] <= start and end <= box[1]]
        if not covering:
            continue
        piece = (start, end, *union(*covering)[2:])
        held = [original for original in kept if inside(original, piece)]
        if held and not over(piece, most):
            samples.append(piece)
            still += held
    return samples, still


def glove(users, k, variant, limits, most=(2**62, 2**62), *, reshaped=True):
    """Return groups, suppressed users and merges; `users` is a list of lists of (t, x, y), by rank.

    limits: both caps, and the weights of space and time if they differ.
    """
    groups, join = {}, merge if reshaped else merge_overlapping
    for rank, points in enumerate(users):
        distinct = sorted(set(points))
        samples = [(t, t + 1, x, x + 1, y, y + 1) for t, x, y in distinct]
        originals = [(t, x, y, rank) for t, x, y in distinct]
        groups[rank] = Plain(rank, [rank], samples, originals if reshaped else [[own] for own in originals])
    finished, suppressed, merges = [], [], []

    def lost(one, other, new):
        return [member for member in one.members + other.members if member not in new.members]

    while True:
        pairs = [
            (stretch(groups[i], groups[j], *limits), i, j)
            for i in groups
            for j in groups
            if i < j and (len(groups[i].members) < k or len(groups[j].members) < k)
        ]
        if not pairs:
            break
        merges.append(min(pairs))
        low, high = (groups.pop(number) for number in merges[-1][1:])
        new = join(low, high, limits, most)
        suppressed += lost(low, high, new)
        if len(new.members) >= k and variant != "loose":
            finished.append(new)
        elif new.members:
            groups[new.id] = new
    left = [group for group in groups.values() if len(group.members) < k]
    finished += [group for group in groups.values() if len(group.members) >= k]
    if variant == "absorb" and left:
        nearest = sorted((stretch(left[0], group, *limits), *sorted((left[0].id, group.id))) for group in finished)
        for value, low, high in nearest:
            host = next(group for group in finished if group.id in (low, high))
            new = join(left[0], host, limits, most)
            if len(new.members) >= len(host.members):
                merges.append((value, low, high))
                suppressed += lost(left[0], host, new)
                finished[finished.index(host)] = new
                left = []
                break
    suppressed += [member for group in left for member in group.members]
    return sorted(finished, key=lambda group: group.id), sorted(suppressed), merges
