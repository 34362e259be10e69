"""The command as a process: streams, pipes, signals, imports."""

import json
import os
import subprocess
import sys

import pytest

from rpsr import __version__
from rpsr.cli.app import app
from rpsr.domains import build
from rpsr.io.pomdp.writer import format_pomdp

TIGER = format_pomdp(build("tiger").record)


def python(*words, **options):
    """Run Python with words."""
    given = {"capture_output": True, "text": True, "check": False, "timeout": 60}
    return subprocess.run([sys.executable, *words], **given | options)


def rpsr(*words, **options):
    """Run `python -m rpsr` with words."""
    return python("-m", "rpsr", *words, **options)


HEAVY = "numba", "scipy", "matplotlib", "numpy"


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["info", "--help"], []])
def test_help_waits_for_no_numerical_library(words):
    program = (
        "import sys; from rpsr.cli.app import main\n"
        f"assert main({words!r}) == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = python("-c", program)
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"
    assert done.stdout


def test_version():
    assert rpsr("--version").stdout.strip() == __version__


def test_standard_input_and_output():
    done = rpsr("convert", "-", "-", input=TIGER)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == TIGER
    facts = json.loads(rpsr("info", "-", "--json", input=TIGER).stdout)
    assert (facts["source"], facts["states"]) == ("-", 2)


def test_an_error_goes_to_standard_error_only():
    done = rpsr("info", "-", "--json", input="nonsense")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("rpsr: <stdin>:1:1: ")
    assert done.stderr.count("\n") == 1


def test_debug_shows_the_traceback():
    done = rpsr("info", "tigre", "--debug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "InputError" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX pipes")
@pytest.mark.parametrize(
    "words",
    [["convert", "hallway2", "-"], ["info", "tiger", "--json"], ["info", "tiger"], ["--help"]],
)
def test_a_reader_that_goes_away_is_no_error(words):
    process = subprocess.Popen(
        [sys.executable, "-m", "rpsr", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX signals")
def test_an_interrupt_ends_quietly():
    program = (
        "import os, signal, sys, rpsr.sources; from rpsr.cli.app import main\n"
        "rpsr.sources.load = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(main(['info', 'tiger']))\n"
    )
    done = python("-c", program)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "rpsr: interrupted\n")


@pytest.mark.parametrize("words", [["info", "tiger"], ["domains", "list"], ["--help"]])
def test_a_terminal_without_unicode_is_no_error(words):
    done = rpsr(*words, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.isascii()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_generated(shell):
    script = app.generate_completion(shell=shell)
    for word in ("info", "convert", "domains"):
        assert word in script
