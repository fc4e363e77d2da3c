"""The house: rooms in layers, imports that go downward, and doors that are not walked around."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from pkgutil import walk_packages
from typing import TYPE_CHECKING, NamedTuple

import flowveil as fv

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUSE = Path(fv.__file__).parent
ARCHITECTURE = Path(__file__).parent.parent / "docs" / "architecture.md"

# Low to high. A room imports from lower layers only: so rooms of one layer know nothing of each other.
LAYERS = [
    "_errors _arrays _compiled",
    "_options",
    "_folder _processes",
    "_engine _noise _synthetic _charts _equations _register",
    "_places _trips",
    "_times _remainders _fixes",
    "_reading",
    "_flows",
    "_describe",
    "_problem",
    "_methods _measure _difference",
    "_report",
    "_release",
    "_trajectories",
    "_matrices _synthesis",
    "_verify _export _risk _questions",
    "_kinds",
    "_study",
    "synthetic trajectories",
    "__init__",
    "_app",
    "_cli",
    "__main__",
]
EVERYWHERE = {"_errors", "_arrays", "_compiled"}  # used by all, and not drawn
LAYER = {room: number for number, rooms in enumerate(LAYERS) for room in rooms.split()}


class Import(NamedTuple):
    """A line that takes a name from a module of flowveil."""

    file: Path
    line: int
    module: list[str]  # ["_engine", "scanning"] is flowveil._engine.scanning; [] is flowveil
    name: str | None  # None where the module itself is imported

    @property
    def room(self) -> str:
        """The room that imports."""
        return self.file.relative_to(HOUSE).parts[0].removesuffix(".py")

    @property
    def of(self) -> str:
        """The room that is imported from."""
        return self.module[0] if self.module else "__init__"

    def __str__(self) -> str:
        """Where it is, and what it imports."""
        return f"{self.file.relative_to(HOUSE)}:{self.line} {'.'.join(['flowveil', *self.module])} {self.name or ''}"


@cache
def parsed() -> dict[Path, list[ast.AST]]:
    """Return the parts of every module."""
    return {file: list(ast.walk(ast.parse(file.read_text(encoding="utf-8")))) for file in sorted(HOUSE.rglob("*.py"))}


@cache
def imports() -> list[Import]:
    """Return what modules of flowveil import from other rooms, wherever in a file, for type checkers too."""
    lines = []
    for file, nodes in parsed().items():
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{file}: relative imports hide which room is meant"
                taken = [((node.module or "").split("."), alias.name) for alias in node.names]
            elif isinstance(node, ast.Import):
                taken = [(alias.name.split("."), None) for alias in node.names]
            else:
                continue
            for (package, *module), name in taken:
                if package == "flowveil":
                    inner = not module and (name in LAYER)  # from flowveil import _engine
                    lines.append(Import(file, node.lineno, [name] if inner else module, None if inner else name))
    return [line for line in lines if line.of != line.room]


def test_every_room_has_a_layer():
    """The list of layers names every room, and no other."""
    rooms = {path.name for path in HOUSE.iterdir() if (path / "__init__.py").exists()}
    files = {path.stem for path in HOUSE.glob("*.py")}

    assert set(LAYER) == rooms | files


def test_imports_go_downward():
    """No room imports from its own layer or a higher one; hence there is no cycle between rooms."""
    upward = [str(line) for line in imports() if LAYER[line.of] >= LAYER[line.room]]

    assert upward == []


def test_rooms_are_entered_by_the_door():
    """A room's names come from the room, which exports them; its modules are for itself."""
    around = [str(line) for line in imports() if len(line.module) > 1 or not _is_exported(line)]

    assert around == []


def _is_exported(line: Import) -> bool:
    return line.name is None or line.name in _exported(".".join(["flowveil", *line.module]))


@cache
def _exported(module: str) -> list[str]:
    room = import_module(module)
    return getattr(room, "__all__", None) or [name for name in vars(room) if not name.startswith("_")]


