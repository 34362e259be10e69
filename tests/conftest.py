"""Shared fixtures: the third-party corpus, found through RPSR_CORPUS; work for processes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings
from tests import clusters

# `make test` sees the same examples every time. With HYPOTHESIS_PROFILE=random they differ from run
# to run, and a failure prints the line that reproduces it.
COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("rpsr", COMMON, derandomize=True)
settings.register_profile("random", COMMON, max_examples=500, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "rpsr"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs the tests in its background ignores Ctrl-C for them and all they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def corpus_folder() -> Path | None:
    """The corpus's folder, if the environment names one."""
    folder = os.environ.get("RPSR_CORPUS")
    return Path(folder) if folder else None


def corpus_files() -> list[Path]:
    """Every model file of the corpus, in order of name."""
    folder = corpus_folder()
    if folder is None:
        return []
    return sorted(p for p in folder.iterdir() if ".pomdp" in p.name.lower())


@pytest.fixture
def corpus() -> Path:
    """The corpus's folder; the test is skipped by name where there is none."""
    folder = corpus_folder()
    if folder is None:
        pytest.skip("corpus: RPSR_CORPUS is not set")
    return folder


@pytest.fixture
def deeds(tmp_path, monkeypatch):
    """A module that processes can import, which this one is not."""
    (tmp_path / "deeds.py").write_text(clusters.DEEDS)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("deeds", None)
    import deeds

    yield deeds
    sys.modules.pop("deeds", None)


@pytest.fixture
def open_terminal(monkeypatch) -> Callable[[], BytesIO]:
    """Puts a terminal in place of standard output, and returns what that receives.

    A test calls it itself: pytest replaces standard output once more after fixtures are set up.
    """

    def opened() -> BytesIO:
        shown = BytesIO()
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=shown, isatty=lambda: True))
        return shown

    return opened
