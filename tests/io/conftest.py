"""What tests of downloading share: a server on this machine, and `fetch` from it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.io.classics.mirror import TABLE, Server

import rpsr.io.classics.fetch as module
from rpsr.io.classics.fetch import fetch


@pytest.fixture
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No proxy, mirror or cache of whoever runs the tests; the public server is never asked."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("RPSR_MIRROR", raising=False)
    monkeypatch.setenv("RPSR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "PUBLIC", "http://127.0.0.1:1/")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def get(server: Server, tmp_path: Path) -> Callable[..., list[Path]]:
    """`fetch` from the loopback server into a folder of the test."""

    def call(*names: str, **options: object) -> list[Path]:
        given = {"mirror": server.address, "folder": tmp_path / "in", "table": TABLE, **options}
        return fetch(names or None, **given)  # pyright: ignore[reportArgumentType]

    return call


@pytest.fixture
def no_storm(monkeypatch: pytest.MonkeyPatch) -> None:
    """`import stormpy` fails, whether or not it is installed."""
    monkeypatch.setitem(sys.modules, "stormpy", None)
