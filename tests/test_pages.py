"""The pages of the documentation, followed from an empty folder: commands, Python and notebooks."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import shlex
import subprocess
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import rpsr
from rpsr.cli.app import app, main
from rpsr.planning.planners import PLANNER_NAMES

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [
    "../README.md",
    "explanation/errata.md",
    "explanation/learning.md",
    "explanation/planning.md",
    "explanation/predictive-states.md",
    "howto/add-a-domain.md",
    "howto/add-a-planner.md",
    "howto/add-an-environment.md",
    "howto/add-an-estimator.md",
    "howto/choosing-a-planner.md",
    "howto/environments.md",
    "howto/from-csv-to-policy.md",
    "howto/goals.md",
    "howto/is-a-psr-enough.md",
    "howto/plan-online.md",
    "howto/reading-the-report.md",
    "howto/record-an-environment.md",
    "howto/sarsop.md",
    "howto/solve-a-file.md",
    "howto/your-own-arrays.md",
    "howto/your-own-file.md",
    "howto/your-own-logs.md",
    "howto/your-own-policy.md",
    "start/install.md",
    "start/logs.md",
    "start/paper.md",
    "start/pomdp-file.md",
]
NOTEBOOKS = [
    "explanation/what-is-an-r-psr.md",
    "reference/gallery.md",
    "tutorials/learning.md",
    "tutorials/load-unload.md",
]
# Programs of others, a network, set-up, and what tests/reproduce runs and compares.
NOT_HERE = ("pip", "make", "pomdp", "rpsr domains fetch", "rpsr --", "rpsr reproduce")
NEEDS_OTHERS = ("my-problem.pomdpx", "theirs.policy", "plan.alpha plan.policy", ".prism")
BLOCK = re.compile(
    r"^```(python|console)\n(.*?)^```$(?:\n```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE
)
# What a cell says of itself (lines of `:key: value`, or YAML between dashes), and its code.
CELL = re.compile(
    r"^```{code-cell} ipython3\n(---\n.*?^---\n|(?::[^\n]*\n)*)(.*?)^```$", re.DOTALL | re.MULTILINE
)
DRAWS = re.compile(r"^(report\.)?plot_", re.MULTILINE)


def plain(text: str) -> str:
    """A text without what depends on the machine's rounding: signs of zeros, and columns."""
    return " ".join(re.sub(r"-(0\.0*)(?=[\s\],)]|$)", r"\1", text).split())


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_followed_from_an_empty_folder(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")  # a narrow terminal would fold tables
    namespace: dict[str, Any] = {}
    blocks = BLOCK.findall(text)
    assert blocks, "the page has examples"
    for kind, code, expected in blocks:
        if kind == "console":
            follow(code, capsys)
            continue
        exec(compile(code, page, "exec"), namespace)
        printed = capsys.readouterr().out
        if expected:
            assert plain(printed) == plain(expected), code


def follow(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the commands of a block; lines below a command are lines that it prints.

    A number in a remark is the mean return by true rewards. `...` stands for other lines.
    """
    printed: str | None = None
    for line in block.replace("\\\n", "").splitlines():
        if not line.startswith("$ "):
            assert (
                printed is None
                or line == "..."
                or any(alike(line, row) for row in printed.splitlines())
            ), line
            continue
        command, _, remark = line[2:].partition("  #")
        if command.startswith(NOT_HERE) or any(name in command for name in NEEDS_OTHERS):
            printed = None
            continue
        if not command.startswith("rpsr "):
            subprocess.run(command, shell=True, check=True)
            continue
        words, _, target = command.partition(" > ")
        assert main(shlex.split(words)[1:]) == 0, command
        printed = capsys.readouterr().out
        if target:
            Path(target).write_text(printed, encoding="utf-8")
        value = re.match(r" (\d+\.\d+)", remark)
        if value:
            mean = next(row.split()[2] for row in printed.splitlines() if " pomdp " in row)
            assert float(mean) == pytest.approx(float(value[1]), abs=0.005)


def alike(shown: str, printed: str) -> bool:
    """The same words, and numbers that differ by the rounding of another processor at most.

    That may change the last digit shown by one. Whole numbers are counts, and are equal.
    """
    words = shown.split(), printed.split()
    return len(words[0]) == len(words[1]) and all(
        a == b or _differ_by_rounding(_decimal(a), _decimal(b)) for a, b in zip(*words, strict=True)
    )


def _differ_by_rounding(shown: Decimal | None, printed: Decimal | None) -> bool:
    if shown is None or printed is None:
        return False
    exponent = shown.as_tuple().exponent
    return (
        isinstance(exponent, int)
        and exponent < 0
        and abs(shown - printed) <= Decimal(10) ** exponent
    )


def _decimal(word: str) -> Decimal | None:
    try:
        number = Decimal(word.strip("();:"))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("value 19.3711", "value 19.3712", True),
        ("value 19.3711", "value 19.3713", False),
        ("value 19.37", "value 19.3722", True),
        ("1e-05 (0.5)", "1e-05 (0.6)", True),
        ("2.5e-05", "2.7e-05", False),
        ("26 vectors", "27 vectors", False),
        ("status solved", "status limit", False),
        ("1.0", "1.0 2.0", False),
    ],
)
def test_numbers_are_alike_up_to_rounding(shown: str, printed: str, expected: bool) -> None:
    assert alike(shown, printed) is expected


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_a_notebook_runs(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Cell by cell; cells that a page hides assert the numbers in its sentences."""
    text = (DOCS / page).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    cells = [cell for cell in CELL.findall(text) if not cell[1].lstrip().startswith("%")]
    assert len(cells) > 5
    for options, cell in cells:
        exec(compile(cell, page, "exec"), namespace)
        assert bool(DRAWS.search(cell)) == ("alt: " in options), cell  # a picture has its text
    assert "```python" not in text  # which would not run


def test_every_page_with_examples_is_followed() -> None:
    named = {(DOCS / page).resolve() for page in [*PAGES, *NOTEBOOKS]}
    left = {
        page.relative_to(DOCS).as_posix()
        for page in DOCS.rglob("*.md")
        if page.resolve() not in named and BLOCK.search(page.read_text(encoding="utf-8"))
    }
    # Several machines; a network; the installation.
    assert left == {"howto/many-machines.md", "howto/classic-repository.md", "index.md"}


def test_every_command_has_an_example_that_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    commands = importlib.import_module("commands")
    nested = {"domains list", "domains export", "domains fetch"}
    verbs = {name for name in app if not name.startswith("-")} - {"domains"} | nested
    assert set(commands.EXAMPLES) == verbs
    monkeypatch.chdir(tmp_path)
    for verb, example in commands.EXAMPLES.items():
        assert example.startswith(f"rpsr {verb}")
        assert f"Usage: rpsr {verb}" in commands.help_of(verb)
        follow(f"$ {example}", capsys)


@pytest.mark.parametrize("page", ["explanation/paper-map.md", "explanation/errata.md"])
def test_tests_that_a_page_names_exist(page: str) -> None:
    tests = "".join(
        path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("*.py")
    )
    named = re.findall(r"`(test_[a-z0-9_.]+)`", (DOCS / page).read_text(encoding="utf-8"))
    assert len(named) > 5
    for name in named:
        start = f"def {name.removesuffix('...')}"
        assert start in tests if name.endswith("...") else f"{start}(" in tests, name


@pytest.mark.parametrize("page", ["explanation/paper-map.md", "explanation/errata.md"])
def test_files_that_a_page_names_exist(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for name in re.findall(r"`(?:tests/)?([a-z_/]+/test_[a-z_]+\.py)`", text):
        assert (Path(__file__).parent / name).exists(), name


def test_every_term_that_a_page_links_is_in_the_glossary() -> None:
    glossary = (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8")
    defined = {
        line
        for block in re.findall(r"```{glossary}\n(.*?)```", glossary, re.DOTALL)
        for line in block.splitlines()
        if line and not line.startswith(" ")
    }
    assert {"intent", "core", "corner", "face", "stand-in", "look-ahead", "caution"} <= defined
    for page in DOCS.rglob("*.md"):
        for shown, target in re.findall(
            r"{term}`([^`<]+?)(?: <([^`>]+)>)?`", page.read_text(encoding="utf-8")
        ):
            assert (target or shown) in defined, f"{page.name}: {target or shown}"


def test_examples_import_public_names_only() -> None:
    """A page, the README or an example imports a name from a package that lists it."""
    root = DOCS.parent
    texts = {
        page.name: "\n".join(
            [code for _, code, _ in BLOCK.findall(page.read_text(encoding="utf-8"))]
            + [code for _, code in CELL.findall(page.read_text(encoding="utf-8"))]
        )
        for page in [root / "README.md", *DOCS.rglob("*.md")]
    }
    texts |= {path.name: path.read_text(encoding="utf-8") for path in root.glob("examples/*.py")}
    imported = [
        (place, module, name)
        for place, text in texts.items()
        for module, names in re.findall(r"^from (rpsr\S*) import ([^(\n]+|\([^)]*\))", text, re.M)
        for name in re.findall(r"(\w+)(?: as \w+)?", names)
    ]
    assert len(imported) > 40
    for place, module, name in imported:
        package = importlib.import_module(module)
        # The errors' module has no list of names, because all of its names are public.
        public = getattr(package, "__all__", vars(package) if module == "rpsr.errors" else ())
        assert name in public, f"{place}: {module}.{name}"


def test_the_columns_of_accuracy_are_explained(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["accuracy", "tiger"]) == 0
    header = capsys.readouterr().out.split("─", 1)[0]
    explained = _explained(DOCS / "howto" / "is-a-psr-enough.md", "## On the command line")
    assert sorted(header.split()) == sorted(" ".join({"domain", *explained}).split())


@pytest.mark.parametrize(
    "words",
    [
        ["info", "tiger"],
        ["info", "model.rpsr"],
        ["core", "tiger", "--matrix"],
        ["accuracy", "tiger"],
        ["solve", "tiger"],
        ["verify", "tiger", "certificate.json"],
        ["evaluate", "tiger", "--episodes", "2", "--steps", "2"],
        ["learn", "log.jsonl", "-o", "out.rpsr", "--discount", "0.9", "--estimator", "last-k"],
    ],
    ids=" ".join,
)
def test_every_json_key_is_explained(
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["convert", "tiger", "model.rpsr", "--model", "rpsr"]) == 0
    assert main(["simulate", "tiger", "-o", "log.jsonl", "--episodes", "20", "--steps", "5"]) == 0
    assert main(["core", "tiger", "--certificate", "certificate.json"]) == 0
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    keys = set(document).union(*document.get("rows", [])) - {"schema", "version", "source", "rows"}
    page = DOCS / "reference" / "command-line.md"
    explained = _explained(page, f"### `{words[0]}`")
    if words[0] == "evaluate":
        explained |= {"name", "discount", "seed"}  # in the sentence above the table
    assert keys <= explained


def _explained(page: Path, heading: str) -> set[str]:
    """The words in the first column of the tables under a heading, up to the next one."""
    text = page.read_text(encoding="utf-8").split(f"{heading}\n", 1)[1].split("\n#", 1)[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    return {word for row in rows for word in re.findall(r"`([^`]+)`", row)}


def test_the_reference_shows_every_public_package() -> None:
    text = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    pages = (DOCS / "reference" / "python").glob("*.md")
    shown = {
        name
        for page in pages
        for name in re.findall(r"automodule:: (\S+)", page.read_text(encoding="utf-8"))
    }
    packages = [name for name in rpsr.__all__ if isinstance(getattr(rpsr, name), ModuleType)]
    assert {f"rpsr.{name}" for name in packages} <= shown
    named = set(re.findall(r"`(\w+)`", text.split("```{eval-rst}", 1)[0]))
    assert set(rpsr.__all__) <= named
    for name in shown - {"rpsr.errors"}:
        assert importlib.import_module(name).__all__  # a list of names, not all that is imported


def test_the_landing_page_has_a_picture_and_three_doors_that_end_in_something_seen() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    (picture,) = re.findall(r"^```{image} (\S+)$", text, re.MULTILINE)
    assert (DOCS / picture).exists()
    doors = re.findall(r'<a href="(\S+)\.html">', text)
    assert len(doors) == 3
    for door in doors:
        assert "## See it" in (DOCS / f"{door}.md").read_text(encoding="utf-8")
    assert text.index(picture) < text.index(doors[0]) < text.index("pip install")


def test_every_table_has_a_header() -> None:
    """Rows after an empty line would be shown as text with bars."""
    for page in [DOCS.parent / "README.md", *DOCS.rglob("*.md")]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            assert re.match(r"\|.*\n\|[-:| ]+\n", table), f"{page.name}: {table[:60]}"


def test_the_reference_describes_the_parameters_of_planners(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    with_fields = importlib.import_module("docstrings").with_fields
    for name in PLANNER_NAMES:
        planner = type(rpsr.planning.planner_by_name(name))
        lines = (inspect.getdoc(planner) or "").splitlines()
        with_fields(None, "class", name, planner, None, lines)
        described = {line.split(":")[1] for line in lines if line.startswith(":param ")}
        assert described == {f"param {key}" for key in inspect.signature(planner).parameters}, name
