"""What a shell offers when the user presses the tab key."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rpsr.cli.app import app


def offered(say, *words):
    """What the program tells a shell's script about the last word."""
    code, out, _ = say("__complete", *words)
    assert code == 0
    return [line.partition("\t")[0] for line in out.splitlines() if line[:1] not in ("", "\x1f")]


@pytest.fixture
def _files():
    for name in ("tigers.pomdp", "b c.jsonl", ".hidden"):
        Path(name).touch()
    Path("logs").mkdir()
    Path("logs/monday.csv").touch()


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("verb", ["info", "solve", "accuracy", "convert", "report", "core"])
def test_sources_are_files_and_domains(say, verb):
    assert offered(say, verb, "tig") == ["tigers.pomdp", "tiger", "tiger-grid"]
    everything = offered(say, verb, "")
    assert {"b c.jsonl", "logs/", "tigers.pomdp", "loadunload", "rock-sample"} <= set(everything)
    assert ".hidden" not in everything
    assert offered(say, verb, ".h") == [".hidden"]
    assert offered(say, verb, "logs/") == ["logs/monday.csv"]
    assert offered(say, verb, "no/such/") == []


@pytest.mark.usefixtures("_files")
def test_other_arguments_are_files_or_domains(say):
    assert offered(say, "learn", "logs/m") == ["logs/monday.csv"]
    assert offered(say, "learn", "logs", "b") == ["b c.jsonl"]
    assert offered(say, "convert", "tiger", "tig") == ["tigers.pomdp"]
    assert offered(say, "evaluate", "tiger", "--policy", "tig") == ["tigers.pomdp"]
    assert offered(say, "solve", "tiger", "-o", "log") == ["logs/"]
    assert offered(say, "domains", "export", "tig") == ["tiger", "tiger-grid"]


@pytest.mark.usefixtures("_files")
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_a_word(tmp_path):
    program = tmp_path / "bin" / "rpsr"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rpsr.cli.app "$@"\n')
    program.chmod(0o755)
    (tmp_path / "script").write_text(app.generate_completion(shell="bash"))
    lines = [
        "source ./script",
        'COMP_WORDS=(rpsr info tig); COMP_CWORD=2; COMP_LINE="rpsr info tig"; COMP_POINT=13',
        "function=$(complete -p rpsr | sed 's/.*-F \\([^ ]*\\).*/\\1/')",
        '$function rpsr tig info; printf "%s\\n" "${COMPREPLY[@]}"',
    ]
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(lines)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["tigers.pomdp", "tiger", "tiger-grid"], done.stderr
