"""DRN files that are written: the same process reads back, and notes say what was changed."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.io.drn.files import DOORS, read
from tests.strategies import DECIMAL_REWARDS, few, records

from rpsr import InputError, load, save
from rpsr.domains import build
from rpsr.io.drn.writer import format_drn
from rpsr.io.records import Record
from rpsr.models.pomdp import POMDP

Belief = dict[int, Fraction]


def exact_outcomes(record: Record) -> dict[tuple[int, int], list[tuple[int, int, Fraction]]]:
    """(a, s) -> (s', o, probability) of every outcome."""
    n = len(record.states)
    outcomes: dict[tuple[int, int], list[tuple[int, int, Fraction]]] = {}
    edge, entry = record.outcome_entries()
    rows, emitting = record.transition.row_of_entry(), record.emission_row_of_edge()
    cells = record.outcome_cells(edge, entry)
    for d, target, seen in zip(
        edge.tolist(), cells.next_state.tolist(), cells.observation.tolist(), strict=True
    ):
        chance = record.transition.fractions(int(rows[d]))[target]
        chance *= record.emission.fractions(int(emitting[d]))[seen]
        outcomes.setdefault(divmod(int(rows[d]), n), []).append((target, seen, chance))
    return outcomes


def histories(
    record: Record, start: Belief, steps: int
) -> Iterator[tuple[tuple[tuple[str, int], ...], Fraction, Fraction]]:
    """Every history of (action, observation), its probability and expected last reward."""
    outcomes, rewards = exact_outcomes(record), POMDP(record).exact_rewards()
    for plan in product(range(len(record.actions)), repeat=steps):
        reached = {(): (start, Fraction(0))}
        for a in plan:
            following: dict[tuple[tuple[str, int], ...], tuple[Belief, Fraction]] = {}
            for past, (belief, _) in reached.items():
                worth = sum((p * rewards[s][a] for s, p in belief.items()), Fraction(0))
                for s, p in belief.items():
                    for target, seen, chance in outcomes[a, s]:
                        key = (*past, (record.actions[a], seen))
                        after = following.setdefault(key, ({}, worth))[0]
                        after[target] = after.get(target, Fraction(0)) + p * chance
            reached = following
        for past, (belief, worth) in reached.items():
            yield past, sum(belief.values(), Fraction(0)), worth


def assert_same_process(record: Record, again: Record, steps: int = 2) -> None:
    """Both have the same histories; a first step of the second leads to the first one's start."""
    start = again.start.fractions(0)
    extra = len(record.start.indices) > 1
    if extra:
        (first,) = start
        steps_out = exact_outcomes(again)[0, first]
        assert len({seen for _, seen, _ in steps_out}) == 1, "the first step reveals nothing"
        start = {target: chance for target, _, chance in steps_out}
    names = [int(name) for name in again.observations]
    ours = {past: rest for past, *rest in histories(record, record.start.fractions(0), steps)}
    theirs = {
        tuple((a, names[o]) for a, o in past): rest
        for past, *rest in histories(again, start, steps)
    }
    assert theirs == ours


@settings(max_examples=few(60), deadline=None)
@given(records(exact=True, rewards=DECIMAL_REWARDS))
def test_histories_and_rewards_survive(record):
    plain = tuple(f"a{i}" for i in range(len(record.actions)))
    seen = tuple(f"o{i}" for i in range(len(record.observations)))  # numbered by index
    record = POMDP(record).record.__class__(
        **{**vars(record), "actions": plain, "observations": seen}
    )
    if any(v.denominator > 64 for row in POMDP(record).exact_rewards() for v in row):
        return  # such an expected reward may have no finite decimal
    assert_same_process(record, read(format_drn(record)))


@st.composite
def state_observed(draw: st.DrawFn) -> str:
    """A DRN text whose actions differ by observation, with labels."""
    n = draw(st.integers(1, 5))
    seen = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    has = {o: draw(st.lists(st.sampled_from("abc"), min_size=1, unique=True)) for o in set(seen)}
    lines, count = [], 0
    for s in range(n):
        labels = draw(st.lists(st.sampled_from(["goal", "bad", "a label"]), unique=True))
        quoted = "".join(f' "{label}"' for label in labels)
        lines.append(f"state {s} {{{seen[s]}}} [{draw(st.integers(-3, 3))}]{quoted}")
        lines[-1] += " init" * (s == 0)
        for a in has[seen[s]]:
            count += 1
            weights = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n).filter(any))
            lines.append(f"\taction {a} [{draw(st.sampled_from(['0', '1.5', '-1/3']))}]")
            row = [f"\t\t{t} : {w}/{sum(weights)}" for t, w in enumerate(weights) if w]
            lines += row
    head = (
        f"@type: POMDP\n@parameters\n\n@reward_models\nr\n@nr_states\n{n}\n@nr_choices\n{count}\n"
    )
    return head + "@model\n" + "\n".join(lines) + "\n"


