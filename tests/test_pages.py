"""The examples of the documentation's pages run, and print what the pages say they print."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import rpsr
from rpsr.cli.app import main

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [
    "explanation/errata.md",
    "explanation/planning.md",
    "explanation/predictive-states.md",
    "howto/choosing-a-planner.md",
    "howto/environments.md",
    "howto/extending.md",
    "howto/from-csv-to-policy.md",
    "howto/is-a-psr-enough.md",
    "howto/reading-the-report.md",
    "howto/record-an-environment.md",
    "howto/sarsop.md",
    "howto/solve-a-file.md",
    "howto/your-own-arrays.md",
    "howto/your-own-policy.md",
    "reference/gallery.md",
    "tutorials/learning.md",
    "tutorials/load-unload.md",
    "explanation/learning.md",
    "howto/your-own-logs.md",
]
BLOCK = re.compile(r"^```(python)\n(.*?)^```\n(?:```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


def plain(text: str) -> str:
    """A text without what depends on the machine's rounding: signs of zeros, and columns."""
    return " ".join(re.sub(r"-(0\.0*)(?=[\s\],)]|$)", r"\1", text).split())


@pytest.mark.parametrize("page", PAGES)
def test_examples_print_what_the_page_says(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    found = BLOCK.findall(text)
    assert found, "the page has examples"
    for _, code, expected in found:
        exec(compile(code, page, "exec"), namespace)
        printed = capsys.readouterr().out
        if expected:
            assert plain(printed) == plain(expected), code


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
        page.name: "\n".join(code for _, code, _ in BLOCK.findall(page.read_text(encoding="utf-8")))
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
    shown = set(re.findall(r"automodule:: (\S+)", text))
    packages = [name for name in rpsr.__all__ if isinstance(getattr(rpsr, name), ModuleType)]
    assert {f"rpsr.{name}" for name in packages} <= shown
    named = set(re.findall(r"`(\w+)`", text.split("```{eval-rst}", 1)[0]))
    assert set(rpsr.__all__) <= named
    for name in shown - {"rpsr.errors"}:
        assert importlib.import_module(name).__all__  # a list of names, not all that is imported
