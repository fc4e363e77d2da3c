"""What keeps promises, and which files of tests touch it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Room(NamedTuple):
    """Files of flowveil, and the tests that try them."""

    name: str
    sources: str  # patterns below src/flowveil
    tried_by: str  # names of files of tests, without `test_`; patterns

    def files(self, house: Path) -> list[str]:
        """Return the files, relative to the house; what only passes names on has nothing to mutate."""
        found = {path for pattern in self.sources.split() for path in house.glob(pattern)}
        return sorted(path.relative_to(house).as_posix() for path in found if path.name != "__init__.py")

    def tests(self, root: Path) -> list[str]:
        """Return the files of tests."""
        return sorted({str(path) for name in self.tried_by.split() for path in root.glob(f"tests/test_{name}.py")})


_SOLVING = """
    atg boundaries crosscut crowds cube each_and_times every_method exact family frontier glove hidden_choice in_runs
    keep_safe kernels knapsack loss_area max_share max_share_release metrics mondrian mosaic nested nested_deeply
    odkanon oigh option_rules overlapping promise remainders remainders_release same_areas sensitive spread targets
    time_and_groups trip_weights uniform_tiles
"""
_RELEASING = """
    boundaries cell_key counted_persons coverage_told difference elsewhere every_method hidden_choice margins
    max_share_release overlapping promise register remainders_release rounding same_areas sensitive time_and_groups
    verify_exposed
"""
_PATHS = """
    boundaries every_method trajectories_gather trajectories_glove trajectories_known_points trajectories_release
    trajectories_support
"""

ROOMS = (
    Room("requirement and cube", "_problem/*.py", _SOLVING),
    Room("solvers", "_methods/*.py", _SOLVING),
    Room(
        "release check",
        """_release/again.py _release/anonymization.py _release/areas_from.py _release/assignment.py
        _release/cell_key.py
        _release/chance.py _release/changing.py _release/circulation.py _release/coverage.py _release/demand.py
        _release/earlier.py _release/elsewhere.py _release/going_together.py _release/hidden.py _release/keys.py
        _release/layers.py _release/margins.py _release/rectangles_elsewhere.py _release/release.py
        _release/rounding.py _release/same_areas.py _release/shared_trips.py _release/telling.py _release/totals.py
        _release/true_trips.py""",
        _RELEASING,
    ),
    Room(
        "ledger",
        "_noise/*.py _register/account.py",
        "every_method laplace matrices_methods noise_layers noise_ledger privtree register",
    ),
    Room("difference", "_difference/*.py _equations/*.py", "difference elsewhere margins same_areas"),
    Room(
        "trajectories",
        """_trajectories/blocks.py _trajectories/choice.py _trajectories/complete.py _trajectories/forming.py
        _trajectories/gather.py _trajectories/glove.py _trajectories/inner.py _trajectories/inside.py
        _trajectories/kernels.py _trajectories/known_points.py _trajectories/merge.py _trajectories/nearest.py
        _trajectories/neighbors.py _trajectories/pairs.py _trajectories/pool.py _trajectories/rare.py
        _trajectories/release.py _trajectories/support.py _trajectories/trimming.py""",
        _PATHS,
    ),
    Room(
        "verifiers",
        "_verify/*.py",
        _RELEASING
        + _PATHS
        + """ apart keep_safe laplace manifest_keys matrices_release mondrian noise_layers synthesis
        trajectories_periods verify verify_*""",
    ),
)
