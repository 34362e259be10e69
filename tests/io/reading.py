"""Short ways to read a text and look at what came out."""

from fractions import Fraction

import pytest

from rpsr.errors import InputError
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.io.records import Record

NAMES = "states: s t\nactions: a b\nobservations: x y\n"
REST = "T: * identity\nO: * uniform\n"  # what completes NAMES to a model


def read(text: str | bytes, *, normalize: bool = False) -> Record:
    content = text.encode() if isinstance(text, str) else text
    return parse_pomdp(content, place="f", name="f", normalize=normalize)


def refusal(text: str | bytes, *, normalize: bool = False) -> str:
    """The one-line error that a text ends in."""
    with pytest.raises(InputError) as refused:
        read(text, normalize=normalize)
    message = str(refused.value)
    assert "\n" not in message
    return message


def transition(record: Record, action: int, state: int) -> dict[int, Fraction]:
    return record.transition.fractions(action * len(record.states) + state)


def emission(record: Record, action: int, state: int) -> dict[int, Fraction]:
    assert not record.emission_by_edge
    return record.emission.fractions(action * len(record.states) + state)


def rewards(record: Record) -> dict[tuple[int, int, int, int], Fraction]:
    """(a, s, s', o) -> reward, of every possible outcome."""
    n, exact = len(record.states), record.rewards.exact
    assert exact is not None
    edge, entry = record.outcome_entries()
    row = record.transition.row_of_entry()[edge].tolist()
    target, seen = record.transition.indices[edge].tolist(), record.emission.indices[entry].tolist()
    worth = [exact[i] for i in record.rewards.index.tolist()]
    return {
        (*divmod(r, n), t, o): value
        for r, t, o, value in zip(row, target, seen, worth, strict=True)
    }
