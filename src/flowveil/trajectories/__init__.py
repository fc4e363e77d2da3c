"""Whole trajectories in which every user's path is identical to at least k-1 others'."""

from flowveil.trajectories._grid import Grid, make_grid
from flowveil.trajectories._read import Trajectories, read_trajectories

__all__ = ["Grid", "Trajectories", "make_grid", "read_trajectories"]
