"""What an auditor sees of epsilon for certain: lower bounds for every method with noise; none may exceed it."""

from __future__ import annotations

from tests.auditor import ALPHA, AUDITED, EPSILON, audit


def main():
    print(f"\n### audit at epsilon {EPSILON:g}, each bound wrong with a chance of {ALPHA:g} at most\n")
    print("| method | runs | trips | structure | counts | both | with marginals |\n|---|---:|---:|---:|---:|---:|---:|")
    for name, (method, cells, lengths, runs) in AUDITED.items():
        seen = audit(method, cells, runs, lengths)
        assert all(bound <= EPSILON for bound in seen.values()), name
        bounds = [f"{max(seen[kind], 0):.2f}" if kind in seen else "-" for kind in KINDS]
        print(f"| {name} | {runs:,} | {len(cells)} | " + " | ".join(bounds) + " |", flush=True)


KINDS = ("structure", "output", "both", "marginals")
