"""The examples of the documentation's pages run, and print what the pages say they print."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [
    "explanation/errata.md",
    "explanation/planning.md",
    "explanation/predictive-states.md",
    "howto/choosing-a-planner.md",
    "howto/extending.md",
    "howto/is-a-psr-enough.md",
    "howto/reading-the-report.md",
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
