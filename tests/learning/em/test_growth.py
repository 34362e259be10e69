"""More states while held-out episodes ask for them, and what that costs."""

import numpy as np
import pytest
from tests.learning.worlds import coin_log, small_log

from rpsr import deadline
from rpsr.errors import DataError
from rpsr.learning import EMRPSR
from rpsr.learning.em.candidates import Found
from rpsr.learning.em.growth import Rounds, grown
from rpsr.learning.em.settings import Search
from rpsr.learning.em.starts import random_start
from rpsr.learning.em.steps import Encoded, Prior, counts_of
from rpsr.logs import from_arrays


def clock_log(episodes, hours=9, seed=0):
    """A clock that is seen to strike and else looks the same; a step may be an hour or none."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(2, size=(episodes, 20))
    hour = np.cumsum(actions, axis=1) % hours
    return from_arrays(actions, (hour == 0).astype(int), (hour == hours // 2).astype(float))


def small_search(**settings):
    return Search(sizes=(4,), starts=2, descents=1, memories=0, probing=10, **settings)


def found_of(size, scores):
    log = Encoded.of(small_log(0))
    return Found(np.array(scores), random_start(log, size, np.random.default_rng(0)))


def test_rounds_go_on_while_the_largest_start_is_chosen_and_time_is_left(monkeypatch):
    time = [100.0]
    monkeypatch.setattr(deadline, "now", lambda: time[0])
    noise = np.random.default_rng(0).normal(size=50)
    few, many = found_of(8, noise - 5), found_of(18, noise)
    rounds = Rounds(most=30, limit=1000.0)
    assert rounds.next_size([few], 18) == 0  # 8 of 18 states are enough
    time[0] += 40
    assert rounds.next_size([few, many], 18) == 27
    assert rounds.begin(27, 18) == (
        "18 states are too few by held-out episodes: trying 27, about 90 s"
    )
    time[0] += 80
    assert rounds.next_size([few, many], 27) == 0  # 18 of 27 states are enough
    larger = found_of(27, noise + 5)
    assert rounds.next_size([few, many, larger], 27) == 30  # and no more than `most`
    assert rounds.next_size([few, many, larger], 30) == 0
    assert rounds.untried == 0
    time[0] += 500  # a round of 580 seconds leaves no time for a larger one
    assert rounds.next_size([few, many, larger], 27) == 0
    assert rounds.untried == 30


@pytest.mark.parametrize("log", [small_log(1, ends=False), coin_log(20, 0)])
def test_a_grown_pomdp_keeps_all_counts_and_splits_none_for_the_end(log):
    encoded = Encoded.of(log)
    rng = np.random.default_rng(2)
    small = random_start(encoded, 3, rng)
    large = grown(small, 7, encoded, Prior(0.02), rng)
    assert (small.size, large.size) == (3, 7)
    assert large.end == small.end
    assert large.moves.sum(axis=2) == pytest.approx(1)
    assert large.emissions.sum(axis=1) == pytest.approx(1)
    steps = [counts_of(each, encoded)[0][1].sum() for each in (small, large)]
    assert steps[0] == pytest.approx(steps[1])


def test_held_out_episodes_ask_for_the_hours_of_a_clock(monkeypatch):
    log = clock_log(150)
    said = []
    found = EMRPSR(search=small_search(), progress=said.append).fit(log)
    assert found.candidates_[0].states >= 9
    assert found.untried_ == 0
    rounds = [line for line in said if "too few" in line]
    assert rounds[0].startswith("4 states are too few by held-out episodes: trying 6, about")
    # Every look at this clock takes a second, so that no round seems affordable.
    ticks = iter(range(10**6))
    monkeypatch.setattr(deadline, "now", lambda: float(next(ticks)))
    stopped = EMRPSR(search=small_search(largest=4), time_limit=1e-3).fit(log)
    assert stopped.untried_ == 6
    assert stopped.candidates_[0].states <= 4
    assert "the time limit left no time for 6" in stopped.findings().origin
    with pytest.raises(DataError, match="time_limit: read 0, expected None or a number above 0"):
        EMRPSR(time_limit=0).fit(log)
