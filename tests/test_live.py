"""The line of long work, in a notebook (a stand-in for IPython), on a terminal and elsewhere."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import rpsr
from rpsr.domains import build
from rpsr.learning import learn
from rpsr.live import live_line
from rpsr.planning import ProgressRow, Solution

TIGER = build("tiger")


class Notebook:
    """What IPython gives to a notebook: `display`, with outputs that can be updated."""

    def __init__(self, kernel: object) -> None:
        self.shown: list[str] = []
        self.shell = SimpleNamespace(kernel=kernel)

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> Notebook:
        assert raw
        assert display_id
        self.shown.append(bundle["text/plain"])
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(bundle["text/plain"])


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Notebook:
    made = Notebook(getattr(request, "param", object()))
    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = lambda: made.shell  # type: ignore[attr-defined]
    module.display = made.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return made


def test_a_notebooks_line_is_updated_not_too_often_and_keeps_its_last_words(notebook: Notebook):
    times = iter([0.0, 0.1, 0.5, 0.5, 0.6])
    with live_line("planning", clock=lambda: next(times)) as say:
        assert say is not None
        for word in ("too soon", "second\x1b[31m", "last"):
            say(word)
    assert notebook.shown == ["planning", "planning: second\\u001b[31m", "planning: last"]


def test_a_notebooks_line_stays_after_an_error(notebook: Notebook):
    def fail() -> None:
        with live_line("planning", clock=lambda: 0.0) as say:
            assert say is not None
            say("the first half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert notebook.shown[-1] == "planning: the first half"


@pytest.mark.parametrize("notebook", [None], indirect=True)
def test_a_session_without_a_kernel_is_no_notebook(notebook: Notebook):
    with live_line("planning") as say:
        assert say is None
    assert notebook.shown == []


def test_a_terminal_has_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with live_line("planning") as say:
        assert say is not None
        say("soon done")
    out, err = capsys.readouterr()
    assert out == ""
    assert "planning: soon done" in err


def test_solve_and_learn_show_their_progress_if_asked(notebook: Notebook):
    plan = rpsr.solve(TIGER, "vi", progress=True)
    assert isinstance(plan, Solution)
    assert notebook.shown[0] == "planning on tiger"
    assert notebook.shown[-1] == f"planning on tiger: {plan.trace[-1]}"
    log = rpsr.simulate(TIGER, "uniform", episodes=60, steps=5, seed=0, rewards=True)
    del notebook.shown[:]
    learn("last-k", log, discount=0.9, progress=True)
    assert notebook.shown[0] == "learning"


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_shown_unasked(notebook: Notebook, progress: Any):
    rpsr.solve(TIGER, "vi", progress=progress)
    assert notebook.shown == []


def test_a_row_of_progress_is_a_line():
    row = ProgressRow(1.25, 3, lower=1.0, upper=2.5, gap=1.5)
    assert str(row) == "1.2 s, iteration 3, lower 1, upper 2.5, gap 1.5"
    assert str(ProgressRow(0.5, 1)) == "0.5 s, iteration 1"
