"""What tests of stories ask of a model: its outcomes by name, and the same under other names."""

from collections.abc import Mapping
from fractions import Fraction

from rpsr.models import POMDP

# (action, state, next state, observation) -> (probability, reward)
NamedOutcomes = dict[tuple[str, str, str, str], tuple[Fraction, Fraction]]


def named_outcomes(pomdp: POMDP) -> NamedOutcomes:
    """Every possible outcome in exact arithmetic."""
    record, n = pomdp.record, len(pomdp.states)
    table = record.rewards.exact
    assert table is not None
    edges, entries = record.outcome_entries()
    rows = record.transition.row_of_entry()
    outcomes: NamedOutcomes = {}
    for k, (edge, entry) in enumerate(zip(edges.tolist(), entries.tolist(), strict=True)):
        a, s = divmod(int(rows[edge]), n)
        t, o = int(record.transition.indices[edge]), int(record.emission.indices[entry])
        seen = record.emission.fractions(int(record.emission_row_of_edge()[edge]))
        probability = record.transition.fractions(a * n + s)[t] * seen[o]
        key = (pomdp.actions[a], pomdp.states[s], pomdp.states[t], pomdp.observations[o])
        outcomes[key] = (probability, table[int(record.rewards.index[k])])
    return outcomes


def mirrored(outcomes: NamedOutcomes, swaps: Mapping[str, str]) -> NamedOutcomes:
    """The outcomes with pairs of names exchanged; `swaps` gives each pair once."""
    other = dict(swaps) | {b: a for a, b in swaps.items()}
    return {
        (other.get(a, a), other.get(s, s), other.get(t, t), other.get(o, o)): value
        for (a, s, t, o), value in outcomes.items()
    }


def moves(pomdp: POMDP) -> dict[tuple[str, str], dict[str, Fraction]]:
    """(state, action) -> next states and their probabilities."""
    n = len(pomdp.states)
    return {
        (state, action): {
            pomdp.states[t]: p for t, p in pomdp.record.transition.fractions(a * n + s).items()
        }
        for a, action in enumerate(pomdp.actions)
        for s, state in enumerate(pomdp.states)
    }


def earnings(pomdp: POMDP) -> dict[tuple[str, str], Fraction]:
    """(state, action) -> expected reward."""
    table = pomdp.exact_rewards()
    return {
        (state, action): table[s][a]
        for s, state in enumerate(pomdp.states)
        for a, action in enumerate(pomdp.actions)
    }


def emissions(pomdp: POMDP, action: str) -> dict[str, dict[str, Fraction]]:
    """next state -> observations and their probabilities, after one action."""
    n, a = len(pomdp.states), pomdp.actions.index(action)
    return {
        state: {
            pomdp.observations[o]: p for o, p in pomdp.record.emission.fractions(a * n + s).items()
        }
        for s, state in enumerate(pomdp.states)
    }


def steps_from_start(pomdp: POMDP) -> dict[str, int]:
    """The fewest actions after which each state is possible; states never possible are left out."""
    follow = moves(pomdp)
    distance = {pomdp.states[s]: 0 for s in pomdp.record.start.fractions(0)}
    frontier = list(distance)
    while frontier:
        ahead = {t for s in frontier for a in pomdp.actions for t in follow[s, a]} - set(distance)
        distance |= dict.fromkeys(ahead, distance[frontier[0]] + 1)
        frontier = list(ahead)
    return distance
