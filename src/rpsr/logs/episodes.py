"""The names of a log's actions and observations, and its blocks over them, as `Trajectories`.

Actions and observations are named by strings or numbered from 0; one log uses one of the two.
Without a list of names, strings are sorted and numbers are counted up to the largest, so that the
order does not depend on which file or episode came first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from rpsr.io.records import Ints
from rpsr.logs.blocks import Block, Labels
from rpsr.logs.families import Families
from rpsr.logs.trajectories import Trajectories, join

Names = tuple[str, ...]
MOST = 2**16  # indices; a larger one is an error, and counting up to it would fill the memory


@dataclass(frozen=True)
class Columns:
    """The column names of a table with one row per step.

    Reward, propensity and terminated may be missing, unless you give them another name.
    """

    episode: str = "episode"
    step: str = "step"
    action: str = "action"
    observation: str = "observation"
    reward: str = "reward"
    propensity: str = "propensity"
    terminated: str = "terminated"


@dataclass
class Alphabet:
    """The names of one kind of label ('action' or 'observation'), collected or given."""

    kind: str
    given: Names | None = None
    seen: set[str] = field(default_factory=set[str])
    count: int = 0

    def collect(self, block: Block, labels: Labels) -> None:
        """Collect the labels of one block."""
        if self.given is not None:
            return
        for place, label in enumerate(labels.distinct):
            if isinstance(label, str) and not self.count:
                self.seen.add(label)
            elif _is_index(label) and not self.seen:
                self.count = max(self.count, int(label) + 1)
            else:
                expected = "a name, as before" if self.seen else f"an index below {MOST}, as before"
                if not self.seen and not self.count:
                    expected = f"a name or an index from 0 to {MOST - 1}"
                at = labels.first(place)
                raise block.error(f"{self.kind}: read {label!r}, expected {expected}", at)

    @property
    def names(self) -> Names:
        """The names, in the order of their indices."""
        if self.given is not None:
            return self.given
        return tuple(sorted(self.seen)) or tuple(str(i) for i in range(self.count))

    def encode(self, block: Block, labels: Labels) -> Ints:
        """The labels of a block as indices, (L,)."""
        names = self.names
        index: dict[Any, int] = {i: i for i in range(len(names))}
        index |= {label: i for i, label in enumerate(names)}
        table = np.empty(len(labels.distinct), dtype=np.int64)
        for place, label in enumerate(labels.distinct):
            try:
                table[place] = index[label]
            except (KeyError, TypeError):
                some = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
                expected = f"one of {some}, or an index from 0 to {len(names) - 1}"
                at = labels.first(place)
                raise block.error(f"{self.kind}: read {label!r}, expected {expected}", at) from None
        return table[labels.codes]


def _is_index(label: Any) -> bool:
    return isinstance(label, int) and not isinstance(label, bool) and 0 <= label < MOST


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
    return actions, observations


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
                raise block.error(f"read {has}{name}; the first episode {had}")
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


def _coded(block: Block, actions: Alphabet, observations: Alphabet) -> Trajectories:
    return Trajectories(
        action_names=actions.names,
        observation_names=observations.names,
        actions=actions.encode(block, block.actions),
        observations=observations.encode(block, block.observations),
        offsets=block.offsets,
        terminated=block.terminated,
        rewards=block.numbers("rewards"),
        propensities=block.numbers("propensities"),
        states=block.numbers("states"),
    )
