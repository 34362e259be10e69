"""A limit on time ends every phase of `accuracy` and `find_core`, and changes no answer.

The clock of these tests advances by a second whenever it is read.
"""

from __future__ import annotations

import re
from itertools import count

import numpy as np
import pytest

from rpsr import accuracy, deadline, find_core, load
from rpsr.errors import InputError, TimeLimitReached
from rpsr.predictive.rank import search
from rpsr.predictive.survey import Options, survey, survey_row

PHASES = {
    "merging indistinguishable states",
    "searching for core tests",
    "searching for core intents",
    "certifying the rank",
    "finding a basis of the span of tests and intents",
    "measuring the margin",
    "measuring the errors of rewards",
    "finding the states reachable from the start",
}
IN_FLOATS = PHASES - {
    "searching for core tests",
    "searching for core intents",
    "certifying the rank",
    "measuring the margin",
}


@pytest.fixture
def clock(monkeypatch):
    """Restarts the clock; the list that it returns fills with the phase of each look."""

    def restart() -> list[str]:
        looks: list[str] = []
        ticks = count()

        def now() -> float:
            current = deadline._current.get()
            if current is not None:
                looks.append(current.phase)
            return float(next(ticks))

        monkeypatch.setattr(deadline, "now", now)
        return looks

    return restart


def phase_of(error: TimeLimitReached, seconds: float) -> str:
    match = re.fullmatch(
        f"the time limit of {re.escape(f'{seconds:g}')} seconds was reached while (.*)", str(error)
    )
    assert match is not None, str(error)
    return match[1]


def stops(work, restart):
    """The phases in which limits end `work`, and its answer under one that it just keeps.

    The limits are such that each phase ends at its first and at its last look at the clock.
    """
    looks = restart()
    work(1e6)
    last = {phase: number for number, phase in enumerate(looks)}
    first = {phase: looks.index(phase) for phase in last}
    phases: list[str] = []
    for number in {*first.values(), *last.values()}:
        restart()
        with pytest.raises(TimeLimitReached) as caught:
            work(number + 0.5)
        phases.append(phase_of(caught.value, number + 0.5))
        assert phases[-1] == looks[number]
    restart()
    return phases, work(len(looks) + 0.5)


@pytest.mark.parametrize(
    ("name", "exact", "expected"),
    [
        ("paint", True, PHASES),  # blocks of states, a basis from rationals
        ("loadunload:cells=3", True, PHASES),
        ("paint", False, IN_FLOATS),
    ],
)
def test_every_phase_of_accuracy_looks_at_the_clock(clock, name, exact, expected):
    pomdp = load(name)
    whole = accuracy(pomdp, exact=exact)
    phases, limited = stops(lambda s: accuracy(pomdp, exact=exact, time_limit=s), clock)
    assert set(phases) == expected
    assert limited.psr.members == whole.psr.members
    assert limited.rpsr.members == whole.rpsr.members
    assert limited.d_inf == whole.d_inf
    assert limited.d_inf_reachable == whole.d_inf_reachable
    assert limited.merges == whole.merges


@pytest.mark.parametrize("order", ["bfs", "dfs"])
@pytest.mark.parametrize("exact", [True, False])
def test_every_phase_of_a_core_search_looks_at_the_clock(clock, order, exact):
    pomdp = load("loadunload:cells=3")
    whole = find_core(pomdp, "rpsr", search=order, exact=exact)
    phases, limited = stops(
        lambda s: find_core(pomdp, "rpsr", search=order, exact=exact, time_limit=s), clock
    )
    assert "searching for core intents" in phases
    assert limited.members == whole.members
    assert np.array_equal(limited.basis, whole.basis)


def test_work_that_cannot_be_cut_is_not_begun_if_it_cannot_end(clock, monkeypatch):
    monkeypatch.setattr(deadline, "OPERATIONS_PER_SECOND", 1e-9)
    clock()
    with pytest.raises(TimeLimitReached, match=r"of 500 seconds would be exceeded while finding a"):
        find_core(load("paint"), "psr", exact=False, time_limit=500)


def test_a_limit_ends_with_the_call_that_set_it(clock):
    clock()
    with pytest.raises(TimeLimitReached):
        accuracy(load("paint"), time_limit=0.5)
    assert accuracy(load("paint")).psr.rank == 2


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_limit_is_a_finite_number_of_seconds(seconds):
    with pytest.raises(InputError, match=r"time limit: read .*, expected a finite number of"):
        accuracy(load("tiger"), time_limit=seconds)


@pytest.mark.parametrize("entries", [1, 7, 2**19])
@pytest.mark.parametrize("order", ["bfs", "dfs"])
@pytest.mark.parametrize("piece", [1, 2**26])
def test_no_answer_depends_on_how_work_is_cut(monkeypatch, order, entries, piece):
    pomdp = load("loadunload:cells=4")
    expected = find_core(pomdp, "rpsr", search=order)
    monkeypatch.setattr(search, "_BLOCK_ENTRIES", entries)
    monkeypatch.setattr(deadline, "PIECE", piece)
    core = find_core(pomdp, "rpsr", search=order)
    assert core.members == expected.members
    assert core.margin == expected.margin


# ---- many sources


def test_a_row_says_that_the_limit_was_reached_and_what_is_known(clock):
    clock()
    row = survey_row("paint", Options(time_limit=3.5))
    assert (row["states"], row["actions"], row["observations"]) == (4, 4, 2)
    assert row["limit"] == "time"
    assert row["error"] is not None
    assert row["error"].startswith("the time limit of 3.5 seconds was reached while ")
    assert row["psr_rank"] is row["accurate"] is row["d_inf"] is row["margin"] is None


def test_each_source_has_its_own_time_limit_and_the_others_continue(clock):
    needed = clock()
    survey_row("tiger", Options(time_limit=1e6))
    options = Options(time_limit=len(needed) + 0.5)
    rows = list(survey(["paint", "tiger", "nowhere"], options))
    assert [row["limit"] for row in rows] == ["time", None, None]
    assert [row["error"] is None for row in rows] == [False, True, False]


def test_a_row_that_was_found_in_time_is_not_found_again_under_another_limit(clock, tmp_path):
    record = tmp_path / "rows.jsonl"
    clock()
    (stopped,) = survey(["tiger"], Options(time_limit=0.5), record=record)
    (row,) = survey(["tiger"], Options(), record=record)
    (kept,) = survey(["tiger"], Options(time_limit=0.5), record=record)
    assert stopped["limit"] == "time"
    assert row == kept
    assert kept["error"] is None