@settings(max_examples=few(80), deadline=None)
@given(state_observed())
def test_labels_availability_and_fractions_survive(text):
    record = read(text)
    again = read(format_drn(record))
    assert sorted(again.labels) == sorted(record.labels)
    assert (again.states, again.observations) == (record.states, record.observations)
    order = [again.actions.index(name) for name in record.actions]
    n = len(record.states)
    none = np.zeros((len(order), n), dtype=bool)
    ours = none if record.unavailable is None else record.unavailable
    theirs = none if again.unavailable is None else again.unavailable[order]
    assert theirs.tolist() == ours.tolist()
    for a, b in enumerate(order):
        for s in np.flatnonzero(~ours[a]).tolist():
            assert again.transition.fractions(b * n + s) == record.transition.fractions(a * n + s)
            one, two = POMDP(again).R[s, b], POMDP(record).R[s, a]
            assert one == two


@pytest.mark.parametrize("suffix", [".drn", ".drn.gz"])
def test_a_file_that_was_read_is_written_alike(tmp_path, suffix):
    record = read(DOORS)
    notes = save(POMDP(record), tmp_path / f"doors{suffix}")
    assert notes == ()
    again = load(tmp_path / f"doors{suffix}")
    assert again.digest == record.digest()
    assert sorted(again.labels.items()) == sorted(record.labels)


def test_what_the_format_cannot_hold_is_reported(tmp_path):
    notes = save(build("tiger"), tmp_path / "tiger.drn")
    assert notes == (
        "the discount 0.95 is not stored: this format has none",
        "the start is random, but this format has one initial state: a state was added that leads "
        "to the random start in one extra step",
        "states with several observations were split into one state per observation: 2 more states",
        "names of states are not stored: states are numbered",
        "names of observations are not stored: observations are numbered",
    )
    assert len(load(tmp_path / "tiger.drn").states) == 5


def test_a_start_without_a_common_observation_reveals_nothing():
    T = np.array([[[0.5, 0.5], [0.25, 0.75]]])
    O = np.array([[[1, 0], [0, 1]]])
    pomdp = POMDP.from_arrays(T, O, np.array([1.0, 2.0]), exact=True, names={"actions": ["go"]})
    again = read(format_drn(pomdp.record))
    assert len(again.states) == 5  # two, two for the start, and the initial one
    assert_same_process(pomdp.record, again, steps=3)


def test_a_model_in_floats_is_written():
    T = np.array([[[0.1, 0.9], [0.3, 0.7]]])
    O = np.array([[[0.2, 0.8], [0.6, 0.4]]])
    pomdp = POMDP.from_arrays(T, O, np.array([0.1, 2.0]), names={"actions": ["go"]})
    again = read(format_drn(pomdp.record))
    assert again.exact
    assert len(again.states) == 5


@pytest.mark.parametrize("name", ["a b", "", "__NOLABEL__", 'a"', "[x]", "a\nb"])
def test_names_of_actions_that_the_format_cannot_hold(tmp_path, name):
    pomdp = POMDP.from_arrays(
        np.ones((1, 1, 1)), np.ones((1, 1, 1)), np.zeros(1), names={"actions": [name]}
    )
    with pytest.raises(InputError, match="cannot be written in this format"):
        save(pomdp, tmp_path / "x.drn")
    assert not (tmp_path / "x.drn").exists()


@pytest.mark.parametrize("suffix", [".pomdp", ".pomdpx"])
def test_formats_without_labels_and_availability_say_so(tmp_path, suffix):
    # A .pomdp file takes numbers as names only if they count from zero.
    text = DOORS.replace("{2}", "{0}").replace("{5}", "{1}").replace("{9}", "{2}")
    notes = save(POMDP(read(text)).with_discount("0.9"), tmp_path / f"doors{suffix}")
    assert "labels of states are not stored: closed, the left door, deadlock, goal" in notes
    assert sum("the availability of actions is not stored" in note for note in notes) == 1
