"""Noisy counts between areas: run a method that counts pairs of tiles, and lay out what it found as flows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError
from flowveil._folder import AREAS, FLOWS, MARGINALS
from flowveil._matrices.consistency import reconcile
from flowveil._matrices.ladder import Ladders
from flowveil._matrices.laplace import laplace
from flowveil._matrices.marginals import count_zones, share_of_zones
from flowveil._matrices.methods import LAPLACE
from flowveil._matrices.mosaic import noisy_mosaic
from flowveil._matrices.points import add
from flowveil._matrices.settling import non_negative
from flowveil._matrices.streams import noisy_stream
from flowveil._noise import PARTS, Ledger, WindowLedger, variance
from flowveil._options import WINDOW
from flowveil._places import area_ids, areas_of_nodes

if TYPE_CHECKING:
    from flowveil._arrays import Column, FloatArray, IntArray
    from flowveil._folder import Json
    from flowveil._matrices.laplace import Listed
    from flowveil._matrices.layers import Layers
    from flowveil._matrices.mosaic import Leaves
    from flowveil._matrices.points import Matrix
    from flowveil._matrices.streams import Draw
    from flowveil._matrices.tiles import TileGrid

PERSONS = "persons"  # column, and name of the charge
_PERSONS_PARTS = PARTS // 4
_NEEDS_MOSAIC = "give --method noisy-mosaic, or leave it out"


@dataclass(frozen=True, eq=False)
class Flowing:
    """Noisy counts between areas, as tables, and what was spent on them."""

    tables: dict[str, pa.Table]
    boxes: Leaves | Listed
    ledgers: list[Ledger | WindowLedger]  # about single trips; of several each is about other trips
    draws: list[dict[str, Json]] | None = None  # of a stream: what each draw spent, for a unit


@dataclass(frozen=True, eq=False)
class _Counted:
    """Rows of flows: places (nodes of the tree of places, and of time), matrix, noisy count and what is known of it."""

    nodes: IntArray
    matrix: IntArray
    counts: IntArray
    scales: FloatArray
    consistent: FloatArray | None = None
    persons: IntArray | None = None
    persons_scale: float = 0.0
    drawn: IntArray | None = None  # the matrix whose trips were counted


def count_flows(
    matrix: Matrix,
    name: str,
    unit: Ledger,
    run: dict[str, Any],  # as the method takes them
    *,
    consistent: bool,
) -> Flowing:
    """Run a method on a matrix of tiles, pay for it from the ledger of a unit, and return tables. run: its options."""
    grid: TileGrid = matrix.grid  # type: ignore[assignment]  # the caller knows that it is no CellGrid
    layers, most = matrix.layers, matrix.max_trips_per_person
    if name == LAPLACE:
        _check_laplace(matrix)
        ledger = unit.single_trips(most)
        listed = laplace(matrix.points, ledger, **run)
        nodes = grid.ladder.leaf[listed.cells]
        counted = _Counted(nodes, listed.matrix, listed.counts, ledger.scales(listed.charged))
        return Flowing(_tables(grid, layers, counted), listed, [ledger])
    ladders = Ladders((grid.ladder, grid.ladder, *(() if layers.axis is None else (layers.axis.ladder,))))
    share = share_of_zones(matrix, grid, run.get("marginal_share"))
    run = {option: value for option, value in run.items() if option != "marginal_share"}
    if not layers.single and "max_cells" in run:  # of all matrices together
        run = run | {"max_cells": max(run["max_cells"] // layers.matrices, 1)}
    if matrix.protection.name == WINDOW and not share:
        return _stream(matrix, grid, unit, ladders, run, consistent=consistent)
    whole = None if matrix.visits is None else unit.part(PERSONS, _PERSONS_PARTS)
    more = {MARGINALS: count_zones(matrix, grid, unit, share)} if share else {}
    ledger = unit.single_trips(most, layers.matrices)
    leaves = noisy_mosaic(matrix.points, ledger, ladders, doubling=not layers.single, **run)
    counted = _rows_of(leaves, ledger, grid, layers, consistent=consistent)
    ledgers: list[Ledger | WindowLedger] = [ledger]
    if whole is not None:
        of_persons = whole.single_trips(most, layers.matrices)
        noisy = _count_persons(matrix, leaves, of_persons)
        scale = float(of_persons.scales(np.array([PARTS]))[0])
        counted = replace(counted, persons=noisy, persons_scale=scale)
    return Flowing(_tables(grid, layers, counted) | more, leaves, ledgers)


def _check_laplace(matrix: Matrix) -> None:
    """Raise where a method that lists counts above zero would leave something open."""
    if matrix.layers.levels is not None:
        raise InputError("laplace counts single steps of time", "give --time in place of --time-hierarchy")
    if matrix.visits is not None:
        raise InputError("laplace lists trips above zero, beside which persons would tell of others", _NEEDS_MOSAIC)
    if matrix.protection.name == WINDOW:
        raise InputError("laplace has no areas to compare steps by", _NEEDS_MOSAIC)


def _rows_of(leaves: Leaves, ledger: Ledger, grid: TileGrid, layers: Layers, *, consistent: bool) -> _Counted:
    """Return the rows of pairs of areas."""
    pairs = leaves.pairs
    nodes = [grid.ladder.nodes(pairs.level[:, side], pairs.area[:, side]) for side in (0, 1)]
    if layers.axis is not None:
        nodes.append(layers.axis.ladder.nodes(pairs.level[:, 2], pairs.area[:, 2]))
    return _Counted(
        np.column_stack(nodes),
        pairs.matrix,
        leaves.counts,
        ledger.scales(leaves.charged),
        reconcile(ledger, pairs.node) if consistent else None,
    )


def _count_persons(matrix: Matrix, leaves: Leaves, ledger: Ledger) -> IntArray:
    """Return noisy numbers of persons with a counted trip in each pair of areas: a trip changes one of them by one."""
    if matrix.visits is None:
        raise InputError("the matrix does not know persons", "build it with persons=True")
    point, person = matrix.visits
    order = np.argsort(leaves.pairs.node)
    leaf = order[np.searchsorted(leaves.pairs.node, leaves.node_of_point[point], sorter=order)]
    seen = np.unique(np.column_stack([leaf, person]), axis=0)[:, 0]
    counts = add(seen, np.ones(len(seen), np.int64), len(leaves))
    return ledger.publish("cells", ledger.children(ledger.roots[leaves.pairs.matrix]), counts)[0]


def _stream(
    matrix: Matrix,
    grid: TileGrid,
    unit: Ledger,
    ladders: Ladders,
    run: dict[str, Any],  # as the method takes them
    *,
    consistent: bool,
) -> Flowing:
    """Publish steps one after the other, each with all of its groups."""
    if matrix.visits is not None:
        raise InputError(
            "persons are not counted in a stream", "leave out --persons, or protect a person or person-day"
        )
    layers, most = matrix.layers, matrix.max_trips_per_person
    groups = layers.combinations
    window = WindowLedger(unit.single_trips(most).epsilon, matrix.protection.window or 1, len(layers.keys))
    draws, shown = noisy_stream(matrix.points, window, len(layers.keys), ladders, **run)
    tables = [_rows_of(draw.leaves, draw.ledger, grid, layers, consistent=consistent) for draw in draws]
    rows = []
    for step, number in enumerate(shown):
        group = tables[number].matrix
        drawn = draws[number].step * groups + group
        rows.append(replace(tables[number], matrix=step * groups + group, drawn=drawn))
    told = [_told(draw, draw.step * groups + group, most) for draw in draws for group in range(groups)]
    return Flowing(_tables(grid, layers, _joined(rows)), draws[-1].leaves, [window], told)


def _told(draw: Draw, matrix: int, most: int) -> dict[str, Json]:
    """Return what a draw of a stream spent, for a unit: in all, and before its counts."""
    spends = {spend.name: spend.epsilon * most for spend in draw.ledger.spends if spend.name != "cells"}
    budget = [{"spend": name, "epsilon": epsilon} for name, epsilon in spends.items()]
    return {"matrix": matrix, "epsilon": draw.ledger.epsilon * most, "budget": budget}


def _joined(parts: list[_Counted]) -> _Counted:
    known = [part.consistent for part in parts if part.consistent is not None]
    drawn = [part.drawn for part in parts if part.drawn is not None]
    return _Counted(
        np.concatenate([part.nodes for part in parts]),
        np.concatenate([part.matrix for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.scales for part in parts]),
        np.concatenate(known) if known else None,
        drawn=np.concatenate(drawn),
    )


def _tables(grid: TileGrid, layers: Layers, counted: _Counted) -> dict[str, pa.Table]:
    """Return flows between nodes of the tree (one row a flow) with noisy trips, and their areas as in any release."""
    columns: dict[str, Column] = {
        "origin": pa.array(area_ids(grid.places, grid.tree, counted.nodes[:, 0]), pa.string()),
        "destination": pa.array(area_ids(grid.places, grid.tree, counted.nodes[:, 1]), pa.string()),
    }
    keys: dict[str, Column] = {}
    if layers.axis is not None:
        keys["time"], keys["time_end"] = layers.axis.tree.values(counted.nodes[:, 2])
    keys |= layers.columns(counted.matrix)
    columns |= keys | {"trips": pa.array(counted.counts, pa.int64())}
    if counted.persons is not None:
        columns[PERSONS] = pa.array(counted.persons, pa.int64())
    columns["nonnegative"] = pa.array(_nonnegative(counted), pa.int64())
    columns["scale"] = pa.array(counted.scales, pa.float64())
    if counted.persons is not None:
        columns["persons_scale"] = pa.array(np.full(len(counted.counts), counted.persons_scale), pa.float64())
    if counted.consistent is not None:
        columns["consistent"] = pa.array(counted.consistent, pa.float64())
    if counted.drawn is not None:
        columns["drawn"] = layers.columns(counted.drawn)["time"]
    flows = pa.table(columns).sort_by([(name, "ascending") for name in ("origin", "destination", *keys)])
    tree = grid.tree
    return {FLOWS: flows, AREAS: areas_of_nodes(grid.places, (tree, counted.nodes[:, 0]), (tree, counted.nodes[:, 1]))}


def _nonnegative(counted: _Counted) -> IntArray:
    """Return counts that are not negative and keep the noisy total of each matrix."""
    order = np.lexsort((*counted.nodes.T[::-1], counted.matrix))  # flows of one origin follow each other
    edges = np.flatnonzero(np.diff(counted.matrix[order])) + 1
    whole = np.zeros(len(counted.counts), np.int64)
    for rows in np.split(order, edges) if len(order) else []:
        whole[rows] = non_negative(counted.counts[rows], variance(counted.scales[rows]))
    return whole
