"""Shared fixtures: the third-party corpus, found through RPSR_CORPUS."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "rpsr", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("rpsr")

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
