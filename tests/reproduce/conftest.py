"""One quick reproduction, made twice with different numbers of processes, for all tests here."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from rpsr.cli.app import main
from rpsr.reproduce.run import Reproduction, Settings, reproduce


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need the reproduction run in one worker, so that only one makes it."""
    for item in items:
        if "_made" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("reproduction"))


@pytest.fixture(scope="session")
def _made(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[Path, Path], str]:
    folders = [tmp_path_factory.mktemp(f"jobs-{jobs}") / "out" for jobs in (1, 2)]
    with redirect_stdout(StringIO()) as shown:
        for jobs, out in enumerate(folders, 1):
            assert main(["reproduce", "--quick", "--out", str(out), "--jobs", str(jobs)]) == 0
    return (folders[0], folders[1]), shown.getvalue()


@pytest.fixture(scope="session")
def folders(_made) -> tuple[Path, Path]:
    """What `rpsr reproduce --quick` writes with one process and with two."""
    return _made[0]


@pytest.fixture(scope="session")
def printed(_made) -> str:
    """What both of them print."""
    return _made[1]


@pytest.fixture(scope="session")
def results(folders: tuple[Path, Path]) -> Reproduction:
    """The results, read back."""
    return reproduce(Settings(quick=True), folders[0])
