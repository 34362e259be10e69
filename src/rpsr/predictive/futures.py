"""Tests and intents: hypothetical futures, as immutable values with a text form that parses back.

A test is a sequence of interactions (action, observation). An intent is a test followed by one more
action, whose expected reward is meant, or by the token zeta, which turns the intent back into its
test: R(s, zeta) = 1 for every state. Zeta is not an action, and no action can be mistaken for it.

Text form: `left loading, right travel` is a test, `left loading; right` and `left loading; ζ` are
intents, `ε` is the empty test. An ambiguous name (with a space, a comma or a quote, or the names ε
and ζ themselves) is written in double quotes, as in JSON.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum

from rpsr.errors import InputError

EMPTY = "ε"
NOTATION = (
    "`a x; b`: the expected reward of action b after action a and observation x, times the "
    "probability of x after a. `a x; ζ`: that probability alone. ε: the empty test, whose "
    "probability is 1."
)


class Token(Enum):
    """The token zeta: a type of its own, not a name."""

    ZETA = "ζ"


ZETA = Token.ZETA

_PLAIN = re.compile(r'[^\s",;]+')
_PIECE = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^\s",;]+|[,;])')


def _word(name: str) -> str:
    plain = _PLAIN.fullmatch(name) is not None and name not in (EMPTY, ZETA.value)
    return name if plain else json.dumps(name, ensure_ascii=False)


@dataclass(frozen=True, order=True)
class Interaction:
    """One interaction: an action and the observation after it."""

    action: str
    observation: str

    def __str__(self) -> str:
        return f"{_word(self.action)} {_word(self.observation)}"


@dataclass(frozen=True, order=True)
class Test:
    """A sequence of possible future interactions."""

    __test__ = False  # so that test runners do not collect it

    interactions: tuple[Interaction, ...] = ()

    def __str__(self) -> str:
        return ", ".join(map(str, self.interactions)) or EMPTY

    def __len__(self) -> int:
        return len(self.interactions)

    def after(self, action: str, observation: str) -> Test:
        """The test a o q: this test, preceded by one interaction."""
        return Test((Interaction(action, observation), *self.interactions))

    @staticmethod
    def parse(text: str) -> Test:
        """Parse the text form of a test."""
        future = parse_future(text)
        if isinstance(future, Intent):
            raise InputError(f"read the intent {text!r}, expected a test")
        return future


@dataclass(frozen=True)
class Intent:
    """A test followed by one more action, or by the token zeta in its place.

    Its value is the probability of the test times the expected reward of the action after it; the
    token stands for a reward of 1.
    """

    test: Test
    action: str | Token

    def __str__(self) -> str:
        action = self.action.value if isinstance(self.action, Token) else _word(self.action)
        return f"{self.test}; {action}"

    def __len__(self) -> int:
        return len(self.test)

    def after(self, action: str, observation: str) -> Intent:
        """The intent a o q z: this intent, preceded by one interaction."""
        return Intent(self.test.after(action, observation), self.action)

    @staticmethod
    def parse(text: str) -> Intent:
        """Parse the text form of an intent."""
        future = parse_future(text)
        if isinstance(future, Test):
            raise InputError(f"read the test {text!r}, expected an intent such as '{text}; ζ'")
        return future


Future = Test | Intent


def parse_future(text: str) -> Future:
    """Parse the text form of a test or intent; an `InputError` names the place of a mistake."""
    pieces = _pieces(text)
    head, _, tail = _partition(pieces, ";")
    test = _parse_test(head, text)
    if ";" not in pieces:
        return test
    if len(tail) != 1 or tail[0] in (",", ";"):
        raise InputError(f"{text!r}: expected one action or ζ after ';'")
    return Intent(test, ZETA if tail[0] == ZETA.value else _name(tail[0], text))


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    at = 0
    while text[at:].strip():
        match = _PIECE.match(text, at)
        if match is None:
            column = len(text) - len(text[at:].lstrip()) + 1
            raise InputError(f"{text!r}: the quotes at column {column} are not closed")
        pieces.append(match[1])
        at = match.end()
    return pieces


def _partition(pieces: list[str], mark: str) -> tuple[list[str], str, list[str]]:
    if mark not in pieces:
        return pieces, "", []
    at = pieces.index(mark)
    return pieces[:at], mark, pieces[at + 1 :]


def _parse_test(pieces: list[str], text: str) -> Test:
    if pieces == [EMPTY]:
        return Test()
    interactions: list[Interaction] = []
    rest = pieces
    while rest:
        pair, comma, rest = _partition(rest, ",")
        if len(pair) != 2 or (comma and not rest):
            raise InputError(f"{text!r}: expected pairs 'action observation' between commas")
        interactions.append(Interaction(_name(pair[0], text), _name(pair[1], text)))
    if not interactions:
        raise InputError(f"{text!r}: expected a test; write {EMPTY} for the empty test")
    return Test(tuple(interactions))


def _name(piece: str, text: str) -> str:
    if piece in (EMPTY, ZETA.value):
        raise InputError(
            f"{text!r}: expected a name instead of {piece}; to use it as a name, quote it"
        )
    if not piece.startswith('"'):
        return piece
    try:
        return str(json.loads(piece))
    except json.JSONDecodeError:
        raise InputError(f"{text!r}: {piece} is not a quoted name") from None