def test_attributes_are_exported():
    """What is used as an attribute of a room, or of flowveil, is exported there."""
    around = []
    for file, nodes in parsed().items():
        rooms = dict(room for node in nodes for room in _whole_rooms(node))
        for node in nodes:
            room = rooms.get(getattr(node.value, "id", "")) if isinstance(node, ast.Attribute) else None
            if room and node.attr not in [*_exported(room), "__version__"]:
                around.append(f"{file.relative_to(HOUSE)}:{node.lineno} {room}.{node.attr}")

    assert around == []


def _whole_rooms(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield modules of flowveil that a line imports whole: what the file calls them, and what they are."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.partition(".")[0] == "flowveil":
                yield (alias.asname, alias.name) if alias.asname else ("flowveil", "flowveil")
    elif isinstance(node, ast.ImportFrom) and node.module == "flowveil":
        for alias in node.names:
            if alias.name in LAYER:
                yield alias.asname or alias.name, f"flowveil.{alias.name}"


def test_modules_are_named_at_home():
    """A string that names a module, for an import or a process to come, names one of its own room."""
    away = []
    for file, nodes in parsed().items():
        own = ".".join(["flowveil", file.relative_to(HOUSE).parts[0].removesuffix(".py")])
        for node in nodes:
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if re.fullmatch(r"flowveil\.\w[\w.]*", text) and not f"{text}.".startswith(f"{own}."):
                away.append(f"{file.relative_to(HOUSE)}:{node.lineno} {text}")

    assert away == []


def arrows() -> dict[str, set[str]]:
    """Return for each room what it builds on: what it imports, less what it is sure to import by way of others."""
    graph = {room: set() for room in LAYER}
    for line in imports():
        graph[line.room] |= {line.of} - EVERYWHERE
    below = {}
    for room in sorted(graph, key=LAYER.get):
        below[room] = graph[room].union(*(below[other] for other in graph[room]))
    return {room: {one for one in all_ if not any(one in below[two] for two in all_)} for room, all_ in graph.items()}


def test_the_drawing_is_true():
    """The arrows between rooms in docs/architecture.md are those of the code."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    drawing = text.partition("```mermaid\nflowchart TD\n")[2].partition("```")[0]
    drawn = sorted(tuple(line.strip().split(" --> ")) for line in drawing.splitlines())

    assert drawn == sorted((room, other) for room, others in arrows().items() for other in others)


def test_every_room_has_a_job():
    """The table of docs/architecture.md lists every room, low ones first."""
    rooms = re.findall(r"^\| `(_\w+)` \| \S.* \|$", ARCHITECTURE.read_text(encoding="utf-8"), re.MULTILINE)

    private = {room for room in LAYER if re.fullmatch(r"_[a-z]+", room)}
    assert set(rooms) == private - EVERYWHERE
    assert rooms == sorted(rooms, key=LAYER.get)


def test_nothing_shadows_a_module():
    """A module is what its package has under its name, whatever else the package exports."""
    names = [module.name for module in walk_packages([str(HOUSE)], "flowveil.")]
    for name in names:
        import_module(name)

    shadowed = [name for name in names if attrgetter(name.removeprefix("flowveil."))(fv) is not sys.modules[name]]

    assert len(names) > 200
    assert shadowed == []


def test_any_has_a_reason():
    """Where a type is left open, a comment on the same line or right above says why."""
    bare = []
    for file, nodes in parsed().items():
        lines = file.read_text(encoding="utf-8").splitlines()
        for node in nodes:
            if "Any" in (getattr(node, "id", None), getattr(node, "attr", None)):  # Any, typing.Any
                here, above = lines[node.lineno - 1], lines[node.lineno - 2].strip()
                if "# " not in here and not above.startswith("# "):
                    bare.append(f"{file.relative_to(HOUSE)}:{node.lineno} {here.strip()}")

    assert bare == []


def test_late_imports_have_a_reason():
    """A module that is imported late says why on its line: a library is slow, an extra, or not on every system."""
    late = [
        f"{file.relative_to(HOUSE)}:{number} {line.strip()}"
        for file in sorted(HOUSE.rglob("*.py"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"# noqa: PLC0415\s*$", line)
    ]

    assert late == []
