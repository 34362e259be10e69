"""What tests of verbs share: a folder of their own, and ways to run a command."""

from __future__ import annotations

import pytest
from tests.cli.saying import said

from rpsr.cli.app import main


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def say(capsys):
    """Run a command; its exit code, standard output and what it said on standard error."""

    def run(*words):
        code = main(list(words))
        out, err = capsys.readouterr()
        return code, out, said(err)

    return run


@pytest.fixture
def succeed(capsys):
    """Run a command that must succeed; its standard output and standard error."""

    def run(*words):
        assert main(list(words)) == 0
        captured = capsys.readouterr()
        return captured._replace(err=said(captured.err))

    return run


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "log.jsonl"
    words = ["simulate", "loadunload", "-o", str(path), "--episodes", "60", "--steps", "15"]
    assert main([*words, "--propensities", "--seed", "2"]) == 0
    return path
