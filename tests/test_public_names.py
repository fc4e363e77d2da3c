"""The Python API: what is public is listed, and is there without delay."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from importlib.metadata import version

import pytest

import flowveil as fv
from flowveil import synthetic, trajectories

MODULES = [fv, synthetic, trajectories]
NAMES = [(module, name) for module in MODULES for name in module.__all__]


def run(code: str) -> str:
    """Run code in a new process and return what it prints."""
    return subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("module", MODULES)
class TestLists:
    """Public names are in __all__, without exemptions."""

    def test_sorted(self, module):
        """Names are listed once, in order: constants, classes, then the rest."""
        names = sorted(set(module.__all__), key=lambda name: (not name.isupper(), not name[0].isupper(), name))

        assert module.__all__ == names

    def test_complete(self, module):
        """Everything public is listed, and everything listed is there, in dir() and by import."""
        there = {name for name in module.__all__ if hasattr(module, name)}

        assert there == set(module.__all__)
        assert {name for name in vars(module) if not name.startswith("_")} == there
        assert {name for name in dir(module) if not name.startswith("_")} == there

    @pytest.mark.slow
    def test_import_all(self, module):
        """An import of everything brings what is listed."""
        code = f"from {module.__name__} import *; print(*sorted(name for name in dir() if name[0] != '_'))"

        assert run(code).split() == sorted(module.__all__)


class TestNames:
    """Names are as good as if they had been imported with flowveil."""

    def test_sorted(self):
        """Names are listed once, in order."""
        assert fv.__all__ == sorted(set(fv.__all__))

    @pytest.mark.parametrize(("module", "name"), NAMES)
    def test_documented(self, module, name):
        """Everything public says what it is."""
        assert inspect.getdoc(getattr(module, name))

    @pytest.mark.parametrize("module", MODULES)
    def test_pickled(self, module):
        """Functions and classes go to other processes by name."""
        values = [value for value in (getattr(module, name) for name in module.__all__) if callable(value)]

        assert len(values) > 3
        assert pickle.loads(pickle.dumps(values)) == values  # noqa: S301  our own

    def test_promised_names(self):
        """The names of the interface are there."""
        assert {
            "anonymize",
            "build_flows",
            "evaluate",
            "frontier",
            "methods",
            "read_release",
            "read_trips",
            "verify",
        } <= set(fv.__all__)

    def test_no_such_name(self):
        """A name that is not there is missed as in any module."""
        with pytest.raises(AttributeError, match="'flowveil' has no attribute 'anonymise'"):
            fv.anonymise  # noqa: B018
        with pytest.raises(ImportError, match="anonymise"):
            from flowveil import anonymise  # noqa: F401

    @pytest.mark.slow
    def test_before_anything_is_loaded(self):
        """All names are shown in a new process too; public modules need no import of their own."""
        code = "import flowveil as fv; print(*[name for name in dir(fv) if name[0] != '_'], fv.synthetic.City.__name__)"

        assert run(code).split() == [*sorted(fv.__all__), "City"]


class TestLight:
    """What needs no libraries does not wait for them: numpy, pyarrow and DuckDB take a second to import."""

    @pytest.mark.parametrize(
        ("code", "rooms"),
        [
            ("import flowveil", set()),
            ("import flowveil; assert flowveil.__version__", set()),
            ("import flowveil; assert flowveil.InputError", {"_errors"}),
            ("import flowveil._cli", {"_cli", "_cli.entry"}),
            (
                "from flowveil._cli import main\ntry: main(['--version'])\nexcept SystemExit: pass",
                {"_cli", "_cli.entry"},
            ),
        ],
    )
    def test_loaded(self, code, rooms):
        """Only the standard library is loaded beside flowveil's own few modules."""
        lines = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(); print(*set(sys.modules) - before)"
        loaded = run(lines).splitlines()[-1].split()

        own = {name for name in loaded if name.partition(".")[0] == "flowveil"}
        assert own == {"flowveil"} | {f"flowveil.{room}" for room in rooms}
        assert {name.partition(".")[0] for name in loaded} <= {"flowveil", *sys.stdlib_module_names}

    def test_version(self):
        """The version is that of the installed package, on the command line too."""
        printed = subprocess.run(
            [sys.executable, "-P", "-m", "flowveil", "--version"], check=True, capture_output=True, text=True
        ).stdout

        assert fv.__version__ == version("flowveil")
        assert printed == f"flowveil {fv.__version__}\n"
