"""The small faults: where they can be put into a module, and the module with one of them.

A fault is one of: a comparison that is strict where it was not, or reversed; plus for minus, times
for over; a constant one more or twice as large; `and` for `or`; a negation left out; the largest
for the smallest; a condition that always or never holds. Texts, annotations and docstrings are left
alone: a fault there is not one of behaviour.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
PAIRS = (
    ("max", "min"),
    ("maximum", "minimum"),
    ("any", "all"),
    ("argmax", "argmin"),
    ("ceil", "floor"),
)
EXCHANGED = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}


@dataclass(frozen=True)
class Mutant:
    """A module's text with one fault: the line of the fault, and what was changed into what."""

    line: int
    before: str
    after: str
    text: str


def count(text: str) -> int:
    """How many mutants a module has."""
    return sum(1 for _ in _places(ast.parse(text)))


def mutant(text: str, number: int) -> Mutant:
    """One mutant of a module, by its number; they come in the order of their places."""
    tree = ast.parse(text)
    node, shown, change = next(islice(_places(tree), number, None))
    line, before = getattr(node, "lineno", 0), ast.unparse(shown(node))
    change()
    return Mutant(line, before, ast.unparse(shown(node)), ast.unparse(tree))


# A node, the part of it that is shown, and what changes it.
Place = tuple[ast.AST, Callable[[Any], ast.AST], Callable[[], None]]


def _places(tree: ast.AST) -> Iterator[Place]:
    """The changes that a tree allows."""
    for node in _behaviour(tree):
        match node:
            case ast.Compare(ops=[op]) if type(op) in COMPARED:
                yield node, _whole, _setting(node, "ops", [COMPARED[type(op)]()])
            case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in COMPUTED:
                yield node, _whole, _setting(node, "op", COMPUTED[type(op)]())
            case ast.BoolOp(op=op):
                yield (
                    node,
                    _whole,
                    _setting(node, "op", ast.Or() if isinstance(op, ast.And) else ast.And()),
                )
            case ast.UnaryOp(op=ast.Not()):
                yield node, _whole, _setting(node, "op", ast.UAdd())
            case ast.Constant(value=bool(value)):
                yield node, _whole, _setting(node, "value", not value)
            case ast.Constant(value=int(value)):
                yield node, _whole, _setting(node, "value", value + 1)
            case ast.Constant(value=float(value)):
                yield node, _whole, _setting(node, "value", 2 * value if value else 1.0)
            case ast.Call(func=ast.Name(id=name) as func) if name in EXCHANGED:
                yield node, _whole, _setting(func, "id", EXCHANGED[name])
            case ast.Call(func=ast.Attribute(attr=name) as func) if name in EXCHANGED:
                yield node, _whole, _setting(func, "attr", EXCHANGED[name])
            case ast.If() | ast.IfExp():
                for value in (True, False):
                    yield node, _test, _setting(node, "test", ast.Constant(value))
            case _:
                pass


def _whole(node: ast.AST) -> ast.AST:
    return node


def _test(node: Any) -> ast.AST:
    return node.test


def _setting(node: ast.AST, field: str, value: object) -> Callable[[], None]:
    return lambda: setattr(node, field, value)


def _behaviour(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below that decide what a module does, in order."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _idle(child):
                continue
            yield child
            yield from _behaviour(child)


def _idle(node: ast.AST) -> bool:
    """Whether a node only serves readers and type checkers, or words a message."""
    match node:
        case (
            ast.Expr(value=ast.Constant())
            | ast.Raise()
            | ast.JoinedStr()
            | ast.AnnAssign(value=None)
        ):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Import() | ast.ImportFrom():
            return True
        case _:
            return False
