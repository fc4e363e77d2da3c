"""Mutants of a file: the same program with one small mistake."""

from __future__ import annotations

import ast
import copy
import hashlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What stands in place of what. Each operator of the first column becomes every one of its row, in a mutant of its own.
COMPARED = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COUNTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
NAMED = {
    "min": "max",
    "any": "all",
    "minimum": "maximum",
    "argmin": "argmax",
    "floor": "ceil",
    "union1d": "intersect1d",
    "logical_or": "logical_and",
}
NAMED |= {other: name for name, other in NAMED.items()}
SIDES = {"left": "right", "right": "left"}  # of a search in what is sorted
FREE = {"strict"}  # keywords that only guard against mistakes of ours
NOT_RUN = {"annotation", "returns", "decorator_list", "type_params", "bases"}


Site = tuple[int, ast.AST, str, ast.AST]


class Mutant(NamedTuple):
    """One mistake in a file."""

    file: str
    function: str  # qualified name of the outermost function; "" outside of all
    line: int
    what: str  # the kind of mistake
    key: str  # a hash of the function as it is and of the mistake
    node: int  # which node of the tree
    choice: int  # which of the mistakes that can be made there


def mutants_of(path: Path, name: str) -> list[Mutant]:
    """Return all mutants of a file, by line."""
    firsts: dict[ast.AST, tuple[int, str]] = {}
    found = []
    for number, node, function, context in _sites(ast.parse(path.read_text(encoding="utf-8"))):
        if context not in firsts:
            firsts[context] = number, ast.unparse(context)
        first, text = firsts[context]
        for choice, (what, _) in enumerate(_mistakes(node)):
            key = hashlib.sha256(f"{name} {number - first} {choice} {what} {text}".encode()).hexdigest()[:16]
            found.append(Mutant(name, function, node.lineno, what, key, number, choice))
    return sorted(found, key=lambda mutant: (mutant.line, mutant.node, mutant.choice))


def mutated(path: Path, mutant: Mutant) -> tuple[ast.Module, str, str]:
    """Return the tree of a file with one mistake, and what stood there and stands there now."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    target = next(node for number, node, *_ in _sites(tree) if number == mutant.node)
    changed = list(_mistakes(target))[mutant.choice][1]
    before, after = _shown(target), _shown(changed)

    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return changed if node is target else self.generic_visit(node)

    return ast.fix_missing_locations(Swap().visit(tree)), before, after


def _sites(tree: ast.Module) -> Iterator[Site]:
    """Yield every node where a mistake can be made: its number, itself, its outermost function and what is hashed."""
    number = 0

    def walk(
        node: ast.AST, names: tuple[str, ...], context: ast.AST | None
    ) -> Iterator[tuple[int, ast.AST, str, ast.AST]]:
        nonlocal number
        for child in _children(node):
            number += 1
            at = context
            if at is None and (isinstance(child, ast.stmt) and not isinstance(child, ast.ClassDef)):
                at = child
            inner = names
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not _in_function(context):
                inner = (*names, child.name)
            if at is not None and hasattr(child, "lineno"):
                # Defaults of arguments are made where the function is, outside of it.
                yield number, child, ".".join(names) if _in_function(context) else "", at
            yield from walk(child, inner, at)

    yield from walk(tree, (), None)


def _in_function(context: ast.AST | None) -> bool:
    return isinstance(context, (ast.FunctionDef, ast.AsyncFunctionDef))


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that do something: no annotations, decorators, docstrings, imports for types."""
    idle = NOT_RUN | {"keywords"} if isinstance(node, ast.ClassDef) else NOT_RUN
    for field, value in ast.iter_fields(node):
        if field in idle:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, (ast.Import, ast.ImportFrom, ast.expr_context)):
                continue
            if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.keyword) and child.arg in FREE:
                continue
            yield child


def _mistakes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what else could stand in place of a node, with the kind of mistake."""
    for what, changes in MISTAKES:
        for changed in changes(node):
            yield what, ast.copy_location(changed, node)


def _comparisons(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in COMPARED[type(operator)]:
                changed = copy.copy(node)
                changed.ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                yield changed


def _arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in COUNTED:
        changed = copy.copy(node)
        changed.op = COUNTED[type(node.op)]()
        yield changed


def _constants(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, (int, float)):
            yield ast.Constant(node.value + 1)
            if node.value > 0:
                yield ast.Constant(node.value - 1)
        elif isinstance(node.value, str) and node.value in SIDES:
            yield ast.Constant(SIDES[node.value])


def _logic(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for place in range(len(node.values)):
            values = node.values[:place] + node.values[place + 1 :]
            yield values[0] if len(values) == 1 else ast.BoolOp(node.op, values)
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield node.operand
    if isinstance(node, (ast.If, ast.While, ast.IfExp)) and not isinstance(node.test, (ast.Compare, ast.UnaryOp)):
        changed = copy.copy(node)
        changed.test = ast.UnaryOp(ast.Not(), node.test)
        yield changed


def _answers(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield ast.Return(ast.Constant(None))


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _deletions(node: ast.AST) -> Iterator[ast.AST]:
    """Statements left out; so is an assignment to a part of something, or to what has a value already."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if isinstance(node, (ast.Expr, ast.Raise, ast.AugAssign)) and not is_text:
        yield ast.Pass()
    if isinstance(node, ast.Assign) and all(
        isinstance(target, (ast.Subscript, ast.Attribute)) for target in node.targets
    ):
        yield ast.Pass()
    if isinstance(node, ast.Continue):
        yield ast.Break()
    if isinstance(node, ast.Break):
        yield ast.Continue()


def _slices(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Slice):
        for bound in ("lower", "upper", "step"):
            if getattr(node, bound) is not None:
                changed = copy.copy(node)
                setattr(changed, bound, None)
                yield changed


def _names(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call):
        changed = copy.copy(node)
        if isinstance(node.func, ast.Name) and node.func.id in NAMED:
            changed.func = ast.Name(NAMED[node.func.id], ast.Load())
            yield changed
        if isinstance(node.func, ast.Attribute) and node.func.attr in NAMED:
            changed.func = ast.Attribute(node.func.value, NAMED[node.func.attr], ast.Load())
            yield changed


def _filters(node: ast.AST) -> Iterator[ast.AST]:
    for place in range(len(getattr(node, "generators", ()))):
        if node.generators[place].ifs:
            changed = copy.copy(node)
            changed.generators = list(node.generators)
            changed.generators[place] = copy.copy(node.generators[place])
            changed.generators[place].ifs = []
            yield changed


MISTAKES = (
    ("comparison", _comparisons),
    ("arithmetic", _arithmetic),
    ("constant", _constants),
    ("logic", _logic),
    ("answer", _answers),
    ("left out", _deletions),
    ("slice", _slices),
    ("name", _names),
    ("filter", _filters),
)


def _shown(node: ast.AST) -> str:
    """Return a node as one line of text."""
    text = ast.unparse(node)
    return text.splitlines()[0] if text else ""
