"""Names that are stored say what they hold."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SAY_NOTHING = {"found", "each", "told", "sight"}
# Parameters of public functions: callers may give them by name.
PUBLIC = {"src/rpsr/report/plots/rewards.py": {"found"}}


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


FOLDERS = ("src", "tests", "benchmarks", "docs", "examples")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def saying_nothing(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of what is assigned, defined or a parameter, but has one of these names."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=str(name), ctx=ast.Store())
                | ast.Attribute(attr=str(name), ctx=ast.Store())
                | ast.arg(arg=str(name))
                | ast.FunctionDef(name=str(name))
                | ast.AsyncFunctionDef(name=str(name))
                | ast.ClassDef(name=str(name))
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
                | ast.alias(asname=str(name))
            ) if name in SAY_NOTHING:
                yield node.lineno, name
            case _:
                pass


@pytest.mark.parametrize("path", FILES, ids=label)
def test_stored_names_say_what_they_hold(path):
    public = PUBLIC.get(label(path), set())
    places = [(line, name) for line, name in saying_nothing(parse(path)) if name not in public]
    assert not places, [f"{label(path)}:{line}: {name}" for line, name in places]


def test_every_exception_is_needed():
    for file, public in PUBLIC.items():
        assert public == {name for _, name in saying_nothing(parse(ROOT / file))}


@pytest.mark.parametrize(
    "code",
    [
        "found = 1",
        "found: int = 1",
        "found += 1",
        "a, (b, *found) = c",
        "self.found = 1",
        "if (found := f()): ...",
        "for a, found in b: ...",
        "a = [b for found in c]",
        "a = lambda found: 1",
        "def f(a, found=1): ...",
        "def f(*found): ...",
        "def f(*, found): ...",
        "def f(**found): ...",
        "async def found(): ...",
        "class found: ...",
        "class A:\n    found: int",
        "with a as found: ...",
        "try: ...\nexcept A as found: ...",
        "import a as found",
        "match a:\n    case {'b': found}: ...",
        "match a:\n    case [*found]: ...",
        "match a:\n    case {**found}: ...",
    ],
)
def test_every_way_to_store_a_name_is_seen(code):
    assert len(list(saying_nothing(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    "code", ["a = found", "f(found=1)", "a.found", "a['found'] = 1", "import found"]
)
def test_names_that_are_only_used_are_no_fault(code):
    assert not list(saying_nothing(ast.parse(code)))
