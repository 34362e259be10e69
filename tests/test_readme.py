"""The README's examples run as they stand, and its table is what the command prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from rpsr.cli.app import main

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
# Network, shell set-up, and what tests/reproduce runs.
NOT_HERE = ("make", "rpsr domains fetch", "rpsr --install-completion", "rpsr reproduce")
FILES = {  # names standing for the reader's
    "my-problem.pomdp": "tiger",
    "my-problem.pomdpx": "tiger",
    "folder-of-files": "paint",
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


STORY = next(block for block in blocks("console") if "rpsr learn log.jsonl" in block)


def commands() -> list[str]:
    """The commands that stand for themselves."""
    lines = [line for b in blocks("console") if b != STORY for line in b.splitlines()]
    found = [line[2:].split("  #")[0].strip() for line in lines if line.startswith("$ ")]
    return [c for c in found if not c.startswith(NOT_HERE)]


def test_the_python_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    examples, namespace = blocks("python"), dict[str, object]()
    for example in examples:
        exec(compile(example, "README.md", "exec"), namespace)
        assert len(example.strip().splitlines()) <= 12
    printed = capsys.readouterr().out
    assert "no test distinguishes states" in printed
    assert "solved: the value is proven" in printed


@pytest.mark.parametrize("command", commands())
def test_the_shell_examples_run(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, domain in FILES.items():
        target = Path(name) if "." in name else Path(name) / "a.pomdp"
        target.parent.mkdir(exist_ok=True)
        assert main(["convert", domain, str(target)]) == 0
    if "logs.jsonl" in command:
        small = ("--episodes", "60", "--steps", "20")
        assert main(["simulate", "loadunload", "-o", "logs.jsonl", *small]) == 0
    if "verify" in command:
        assert main(["core", "tiger", "--certificate", "tiger.json"]) == 0
    capsys.readouterr()
    first, *piped = (shlex.split(part)[1:] for part in command.split("|"))
    assert main(first) == 0
    out = capsys.readouterr().out
    for words in piped:
        Path("piped.pomdp").write_text(out)
        assert (
            main([word.replace("-", "piped.pomdp") if word == "-" else word for word in words]) == 0
        )
        out = capsys.readouterr().out
    written = ("tiger.pomdp", "logs.csv", "episodes.jsonl", "page.html")
    assert out or any(Path(name).exists() for name in written)


def alike(shown: str, printed: str) -> bool:
    """The same words, and numbers that differ by the rounding of another processor at most."""
    pairs = list(zip(shown.split(), printed.split(), strict=False))
    return len(shown.split()) == len(printed.split()) and all(
        a == b or (_number(a) is not None and _number(a) == pytest.approx(_number(b), rel=0.02))
        for a, b in pairs
    )


def _number(word: str) -> float | None:
    try:
        return float(word.strip("();:"))
    except ValueError:
        return None


def test_the_story_from_logs_is_what_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    printed = ""
    for line in STORY.splitlines():
        if line.startswith("$ "):
            command, _, remark = line[2:].partition("  #")
            assert main(shlex.split(command)[1:]) == 0
            printed = capsys.readouterr().out
            value = re.match(r" (\d+\.\d+)", remark)
            if value:  # what the true system pays
                mean = next(row.split()[2] for row in printed.splitlines() if " pomdp " in row)
                assert float(mean) == pytest.approx(float(value[1]), abs=0.005)
        elif line != "...":
            assert any(alike(line, row) for row in printed.splitlines()), line


def test_the_table_is_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # a narrow terminal would fold it
    shown = next(block for block in blocks("console") if "rpsr accuracy 4x3" in block)
    command, *lines = shown.splitlines()
    assert main(shlex.split(command)[2:]) == 0
    printed = capsys.readouterr().out.splitlines()
    for line in lines[2:]:
        cells = line.split()
        assert any(row.split()[: len(cells)] == cells for row in printed), line
