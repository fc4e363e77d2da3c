"""Benchmarks: ratios in one run, against plain versions, with how cost grows."""
