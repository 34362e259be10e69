"""More states while held-out episodes ask for them, and what that costs."""

import numpy as np
import pytest
from tests.learning.worlds import coin_log, small_log

from rpsr import deadline
from rpsr.errors import DataError
from rpsr.learning import EMRPSR
from rpsr.learning.em.candidates import Scored
from rpsr.learning.em.fitted_pomdp import Encoded, Prior, counts_of, iterate, likelihoods
from rpsr.learning.em.growth import LEAK, Rounds, doubled, grown
from rpsr.learning.em.settings import Search
from rpsr.learning.em.starts import random_start
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
    return Scored(np.array(scores), random_start(log, size, np.random.default_rng(0)))


def test_rounds_go_on_while_the_largest_start_is_chosen_and_time_is_left(monkeypatch):
    time = [100.0]
    monkeypatch.setattr(deadline, "now", lambda: time[0])
    noise = np.random.default_rng(0).normal(size=50)
    few, many = found_of(8, noise - 5), found_of(18, noise)
    rounds = Rounds(most=30, limit=2000.0)
    assert rounds.next_size([few], 18) == 0  # 8 of 18 states are enough
    time[0] += 40
    rounds.end()
    time[0] += 1000  # splits do not count
    assert rounds.next_size([few, many], 18) == 27
    assert rounds.begin(27, 18) == (
        "more than 18 states may predict held-out episodes better: trying 27, which takes "
        "about 90 s"
    )
    time[0] += 80
    rounds.end()
    assert rounds.next_size([few, many], 27) == 0  # 18 of 27 states are enough
    larger = found_of(27, noise + 5)
    assert rounds.next_size([few, many, larger], 27) == 30  # and no more than `most`
    assert rounds.next_size([few, many, larger], 30) == 0
    assert rounds.untried == 0
    time[0] += 500
    rounds.end()  # a round of 580 seconds leaves no time for a larger one
    assert rounds.next_size([few, many, larger], 27) == 0
    assert rounds.untried == 30


def test_a_round_costs_what_its_largest_start_does(monkeypatch):
    """Copies are of the best POMDP, which may have more states than the chosen one."""
    time = [0.0]
    monkeypatch.setattr(deadline, "now", lambda: time[0])
    spread = 3 * np.random.default_rng(0).normal(size=50)
    chosen, best = found_of(24, np.zeros(50)), found_of(40, spread - spread.mean() + 0.1)
    rounds = Rounds(most=90, limit=200.0)
    time[0] += 10
    rounds.end()
    assert rounds.next_size([chosen, best], 27) == 40
    assert rounds.begin(40, 27).endswith("about 88 s")  # 10 (80 / 27)^2
    time[0] += 80
    rounds.end()
    assert rounds.next_size([found_of(60, np.ones(50))], 40) == 60
    assert rounds.begin(60, 40).endswith("about 45 s")  # 80 (60 / 80)^2: 120 are too many


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
    steps = [counts_of(pomdp, encoded)[0][1].sum() for pomdp in (small, large)]
    assert steps[0] == pytest.approx(steps[1])


@pytest.mark.parametrize("log", [small_log(1, ends=False), coin_log(20, 0)])
def test_two_copies_have_one_end_and_hardly_any_moves_between_them(log):
    encoded = Encoded.of(log)
    small = random_start(encoded, 3, np.random.default_rng(2))
    large = doubled(small, encoded, Prior(1e-6), np.random.default_rng(2))
    ends = int(small.end >= 0)
    assert (large.size, large.states, large.end) == (6, 6 + ends, small.end)
    assert large.moves.sum(axis=2) == pytest.approx(1)
    assert large.emissions.sum(axis=1) == pytest.approx(1)
    first, second = np.arange(3), 3 + ends + np.arange(3)
    between = large.moves[:, first][:, :, second].sum(axis=2)
    assert 0 < between.max() < 10 * LEAK  # random factors of mean 1
    assert not np.allclose(large.emissions[..., first], large.emissions[..., second])
    # Copies that do not differ are the POMDP after one iteration. The random factors of these
    # move its log-likelihood by 3 or 4 %; that of the POMDP before the iteration is 14 % away.
    once = iterate(small, encoded, Prior(1e-6), 1)
    near = [float(likelihoods(pomdp, encoded).sum()) for pomdp in (once, large)]
    assert near[1] == pytest.approx(near[0], rel=0.05)


