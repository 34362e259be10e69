"""What trials draw, and where they end."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from rpsr import reach
from rpsr.domains import tabulate
from rpsr.planning.anytime import schedule, walks
from rpsr.planning.anytime.belief_graph import COUNTS
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.limits import no_limits

ONE, HALF = Fraction(1), Fraction(1, 2)


def test_drawn_numbers_are_even_and_do_not_repeat():
    counts = np.zeros((), COUNTS)[()]
    numbers = np.array([walks.drawn.py_func(counts) for _ in range(10_000)])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert len(set(numbers.tolist())) == len(numbers)
    # Counts in tenths are within five standard deviations, of 30 each.
    assert np.abs(np.histogram(numbers, 10, (0, 1))[0] - 1000).max() < 150


@pytest.mark.parametrize(
    ("point", "bound", "pad", "counts"),
    [
        (1, 4.0, 0.0, 1),  # a corner
        (1, 4.95, 0.0, 0),  # falls by less than `least`
        (1, 4.95, 1e-9, 1),  # without a discount, any fall counts
        (1, 5.5, 1e-9, 0),  # it does not fall
        (2, 4.0, 0.0, 0),  # not a corner
    ],
)
def test_sums_over_corners_are_out_of_date_after_a_fall(point, bound, pad, counts):
    value = np.full((2, 3, 2), 5.0)
    counted = np.zeros((), COUNTS)[()]
    graph = SimpleNamespace(value=value, of=np.zeros(2), counts=counted)
    walks.fall.py_func(graph, point, 1, bound, SimpleNamespace(least=0.1, pad=pad))
    assert value[0, point, 1] == min(bound, 5.0)
    assert value.sum() == 60 - 5 + min(bound, 5.0)  # the others are as they were
    assert counted["fallen"] == counts


@pytest.mark.parametrize(
    ("below", "above", "ends"),
    [
        (4.0, 5.0, True),  # the gap is as narrow as wanted
        (-3.0, 1.0, True),  # its middle does not raise the lower bound, nor does the top matter
        (1.0, 5.5, False),  # its middle raises the lower bound
        (-9.0, 9.0, False),  # its top matters
        (-9.0, 6.0, True),  # its top is as low as it should become
    ],
)
def test_a_selective_trial_ends_where_a_node_will_not_change_the_start(
    monkeypatch, below, above, ends
):
    monkeypatch.setattr(walks, "scan", lambda graph, vectors, i: below)
    graph, aim = SimpleNamespace(bound=[{"upper": above}]), np.array([2.0, 6.0])

    def finished(*, selective=True, greedy=False):
        knobs = SimpleNamespace(selective=selective, greedy=greedy)
        return bool(walks.finished.py_func(graph, None, 0, knobs, 1.0, aim))

    assert finished() is ends
    narrow = above - below <= 1.0
    assert finished(selective=False) is finished(greedy=True) is narrow


def test_without_a_discount_a_trial_tries_first_what_leads_sooner_to_the_end(monkeypatch):
    """'listen', the first action, and 'step' have the same upper bound, but one does not move.

    Listening tells, with an error, which of two doors leads to the goal; they are a step away.
    """

    def move(s, a):
        if s in ("goal", "pit") or a == "listen":
            return {s: ONE}
        if s.startswith("far") or a == "step":
            return {s.replace("far", "near"): ONE}
        return {"goal" if s.endswith(a) else "pit": ONE}

    def see(a, s):
        surely = Fraction(5, 8) if a == "listen" else HALF
        left = surely if "left" in s else 1 - surely
        return {"left": left, "right": 1 - left}

    doors = tabulate(
        name="doors",
        states=("far left", "far right", "near left", "near right", "goal", "pit"),
        actions=("listen", "step", "left", "right"),
        observations=("left", "right"),
        start={"far left": HALF, "far right": HALF},
        transition=move,
        emission=see,
        reward=lambda s, a, following, o: Fraction(0),
        discount=HALF,
    )
    tried, widest = [], walks.widest

    def noted(graph, vectors, p, action, *others):
        tried.append(doors.actions[action])
        return widest(graph, vectors, p, action, *others)

    monkeypatch.setattr(walks, "widest", noted)
    monkeypatch.setattr(schedule, "trial", walks.trial.py_func)
    process = corner_process(reach("goal").task(doors).belief_model())
    schedule.Schedule(process, no_limits(), 1e-3, selective=True, seed=0).sample()
    assert tried[0] == "step"
