"""The names of a log's actions and observations, and its blocks over them, as `Trajectories`.

Actions and observations are named by strings or numbered from 0; one log uses one of the two. In a
table, whole numbers are names, too. Without a list of names, names are sorted (by value, if all are
whole numbers) and indices are counted up to the largest, so that the order does not depend on which
file or episode came first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Ints
from rpsr.logs.blocks import DISCRETISE, Block, Labels, discretise
from rpsr.logs.families import Families
from rpsr.logs.tables.listed import DECIMAL, WHOLE
from rpsr.logs.trajectories import Trajectories, join
from rpsr.printable import shortened

Names = tuple[str, ...]
MOST = 2**16  # names; more are an error, and would fill the memory


@dataclass
class Alphabet:
    """The names of one kind of label ('action' or 'observation'), collected or given.

    decimal: the first label of a text file that is a decimal number, with its block and step, as
    long as all labels of text files are numbers.
    """

    kind: str
    given: Names | None = None
    seen: set[str] = field(default_factory=set[str])
    count: int = 0
    words: bool = False  # whether a text file has a label that is no number
    decimal: tuple[Block, int] | None = None

    def collect(self, block: Block, labels: Labels) -> None:
        """Collect the labels of one block."""
        if self.given is not None:
            return
        for place, label in enumerate(labels.distinct):
            name = _named(label) if labels.named else label
            if isinstance(name, str) and not self.count:
                if labels.text and name not in self.seen:
                    self._look(block, labels, place)
                self.seen.add(name)
            elif _is_index(label) and not labels.named and not self.seen:
                self.count = max(self.count, int(label) + 1)
            else:
                raise self._unexpected(block, labels, place)
            if len(self.seen) > MOST:
                self.settle()
                raise block.error(
                    f"{block.field(self.kind)}: more than {MOST} different names for the "
                    f"{self.kind}, expected fewer; {DISCRETISE}",
                    labels.first(place),
                )

    def _look(self, block: Block, labels: Labels, place: int) -> None:
        """Look at a new label of a text file: is it a name, a whole number or a decimal number?"""
        text = labels.distinct[place]
        if not DECIMAL.fullmatch(text):
            self.words, self.decimal = True, None
        elif not self.words and self.decimal is None and not WHOLE.fullmatch(text):
            self.decimal = (block, labels.first(place))

    def settle(self) -> None:
        """Refuse a column of a text file that holds only numbers, of which some are decimal."""
        if self.decimal is not None:
            block, at = self.decimal
            labels = block.actions if self.kind == "action" else block.observations
            read = shortened(repr(labels.distinct[labels.codes[at]]))
            raise block.error(
                f"{block.field(self.kind)}: read {read}, a decimal number, expected names or "
                f"whole numbers for the {self.kind}; {discretise(self.seen)}",
                at,
            )

    def _unexpected(self, block: Block, labels: Labels, place: int) -> InputError:
        label, at = labels.distinct[place], labels.first(place)
        usual = "a name" if self.seen else f"an index from 0 to {MOST - 1}"
        expected = f"{usual}, like the values before"
        if labels.named and not self.count:
            expected = f"a name or a whole number for the {self.kind}"
        elif not self.seen and not self.count:
            expected = f"a name or an index from 0 to {MOST - 1}"
        hint = f"; {discretise([label])}" if isinstance(label, float) else ""
        read = f"{block.field(self.kind)}: read {shortened(repr(label))}"
        return block.error(f"{read}, expected {expected}{hint}", at)

    @property
    def names(self) -> Names:
        """The names, in the order of their indices; numbers in their order."""
        if self.given is not None:
            return self.given
        if not self.seen:
            return tuple(str(i) for i in range(self.count))
        names = sorted(self.seen)
        return tuple(sorted(names, key=int) if all(map(WHOLE.fullmatch, names)) else names)

    def encode(self, block: Block, labels: Labels) -> Ints:
        """The labels of a block as indices, (L,)."""
        names = self.names
        index: dict[Any, int] = {i: i for i in range(len(names))}
        if labels.text and self.given is not None:
            index |= {str(i): i for i in range(len(names))}
        index |= {label: i for i, label in enumerate(names)}
        table = np.empty(len(labels.distinct), dtype=np.int64)
        for place, label in enumerate(labels.distinct):
            named = _named(label) if labels.named else label
            try:
                table[place] = index[named] if named in index else index[label]
            except (KeyError, TypeError):
                some = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
                expected = f"one of {some}, or an index from 0 to {len(names) - 1}"
                read = f"{block.field(self.kind)}: read {shortened(repr(label))}"
                raise block.error(f"{read}, expected {expected}", labels.first(place)) from None
        return table[labels.codes]


def _is_index(label: Any) -> bool:
    return isinstance(label, int) and not isinstance(label, bool) and 0 <= label < MOST


def _named(label: Any) -> Any:
    """A label of a table as a name, if it is a text, a whole number or a truth value."""
    return str(label) if isinstance(label, str | int) else label


def alphabets(
    blocks: Iterable[Block], action_names: Names | None, observation_names: Names | None
) -> tuple[Alphabet, Alphabet]:
    """The names of actions and observations; reads the blocks only if some are not given.

    If no names are given, files that share no name are refused.
    """
    actions = Alphabet("action", action_names)
    observations = Alphabet("observation", observation_names)
    if action_names is None or observation_names is None:
        families = Families()
        for place, file in groupby(blocks, key=lambda block: block.place):
            done, seen = set[Any](), set[Any]()
            for block in file:
                actions.collect(block, block.actions)
                observations.collect(block, block.observations)
                if action_names is None and observation_names is None:
                    done.update(block.actions.distinct)
                    seen.update(block.observations.distinct)
            families.add(place, done, seen)
        families.check()
        actions.settle()
        observations.settle()
    return actions, observations


NOTHING: Any = ([], [], [0], [])  # of a log without episodes
_COLUMNS = ("rewards", "propensities", "states")


def chunks(
    blocks: Iterable[Block], actions: Alphabet, observations: Alphabet, steps: int
) -> Iterator[Trajectories]:
    """Whole episodes as `Trajectories` of at least `steps` steps each, except the last.

    All episodes must record the same columns (rewards, propensities, states) as the first.
    """
    held: list[Trajectories] = []
    size = 0
    first: Block | None = None
    for block in blocks:
        first = first or block
        for name in _COLUMNS:
            if (getattr(block, name) is None) is not (getattr(first, name) is None):
                has, had = ("no ", "has them") if getattr(block, name) is None else ("", "has none")
                raise block.error(
                    f"read {has}{name}, but the first episode {had}: expected the same columns in "
                    "all episodes"
                )
        log = _coded(block, actions, observations)
        begin = 0  # the first episode of the block that is not in a chunk yet
        while True:
            end = int(np.searchsorted(log.offsets, log.offsets[begin] + steps - size))
            if end > log.episodes:
                break
            yield join([*held, log.select(np.arange(begin, end))])
            held, size, begin = [], 0, end
        if begin < log.episodes:
            rest = log.select(np.arange(begin, log.episodes)) if begin else log
            held.append(rest)
            size += rest.steps
    if held:
        yield join(held)


def gathered(
    blocks: Iterable[Block],
    action_names: Sequence[str] | None,
    observation_names: Sequence[str] | None,
) -> Trajectories:
    """The episodes of some blocks as one log."""
    held = list(blocks)
    actions, observations = alphabets(
        held,
        None if action_names is None else tuple(action_names),
        None if observation_names is None else tuple(observation_names),
    )
    coded = [_coded(block, actions, observations) for block in held]
    return join(coded) if coded else Trajectories(actions.names, observations.names, *NOTHING)


def _coded(block: Block, actions: Alphabet, observations: Alphabet) -> Trajectories:
    return Trajectories(
        action_names=actions.names,
        observation_names=observations.names,
        actions=actions.encode(block, block.actions),
        observations=observations.encode(block, block.observations),
        offsets=block.offsets,
        terminated=block.terminated,
        truncated=block.truncated,
        rewards=block.numbers("rewards"),
        propensities=block.numbers("propensities"),
        states=block.numbers("states"),
    )
