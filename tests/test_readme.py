"""The README: its Python example runs as it stands, and it fits on two screens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert len(example.strip().splitlines()) <= 12
    printed = capsys.readouterr().out
    assert "no test distinguishes states" in printed
    assert re.search(r"^solved.* 4\.56\d+ 4\.56\d+$", printed, re.MULTILINE)


def test_it_is_short_and_its_links_lead_somewhere() -> None:
    assert len(README.splitlines()) <= 80
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) > 8
    for link in links:
        assert (Path(__file__).parent.parent / link).exists(), link
