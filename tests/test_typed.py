"""The types of the public names, as a type checker sees them in the installed package."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import flowveil as fv

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
CLIENT = Path(__file__).parent / "client.py"

FRAMES = {"to_pandas", "to_geopandas"}  # of packages that bring no types
SHAPE = re.compile(r"(?<=\bndarray\[)tuple\[Any, \.\.\.\]")  # of numpy's NDArray: any number of dimensions


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    return Path(next(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Install the wheel in an environment that has the libraries of this one; return its Python."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=os.name != "nt", with_pip=False)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(home), "platbase": str(home)}))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)  # noqa: S202  our own wheel
    libraries = [path for path in sys.path if path.endswith("-packages")]
    (packages / "libraries.pth").write_text("\n".join(libraries), encoding="utf-8")
    return home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


@pytest.fixture(scope="module")
def checked(installed, tmp_path_factory):
    """Return what mypy says of two clients: one that asks for the type of every public name, and one that uses them."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "revealing.py").write_text("import flowveil as fv\n\n" + "\n".join(questions()), encoding="utf-8")
    (folder / "using.py").write_text(CLIENT.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "mypy.ini").write_text(
        f"[mypy]\nstrict = True\npython_executable = {installed}\n[mypy-using]\ndisallow_any_expr = True\n"
    )
    env = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "MYPYPATH"}}
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--no-incremental",
        "--config-file",
        "mypy.ini",
        "revealing.py",
        "using.py",
    ]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def public_names() -> Iterator[tuple[str, object]]:
    """Yield every public name but modules, as a client writes it, and what it stands for."""
    for prefix, module in (("fv", fv), ("fv.synthetic", fv.synthetic), ("fv.trajectories", fv.trajectories)):
        for name in module.__all__:
            if not isinstance(getattr(module, name), ModuleType):
                yield f"{prefix}.{name}", getattr(module, name)


def public_members(cls: type) -> list[str]:
    """Return what an instance of a class of flowveil has under public names."""
    own = [base for base in cls.__mro__ if base.__module__.partition(".")[0] == "flowveil"]
    names = {name for base in own for name in (*vars(base), *inspect.get_annotations(base))}
    return sorted(name for name in names if not name.startswith("_"))


def questions() -> Iterator[str]:
    """Yield lines of a client that ask for the type of every public name, and of every public member of a class."""
    for path, value in public_names():
        yield f"reveal_type({path})"
        if inspect.isclass(value):
            yield f"def of_{path.replace('.', '_')}(it: {path}) -> None:"
            yield from [f"    reveal_type(it.{member})  # {path}.{member}" for member in public_members(value)] or [
                "    ..."
            ]


@pytest.mark.slow
def test_every_name_has_a_type(checked):
    """No public function, class, attribute or method is Any, or takes or returns it."""
    asked = ["import flowveil as fv", "", *questions()]
    types = {}
    for line in checked:
        if match := re.match(r'revealing\.py:(\d+): note: Revealed type is "(.*)"$', line):
            question = asked[int(match[1]) - 1]
            types[question.partition("# ")[2] or question.removeprefix("reveal_type(")[:-1]] = match[2]

    assert len(types) == sum(line.strip().startswith("reveal_type") for line in asked)
    unknown = [name for name, kind in types.items() if re.search(r"\bAny\b", SHAPE.sub("", kind))]
    assert [name for name in unknown if name.rpartition(".")[2] not in FRAMES] == []


@pytest.mark.slow
def test_client(checked):
    """A client that uses the package as the documentation does has no type errors, and no expression of it is Any."""
    assert [line for line in checked if ": error: " in line] == []
    assert checked[-1].startswith("Success")


def test_client_uses_every_name():
    """No public name is left out of the client."""
    text = CLIENT.read_text(encoding="utf-8")

    assert [name for name, _ in public_names() if not re.search(rf"\b{re.escape(name)}\b", text)] == []


@pytest.mark.slow
def test_marked_as_typed(wheel, tmp_path):
    """Type checkers look into the package: the mark is in the wheel and in the source distribution."""
    source = next(SdistBuilder(str(ROOT)).build(directory=str(tmp_path)))

    with zipfile.ZipFile(wheel) as archive, tarfile.open(source) as sources:
        assert "flowveil/py.typed" in archive.namelist()
        assert any(name.endswith("/src/flowveil/py.typed") for name in sources.getnames())
