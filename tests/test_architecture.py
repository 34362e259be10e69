"""Imports go one way, public names are documented, and modules stay short."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from rpsr import certify, solve
from rpsr.domains import build
from rpsr.planning import certify_controller, extract_controller
from rpsr.predictive.rank_certificates import save_rank_certificate

SOURCE = Path(__file__).parents[1] / "src" / "rpsr"
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST = 400

# Bottom to top: a module may import from its own layer and from those before it.
LAYERS = [
    "errors",
    "_version",
    "registry",
    "showing",
    "io",
    "live",
    "models",
    "logs",
    "domains",
    "sources",
    "certificates",
    "predictive",
    "planning",
    "evaluation",
    "learning",
    "report",
    "reproduce",
    "envs",
    "cli",
]
HEIGHT = {layer: height for height, layer in enumerate(LAYERS)}
LOWEST = ("_version", "arguments", "cluster", "compile_limit", "compile_thread", "deadline")
LOWEST += ("kernel_cache", "kernels", "packing", "parallel", "printable", "row_file")
LOWEST += ("scalar_products", "shards", "tree_sums")
for module in LOWEST:
    HEIGHT[module] = HEIGHT["errors"]
HEIGHT["testing"] = HEIGHT["learning"]  # checks what stands below, and nothing rests on it
HEIGHT["__init__"] = HEIGHT["__main__"] = len(LAYERS)  # the front doors see the whole house


# The subpackages of a package, and those that each may import from besides itself; "" stands for
# the package's own files.
SUBPACKAGES = {
    "planning": {
        "value": {""},
        "corners": {"", "value"},
        "exact": {"", "value", "corners"},
        "anytime": {"", "value", "corners"},
        "reachable": {"", "value", "corners"},
        "portfolio": {"", "value", "corners", "exact", "anytime", "reachable"},
        "online": {"", "value", "corners", "anytime"},
        "points": {"", "value", "corners", "reachable"},
        "comparing": {"", "value", "corners", "reachable"},
        "files": {"", "value"},
        "": {"value", "corners", "files", "comparing"},  # `conformance` compares policies
    },
    "predictive": {"rank": set[str](), "": {"rank"}},
    "report": {"plots": {""}, "": {"plots"}},
    "learning": {
        "moments": {""},
        "spectral": {"", "moments"},
        "em": {""},
        "plan_choice": {""},
        "promises": {"", "plan_choice", "moments", "spectral"},
        "": {"moments", "spectral", "plan_choice", "promises"},
    },
    "logs": {"tables": {""}, "": {"tables"}},
    "cli": {"shared": set[str](), "": {"shared"}},
}
IN_SUBPACKAGES = [path for path in MODULES if path.relative_to(SOURCE).parts[0] in SUBPACKAGES]


def label(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run, or are type-checked, when a module is imported."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from outside_functions(child)


def imports(tree: ast.Module, package: str = "rpsr") -> Iterator[tuple[int, str]]:
    """Line and layer of each import from the package, under `if TYPE_CHECKING` too.

    Those inside functions are left out: they are how a constructor finds what it builds.
    """
    for node in outside_functions(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative imports hide where they lead"
            names = [node.module or ""]
            if node.module == package:  # from rpsr import domains
                names = [f"{package}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == package:
                yield node.lineno, [*name.split("."), "__init__"][1]


def upward(tree: ast.Module, layer: str) -> list[str]:
    return [
        f"line {line} imports {imported}"
        for line, imported in imports(tree)
        if HEIGHT.get(imported, len(LAYERS)) > HEIGHT[layer]
    ]


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_every_module_has_a_layer(path):
    assert layer_of(path) in HEIGHT, "say in tests/test_architecture.py where it belongs"


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_imports_never_go_up(path):
    assert upward(parse(path), layer_of(path)) == []


VERIFIER = sorted((SOURCE / "certificates").glob("*.py"))
OF_THE_VERIFIER = {"certificates", "errors", "io", "models", "printable"}


@pytest.mark.parametrize("path", VERIFIER, ids=label)
def test_the_verifier_knows_nothing_of_planners_and_ranks(path):
    """Imports inside functions count, too: nothing that makes a certificate helps to check it."""
    named = [
        name
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
        )
    ]
    own = [[*name.split("."), ""][1] for name in named if name.split(".")[0] == "rpsr"]
    assert set(own) <= OF_THE_VERIFIER
    assert not {"numpy", "scipy", "numba"} & {name.split(".")[0] for name in named}


def test_a_run_of_the_verifier_loads_no_planner_and_no_search_for_ranks(tmp_path):
    """What it imports may import in turn: so look at all that is loaded once certificates pass."""
    plan = solve(build("tiger"), "sarsop", epsilon=1)
    certify(plan).save(tmp_path / "bounds.json")
    certify_controller(extract_controller(plan), build("tiger")).save(tmp_path / "value.json")
    save_rank_certificate(build("tiger"), tmp_path / "ranks.json")
    program = (
        "import sys\n"
        "from rpsr.cli.app import main\n"
        "for name in ('bounds', 'value', 'ranks'):\n"
        "    main(['verify', 'tiger', f'{name}.json'])\n"
        "print('loaded', *sys.modules)"
    )
    text = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert text.count("verified") == 3
    loaded = text.splitlines()[-1].split()
    assert "rpsr.certificates.verifier" in loaded
    of_searches = {"rpsr.planning", "rpsr.predictive", "rpsr.evaluation", "rpsr.learning"}
    assert not of_searches & {".".join(name.split(".")[:2]) for name in loaded}
    assert "numba" not in loaded


def subpackage_of(package: str, name: str) -> str:
    """The subpackage that a dotted name below it leads to, or "" for its own files."""
    first = name.split(".")[0]
    return first if first in SUBPACKAGES[package] else ""


@pytest.mark.parametrize("path", IN_SUBPACKAGES, ids=label)
def test_subpackages_import_from_those_named_only(path):
    package, *below = path.relative_to(SOURCE).with_suffix("").parts
    if below[-1] == "__init__":  # `__init__` may import from all of them
        return
    own = subpackage_of(package, ".".join(below)) if len(below) > 1 else ""
    imported = [
        node.module.removeprefix(f"rpsr.{package}.")
        for node in outside_functions(parse(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"rpsr.{package}.")
    ]
    allowed = SUBPACKAGES[package][own] | {own}
    assert [name for name in imported if subpackage_of(package, name) not in allowed] == []


@pytest.mark.parametrize(
    ("layer", "line", "goes_up"),
    [
        ("models", "from rpsr.io.records import Rows", False),
        ("models", "from rpsr.models.labels import Label", False),
        ("models", "from rpsr import errors", False),
        ("models", "from rpsr.planning import solve", True),
        ("models", "import rpsr.domains.rules", True),
        ("models", "try:\n    import rpsr.domains\nexcept ImportError:\n    pass", True),
        ("models", "class C:\n    from rpsr.cli import app", True),
        ("models", "def f():\n    from rpsr.predictive import psr", False),
        ("models", "if TYPE_CHECKING:\n    from rpsr.sources import load", True),
        ("io", "from rpsr import POMDP", True),
        ("io", "import rpsr", True),
        ("cli", "from rpsr.report.html import page", False),
        ("testing", "from rpsr.planning import solve", False),
        ("testing", "from rpsr.learning import fit", False),
        ("testing", "from rpsr.report import page", True),
        ("learning", "from rpsr.envs import make", True),
        ("envs", "from rpsr.learning import fit", False),
    ],
)
def test_the_walk_finds_what_goes_up(layer, line, goes_up):
    assert bool(upward(ast.parse(line), layer)) is goes_up


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_kernels_are_compiled_with_a_cache_that_has_a_place(path):
    """Numba's own `njit` refuses to define a kernel where no cache folder can be written."""
    numba = [
        alias.name
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ImportFrom) and node.module == "numba"
        for alias in node.names
    ]
    assert numba == []


