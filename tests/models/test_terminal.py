"""Episodes: resets and ends turned into each other, and everything else left as it was."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.builders import random_lottery

from rpsr import POMDP, ModelError, continuing, episodic, load, save
from rpsr.domains import build, tabulate
from rpsr.models import Outcomes
from rpsr.models.terminal import final_observations
from rpsr.testing import check_model


def street(**changes) -> POMDP:
    """Two houses to start from; 'go' earns by what is heard and leads to an end that is silent."""
    rules = {
        "name": "street",
        "states": ["one", "two", "over"],
        "actions": ["go", "wait"],
        "observations": ["quiet", "loud"],
        "start": {"one": Fraction(1, 3), "two": Fraction(2, 3)},
        "transition": lambda s, a: {"over" if a == "go" else s: 1},
        "emission": lambda _a, t: {
            "quiet": Fraction(3, 4) if t == "one" else 1,
            "loud": Fraction(1, 4) if t == "one" else 0,
        },
        "reward": lambda s, a, _t, o: (5 if a == "go" else 2 * (o == "loud")) * (s != "over"),
        "discount": Fraction(9, 10),
    }
    return tabulate(**rules | changes)


def loop(**changes) -> POMDP:
    """The same street where 'go' is a reset, which earns by where the next episode starts."""
    start = {"one": Fraction(1, 3), "two": Fraction(2, 3)}
    rules = {
        "name": "loop",
        "states": ["one", "two"],
        "transition": lambda s, a: start if a == "go" else {s: 1},
        "reward": lambda _s, a, t, _o: 3 * (a == "go" and t == "one"),
        "resets": lambda _s, a: a == "go",
    }
    return street(**rules | changes)


def table(outcomes: Outcomes, pomdp: POMDP) -> dict[tuple[str, ...], tuple[float, float]]:
    """(state, action, next state, observation) -> probability and reward, by name."""
    keys = zip(
        [pomdp.states[s] for s in outcomes.state],
        [pomdp.actions[a] for a in outcomes.action],
        [pomdp.states[t] for t in outcomes.next_state],
        [pomdp.observations[o] for o in outcomes.observation],
        strict=True,
    )
    values = zip(outcomes.probability.tolist(), outcomes.reward.tolist(), strict=True)
    return dict(zip(keys, values, strict=True))


# ---- continuing


def test_the_end_becomes_the_next_start():
    again = continuing(street())
    outcomes = table(again.outcomes, again)
    after = {key: value for key, value in outcomes.items() if key[:2] == ("over", "go")}
    assert after == {
        ("over", "go", "one", "quiet"): (pytest.approx(1 / 4), 0),
        ("over", "go", "one", "loud"): (pytest.approx(1 / 12), 0),
        ("over", "go", "two", "quiet"): (pytest.approx(2 / 3), 0),
    }
    assert again.resets.tolist() == [[False, False, True]] * 2
    assert not again.absorbing.any()


def test_what_is_not_over_goes_on_as_before():
    before, again = street(), continuing(street())
    old, new = table(before.outcomes, before), table(again.outcomes, again)
    assert {k: v for k, v in new.items() if k[0] != "over"} == {
        k: v for k, v in old.items() if k[0] != "over"
    }
    assert again.exact
    assert again.exact_rewards() == before.exact_rewards()
    assert (again.discount, again.states) == (before.discount, before.states)


def test_floats_may_continue_too():
    T = np.array([[[0.1, 0.9], [0.0, 1.0]]])
    pomdp = POMDP.from_arrays(T, np.ones((1, 2, 1)), np.array([-1.0, 0.0]), start=[1, 0])
    again = continuing(pomdp)
    assert not again.exact
    assert again.transition(0).toarray().tolist() == [[0.1, 0.9], [1.0, 0.0]]
    assert again.R.tolist() == [[-1.0], [0.0]]


# ---- episodic


def test_a_reset_becomes_an_end():
    once = episodic(loop())
    outcomes = table(once.outcomes, once)
    assert outcomes["one", "go", "end", "end"] == (1, 1)  # 3 with probability 1/3
    assert outcomes["end", "go", "end", "end"] == (1, 0)
    assert outcomes["one", "wait", "one", "loud"] == (0.25, 0)
    assert once.states == ("one", "two", "end")
    assert once.observations == ("quiet", "loud", "end")
    assert once.absorbing.tolist() == [False, False, True]
    assert not once.resets.any()
    assert once.start.tolist() == pytest.approx([1 / 3, 2 / 3, 0])


def test_nothing_but_the_end_shows_the_end():
    once = episodic(build("t-maze"))
    o = once.outcomes
    shown = o.observation == once.observations.index("end")
    assert np.array_equal(shown, o.next_state == once.states.index("end"))


# ---- both


VIEWS = [
    (continuing, street()),
    (continuing, build("iff")),
    (continuing, build("rock-sample")),
    (episodic, loop()),
    (episodic, build("t-maze")),
    (episodic, continuing(street())),
    (continuing, episodic(loop())),
]


@pytest.mark.parametrize(("view", "pomdp"), VIEWS)
def test_a_view_is_a_model_that_earns_the_same(view, pomdp):
    seen, n = view(pomdp), len(pomdp.states)
    check_model(seen.belief_model(), histories=3, steps=20)
    assert seen.exact
    assert seen.exact_rewards()[:n] == pomdp.exact_rewards()
    assert all(not any(row) for row in seen.exact_rewards()[n:])


@pytest.mark.parametrize(("view", "pomdp"), VIEWS)
def test_a_view_can_be_written_and_read(view, pomdp, tmp_path):
    for name in ("view.rpsr", "view.pomdp"):
        seen = view(pomdp)
        save(seen, tmp_path / name)
        back = load(tmp_path / name)
        assert np.array_equal(back.resets, seen.resets)
        assert np.array_equal(back.absorbing, seen.absorbing)
        np.testing.assert_array_equal(back.R, seen.R)


def test_views_are_not_taken_twice():
    with pytest.raises(ModelError, match="no absorbing state"):
        continuing(continuing(street()))
    with pytest.raises(ModelError, match="has no `reset` rows"):
        episodic(episodic(loop()))


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 4), st.integers(1, 3))
def test_random_resets_earn_the_same_in_expectation(seed, A, S, O):
    rng = np.random.default_rng(seed)
    start = random_lottery(rng, S)
    ends = rng.random((A, S)) < 0.4
    ends[0, 0] = True
    pomdp = tabulate(
        name="random",
        states=range(S),
        actions=[f"a{i}" for i in range(A)],
        observations=[f"o{i}" for i in range(O)],
        start=start,
        transition=lambda s, a: start if ends[int(a[1:]), s] else random_lottery(rng, S),
        emission=lambda *_: {f"o{o}": p for o, p in random_lottery(rng, O).items()},
        reward=lambda *_: int(rng.integers(-5, 6)),
        discount=None,
        resets=lambda s, a: bool(ends[int(a[1:]), s]),
    )
    once = episodic(pomdp)
    assert once.exact_rewards()[:S] == pomdp.exact_rewards()
    old, new = table(pomdp.outcomes, pomdp), table(once.outcomes, once)
    kept = {key for key in old if not ends[int(key[1][1:]), int(key[0])]}
    assert {key: new[key] for key in kept} == {key: old[key] for key in kept}
    assert len(new) == len(kept) + int(ends.sum()) + A


# ---- refusals


@pytest.mark.parametrize(
    ("view", "make", "message"),
    [
        (continuing, lambda: build("tiger"), "tiger has no absorbing state, so"),
        (continuing, lambda: build("line4-2goals"), "may start in an absorbing state"),
        (continuing, lambda: edge_form(), "resets cannot be added to a model"),
        (episodic, lambda: build("tiger"), "tiger has no `reset` rows"),
        (
            episodic,
            lambda: loop(observations=["quiet", "loud", "end"]),
            "already has a state or ob",
        ),
        (
            episodic,
            lambda: loop(state_name={"one": "one", "two": "end"}.__getitem__),
            "already has a state or observation called 'end'",
        ),
        (
            episodic,
            lambda: edge_form(resets=lambda s, a: a == "go"),
            "an end cannot be added to a model",
        ),
    ],
)
def test_what_cannot_be_seen_that_way_is_refused(view, make, message):
    with pytest.raises(ModelError, match=message):
        view(make())


def edge_form(**changes) -> POMDP:
    silent = {"emission": None, "edge_emission": lambda *_: {"quiet": 1}}
    return street(**silent | changes)


def test_no_observation_marks_an_end_if_an_episode_may_begin_in_one():
    """Of two states to start from, one is absorbing: a single one suffices."""
    ends = episodic(loop())
    assert final_observations(ends).tolist() == [False, False, True]
    over = ends.absorbing.argmax()
    start = np.full(len(ends.states), 0.0)
    start[[0, over]] = 0.5
    moves = [ends.transition(a).toarray() for a in ends.actions]
    seen = np.stack([ends.emission(a).toarray() for a in ends.actions])
    begun = POMDP.from_arrays(moves, seen, ends.R, start, 0.9)
    assert begun.absorbing.any()
    assert not final_observations(begun).any()
    begun = POMDP.from_arrays(moves, seen, ends.R, np.eye(len(start))[0], 0.9)
    assert final_observations(begun).any()
