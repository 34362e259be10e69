"""The phrases of the explicit form, and what a file says, phrase by phrase."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from rpsr.io.explicit import number_of
from rpsr.io.prism.scanner import Phrase, Scanner
from rpsr.io.records import IN_RANGE, LARGEST_REWARD

_INTEGER = r"(-?\d{1,18})\b"
_DECIMAL = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBER = rf"{_DECIMAL}(?:\s*/\s*{_DECIMAL})?"
_EQUALS = ("=", "'='")
_UPDATE = "an update such as 0.5 : (s'=1) & (o'=2)"
_VALUE = (_INTEGER, "a whole number")

_OBSERVABLES = Phrase((r"observables\b", "'observables'"), (r"([^;\[\]]*?)\bendobservables\b",
                      "the name of the observable variable and 'endobservables'"))  # fmt: skip
_MODULE = Phrase((r"module\b", "'module'"), (r"(\w+)", "the module's name"))
_VARIABLE = Phrase(
    (r"(\w+)", "a variable"),
    (":", "':'"),
    (r"\[", "a range such as [0..9]"),
    _VALUE,
    (r"\.\.", "'..'"),
    _VALUE,
    (r"\]", "']'"),
    (r"(?:init\s+(-?\d{1,18})\b)?", "'init'"),
    (";", "';' or 'init' and a whole number"),
)
_COMMAND = Phrase(
    (r"\[", "'['"),
    (r"(\w*)", "an action"),
    (r"\]", "']'"),
    (r"(\w+)", "a guard such as s=3"),
    _EQUALS,
    _VALUE,
    ("->", "'->'"),
)
_OUTCOME = Phrase(
    (rf"(?:({_NUMBER})\s*:)?", _UPDATE),
    (r"\(", _UPDATE),
    (r"(\w+)'", "a variable with a prime, such as s'"),
    _EQUALS,
    _VALUE,
    (r"\)", "')'"),
    ("&", "'&' and the other variable: an update sets the state and the observation"),
    (r"\(", "'('"),
    (r"(\w+)'", "a variable with a prime, such as o'"),
    _EQUALS,
    _VALUE,
    (r"\)", "')'"),
    ("([+;])", "'+' or ';'"),
)
_LABEL = Phrase(
    (r"label\b", "'label'"), (r'"([^"\n]*)"', "the label's name in quotes"), _EQUALS
)  # fmt: skip
_TERM = Phrase(
    (r"(?:\(\s*)?(?:(true|false)\b|(\w+)\s*=\s*(-?\d{1,18})\b)(?:\s*\))?", "a state such as s=3"),
    ("([|;])", "'|' or ';'"),
)
_REWARDS = Phrase((r"rewards\b", "'rewards'"), (r'(?:"([^"\n]*)")?', "a name in quotes"))
_ITEM = Phrase(
    (r"(?:\[\s*(\w*)\s*\])?", "an action"),
    (r"(?:(true)\b|(\w+)\s*=\s*(-?\d{1,18})\b)", "a state such as s=3, or 'endrewards'"),
    (":", "':'"),
    (rf"(-?\s*{_NUMBER})", "a number"),
    (";", "';'"),
)
_FEATURES = {
    b"const": "constants",
    b"formula": "formulas",
    b"global": "global variables",
    b"observable": "observable expressions",
    b"init": "sets of initial states",
    b"system": "compositions of modules",
    b"player": "players",
    b"invariant": "invariants",
    b"module": "several modules",
}


@dataclass
class Variable:
    """A bounded integer variable. at: where it is declared."""

    name: bytes
    low: int
    high: int
    initial: int
    at: int


@dataclass
class Term:
    """A set of states: all (value None, name b"true"), none (b"false"), or name = value."""

    name: bytes
    value: int | None
    at: int


@dataclass
class Item:
    """A reward: of an action (None: of being in the state) where a term holds."""

    action: bytes | None
    term: Term
    worth: Fraction


@dataclass
class Contents:
    """The content of a file, in its order. Commands and outcomes are parallel lists.

    outcome_command: the command of each outcome; outcome_names: whether the variables of all
    outcomes are `pair`, in this order.
    """

    fragment: bool = False
    observables: list[bytes] = field(default_factory=list[bytes])
    variables: list[Variable] = field(default_factory=list[Variable])
    actions: list[bytes] = field(default_factory=list[bytes])
    guards: list[tuple[bytes, int]] = field(default_factory=list[tuple[bytes, int]])
    command_at: list[int] = field(default_factory=list[int])
    outcome_command: list[int] = field(default_factory=list[int])
    probabilities: list[bytes] = field(default_factory=list[bytes])
    updates: list[tuple[bytes, int, bytes, int]] = field(
        default_factory=list[tuple[bytes, int, bytes, int]]
    )
    outcome_at: list[int] = field(default_factory=list[int])
    labels: list[tuple[str, list[Term]]] = field(default_factory=list[tuple[str, list[Term]]])
    rewards: list[tuple[str, list[Item]]] = field(default_factory=list[tuple[str, list[Item]]])


def parse(scanner: Scanner) -> Contents:
    """The content of a file in the explicit form, or of its commands and labels alone."""
    contents = Contents(fragment=scanner.peek() == b"[")
    if contents.fragment:
        _commands(scanner, contents)
    else:
        _header(scanner, contents)
    while word := scanner.peek():
        match word:
            case b"observables" if not contents.fragment:
                _observables(scanner, contents)
            case b"module" if not contents.fragment and not contents.command_at:
                _module(scanner, contents)
            case b"label":
                _label(scanner, contents)
            case b"rewards":
                _reward_model(scanner, contents)
            case b"endmodule" if contents.fragment:
                scanner.at += len(word)
            case _:
                raise _unexpected(scanner, word, "'module', 'label' or 'rewards'")
    if not contents.command_at:
        raise scanner.outside(scanner.at, "the file has no command, expected commands such as "
                              "[a] s=0 -> 1 : (s'=1) & (o'=2);")  # fmt: skip
    return contents


def _unexpected(scanner: Scanner, word: bytes, expected: str) -> Exception:
    if word in _FEATURES:
        shown = scanner.shown(scanner.at)
        return scanner.outside(
            scanner.at, f"read {shown}: rpsr cannot read {_FEATURES[word]} itself"
        )
    return scanner.outside(scanner.at, f"read {scanner.shown(scanner.at)}, expected {expected}")


def _header(scanner: Scanner, contents: Contents) -> None:
    word = scanner.peek()
    if word in (b"dtmc", b"ctmc", b"mdp", b"pta", b"smg", b"ma"):
        shown = scanner.shown(scanner.at)
        raise scanner.error(
            scanner.at, f"read {shown}, a model without observations; expected 'pomdp'"
        )
    if word != b"pomdp":
        raise _unexpected(scanner, word, "'pomdp'")
    scanner.at += len(word)


def _observables(scanner: Scanner, contents: Contents) -> None:
    match = scanner.take(_OBSERVABLES)
    contents.observables += match[1].replace(b",", b" ").split()


def _module(scanner: Scanner, contents: Contents) -> None:
    scanner.take(_MODULE)
    while (word := scanner.peek()) not in (b"[", b"endmodule", b""):
        start = scanner.at
        name, low, high, initial = scanner.take(_VARIABLE).groups()
        first = int(low) if initial is None else int(initial)
        contents.variables.append(Variable(name, int(low), int(high), first, start))
    _commands(scanner, contents)
    if (word := scanner.peek()) != b"endmodule":
        raise _unexpected(scanner, word, "a command such as [a] s=0 -> ..., or 'endmodule'")
    scanner.at += len(word)


def _commands(scanner: Scanner, contents: Contents) -> None:
    outcome, text = _OUTCOME.whole.match, scanner.text
    probabilities, updates = contents.probabilities, contents.updates
    while scanner.peek() == b"[":
        contents.command_at.append(scanner.at)
        action, name, value = scanner.take(_COMMAND).groups()
        contents.actions.append(action)
        contents.guards.append((name, int(value)))
        end, first = b"+", len(updates)
        while end == b"+":
            match = outcome(text, scanner.at) or scanner.take(_OUTCOME)
            chance, one, here, other, there, end = match.groups()
            probabilities.append(b"1" if chance is None else chance)
            updates.append((one, int(here), other, int(there)))
            contents.outcome_at.append(scanner.at)
            scanner.at = match.end()
        command = len(contents.command_at) - 1
        contents.outcome_command += [command] * (len(updates) - first)


def _label(scanner: Scanner, contents: Contents) -> None:
    start = scanner.at
    name = scanner.take(_LABEL)[1].decode("utf-8", "backslashreplace")
    if name in (earlier for earlier, _ in contents.labels):
        raise scanner.error(start, f"the label '{name}' is given twice")
    terms: list[Term] = []
    contents.labels.append((name, terms))
    end = b"|"
    while end == b"|":
        scanner.peek()
        at = scanner.at
        constant, variable, value, end = scanner.take(_TERM).groups()
        terms.append(Term(constant or variable, None if constant else int(value), at))


def _reward_model(scanner: Scanner, contents: Contents) -> None:
    name = scanner.take(_REWARDS)[1] or b""
    items: list[Item] = []
    contents.rewards.append((name.decode("utf-8", "backslashreplace"), items))
    while (word := scanner.peek()) != b"endrewards":
        at = scanner.at
        action, always, variable, value, number = scanner.take(_ITEM).groups()
        minus, digits = number.startswith(b"-"), number.lstrip(b"-").strip()
        worth = number_of(digits)
        if worth is None or worth > LARGEST_REWARD:
            shown = number.decode()
            raise scanner.error(at, f"the reward: read {shown}, expected {IN_RANGE}")
        term = Term(always or variable, None if always else int(value), at)
        items.append(Item(action, term, -worth if minus else worth))
    scanner.at += len(word)
