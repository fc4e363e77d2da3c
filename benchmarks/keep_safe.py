"""What keeping pairs of tiles that pass costs: python -m benchmarks keep_safe.

mosaic at 10 % left out, k = 10, on SF cabs (h3:10: one tree, and the lattice) and on NYC green taxis by zone (one tree,
and many), plain and with remainders: mean tiles of both ends, trips left out, the share of pairs that pass which are
flows of their own, and processor time.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import flowveil as fv
from benchmarks.data import CABS, cab_flows
from benchmarks.finest import TAXI_ZONES, TAXIS
from flowveil._problem import Problem, Requirement, find_safe

K, BUDGET = 10, 0.1
INSIDE = "strftime(start_time, '%Y-%m') = file_month"


def main():
    if not CABS.is_file():
        sys.exit("this needs the shared data")
    for hierarchy in ("h3", "lattice"):
        _compare(cab_flows(hierarchy=hierarchy)[0], f"SF cabs, h3:10, {hierarchy}")
    columns = {"origin": "origin_zone", "destination": "destination_zone", "zone_id": "zone_id"}
    taxis = fv.read_trips(TAXIS, columns, where=f"{INSIDE} AND file_month = '2024-01'")
    for hierarchy in ("ward", "many"):
        flows = fv.build_flows(taxis, zones=TAXI_ZONES, hierarchy=hierarchy)
        _compare(flows, f"NYC green taxis, January 2024, {hierarchy}")


def _compare(flows, title):
    safe = find_safe(Problem(flows, Requirement(K), 0))
    share = flows.trips[safe].sum() / flows.total
    print(f"{title}: {flows.total:,} trips, {safe.sum():,} of {len(flows):,} pairs of tiles pass, with {share:.1%}")
    for remainders in (False, True):
        for keep in (False, True):
            name = ("with remainders" if remainders else "plain") + (", keep_safe" if keep else "")
            start = time.process_time()
            try:
                release = fv.anonymize(
                    flows,
                    k=K,
                    max_suppression=BUDGET,
                    remainders=remainders,
                    options={"keep_safe": True} if keep else None,
                )
            except fv.PromiseError as error:
                print(f"  {name:28} {error.message}")
                continue
            seconds = time.process_time() - start
            figures = release.metrics()
            kept = _kept(release, flows, safe)
            told = f"gbar {figures['gbar']:7.2f}  left out {figures['suppressed']:.3%}  kept {kept:.1%}"
            print(f"  {name:28} {told}  {seconds:5.1f} s")


def _kept(release, flows, safe):
    """Return the share of pairs of tiles that pass which are flows of their own."""
    places = flows.places
    names = [
        places.ids(tree, leaf[safe])
        for tree, leaf in ((flows.origins, flows.origin), (flows.destinations, flows.destination))
    ]
    pairs = set(zip(release.flows["origin"].to_pylist(), release.flows["destination"].to_pylist(), strict=True))
    return float(np.mean([pair in pairs for pair in zip(*names, strict=True)]))


if __name__ == "__main__":
    main()
