"""One quick reproduction, made twice with different numbers of processes, for all tests here."""

from __future__ import annotations

from pathlib import Path

import pytest

from rpsr.cli.app import main
from rpsr.report.reproduce.run import Reproduction, Settings, reproduce


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """What `rpsr reproduce --quick` writes with one process and with two."""
    made = [tmp_path_factory.mktemp(f"jobs-{jobs}") / "out" for jobs in (1, 2)]
    for jobs, out in enumerate(made, 1):
        assert main(["reproduce", "--quick", "--out", str(out), "--jobs", str(jobs)]) == 0
    return made[0], made[1]


@pytest.fixture(scope="session")
def found(folders: tuple[Path, Path]) -> Reproduction:
    """Its results, read back."""
    return reproduce(Settings(quick=True), folders[0])