# ---- documentation


def undocumented(tree: ast.Module) -> Iterator[str]:
    """Public functions and classes, and the public methods of those, that say nothing."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if node.name.startswith("_"):
            continue
        if not ast.get_docstring(node):
            yield node.name
        for member in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                silent = not ast.get_docstring(member) and not member.name.startswith("_")
                if silent:
                    yield f"{node.name}.{member.name}"


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_every_module_and_public_name_has_a_docstring(path):
    tree = parse(path)
    assert ast.get_docstring(tree), "the module has no docstring"
    assert list(undocumented(tree)) == []


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_no_module_is_long(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


# ---- arguments

MOST_ARGUMENTS = 8


def crowded(text: str) -> list[str]:
    """Functions of more than eight arguments that no comment on or above their first line explains.

    All but `self` count, keyword-only ones too: what a caller must know is as much, whether or not
    names are spelled out. Fields of dataclasses and named tuples are no function's arguments: they
    are how a long list is grouped.
    """
    lines, names = text.splitlines(), list[str]()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if len([one for one in given if one.arg not in ("self", "cls")]) <= MOST_ARGUMENTS:
            continue
        first = min([node.lineno, *(line.lineno for line in node.decorator_list)]) - 1
        said = [lines[node.lineno - 1].partition("#")[2]]
        while first > 0 and lines[first - 1].lstrip().startswith("#"):
            first -= 1
            said.append(lines[first])
        if not any("arguments" in comment for comment in said):
            names.append(node.name)
    return names


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_many_arguments_are_grouped_or_explained(path):
    assert crowded(path.read_text(encoding="utf-8")) == []


EIGHT = "a, b, c, d, e, f, g, h"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"def fine({EIGHT}): ...", []),
        (f"class C:\n    def fine(self, {EIGHT}): ...", []),
        (f"def many({EIGHT}, i): ...", ["many"]),
        (f"def many({EIGHT}, *, i): ...", ["many"]),
        (f"def many({EIGHT}, i):  # its arguments are ...\n    ...", []),
        (f"# Its arguments are\n# too many because ...\n@njit\ndef many({EIGHT}, i): ...", []),
        (f"# Its arguments are ...\n\ndef many({EIGHT}, i): ...", ["many"]),
        (f"# Some words.\ndef many({EIGHT}, i): ...", ["many"]),
    ],
)
def test_the_count_finds_what_is_crowded(text, names):
    assert crowded(text) == names


def shadowed(package: Path) -> list[str]:
    """The modules of a package that a name imported in its `__init__` hides."""
    known = {path.stem for path in package.iterdir() if path.suffix == ".py" or path.is_dir()}
    return [
        name.name
        for node in parse(package / "__init__.py").body
        if isinstance(node, ast.ImportFrom) and node.module != f"rpsr.{package.name}"
        for name in node.names
        if (name.asname or name.name) in known
    ]


@pytest.mark.parametrize(
    "package", [path.parent for path in MODULES if path.name == "__init__.py"], ids=label
)
def test_no_function_hides_its_module(package):
    assert shadowed(package) == []


@pytest.mark.parametrize(
    "path", sorted((SOURCE.parents[1] / "benchmarks").glob("*.py")), ids=lambda path: path.name
)
def test_a_benchmark_imports_what_there_is(path):
    imported = [
        (node.module, name.name)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rpsr"
        for name in node.names
    ]
    for module, name in imported:
        assert hasattr(import_module(module), name) or find_spec(f"{module}.{name}")


def test_the_places_to_open_first_exist():
    text = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.split("## What to open first")[1].split("\n## ")[0]
    named = re.findall(r"`([\w/]+\.py)`(?: \(`(\w+)`\))?", section)
    assert len(named) > 10
    for file, function in named:
        defined = {node.name for node in ast.walk(parse(SOURCE / file)) if hasattr(node, "name")}
        assert not function or function in defined, (file, function)