def two_floors(episodes, places=3, seed=0):
    """A ring of places on one of two floors, which look the same but for one place of each."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(2, size=(episodes, 20))
    floor = rng.integers(2, size=(episodes, 1))
    place = (rng.integers(places, size=(episodes, 1)) + np.cumsum(actions, axis=1)) % places
    return from_arrays(
        actions, np.where(place == 0, 1 + floor, 0), (place == 1) * (2.0 * floor - 1)
    )


def test_copies_find_a_floor_that_lasts_where_splits_of_states_do_not():
    encoded = Encoded.of(two_floors(200), "none")
    rng, prior = np.random.default_rng(0), Prior(0.02)
    ring = max(
        (iterate(random_start(encoded, 3, rng), encoded, prior, 40) for _ in range(5)),
        key=lambda fitted: float(likelihoods(fitted, encoded).sum()),
    )
    likelihood = [
        float(likelihoods(iterate(start, encoded, prior, 60), encoded).mean())
        for start in (doubled(ring, encoded, prior, rng), grown(ring, 6, encoded, prior, rng))
    ]
    assert likelihood[0] > likelihood[1] + 0.5  # nats of an episode
    assert likelihood[0] > -np.log(2 * 3) - 1.0  # the start is all that is random


def test_held_out_episodes_ask_for_the_hours_of_a_clock(monkeypatch):
    log = clock_log(150)
    said = []
    estimator = EMRPSR(search=small_search(), progress=said.append).fit(log)
    assert estimator.candidates_[0].states >= 9
    assert estimator.untried_ == 0
    rounds = [line for line in said if "may predict held-out episodes better" in line]
    assert rounds[0].startswith(
        "more than 4 states may predict held-out episodes better: trying 6, which takes about"
    )
    # Every look at this clock takes a second, so that no round seems affordable.
    ticks = iter(range(10**6))
    monkeypatch.setattr(deadline, "now", lambda: float(next(ticks)))
    stopped = EMRPSR(search=small_search(largest=4), time_limit=1e-3).fit(log)
    assert stopped.untried_ == 6
    assert stopped.candidates_[0].states <= 4
    assert "the time limit left no time to try 6" in stopped.findings().origin
    with pytest.raises(DataError, match="time_limit: read 0, expected None or a number above 0"):
        EMRPSR(time_limit=0).fit(log)


def test_rounds_follow_again_after_splits_and_no_state_is_split_after_the_limit(monkeypatch):
    """The second search for larger POMDPs finds some; so states are split a second time."""
    log, asked = clock_log(40), []
    larger, way_up = EMRPSR._larger, EMRPSR._way_up

    def first_none(self, candidates, rounds, *parts):
        asked.append("larger")
        return (
            candidates if asked.count("larger") == 1 else larger(self, candidates, rounds, *parts)
        )

    def counted(self, candidates, rounds, *parts):
        asked.append("split")
        return way_up(self, candidates, rounds, *parts)

    monkeypatch.setattr(EMRPSR, "_larger", first_none)
    monkeypatch.setattr(EMRPSR, "_way_up", counted)
    EMRPSR(search=small_search(largest=5, most=8)).fit(log)
    assert asked == ["larger", "split"] * (len(asked) // 2) + ["larger"]
    assert asked.count("split") > 1
    said = []
    stopped = EMRPSR(search=small_search(), time_limit=1e-9, progress=said.append).fit(log)
    assert "the time limit left no time" in stopped.findings().origin
    assert not any("split into 5" in line for line in said)


def test_a_fixed_number_of_states_has_no_limit():
    """Nobody asked for more states, so none are missing; and the search ends as without a limit."""
    log, options = coin_log(40, 0), {"search": small_search(), "states": 4}
    without, limited = EMRPSR(**options).fit(log), EMRPSR(**options, time_limit=1e-9).fit(log)
    assert limited.untried_ == 0
    assert "time limit" not in limited.findings().origin
    parameters = [one.candidates_[0].fitted for one in (without, limited)]
    assert np.array_equal(parameters[0].moves, parameters[1].moves)


def test_a_round_costs_as_much_as_its_copies(monkeypatch):
    """12 of 12 states are chosen: 18 are next, but two copies have 24."""
    monkeypatch.setattr(deadline, "now", lambda: 0.0)
    rounds, all_twelve = Rounds(most=90, limit=100.0), found_of(12, np.zeros(5))
    rounds._took = 20.0
    assert rounds.next_size([all_twelve], 12) == 18
    assert rounds.begin(18, 12).endswith("trying 18, which takes about 80 s")
    rounds.limit = 79.0
    assert rounds.next_size([all_twelve], 12) == 0
    assert rounds.untried == 18
