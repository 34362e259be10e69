"""One episode as a log tells it, before names become indices, and how many become `Trajectories`.

Actions and observations are named by strings or numbered from 0; one log does one of the two.
Without a list of names, strings are sorted and numbers are counted up to the largest, so that the
order does not depend on which file or episode came first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.logs.families import Families
from rpsr.logs.trajectories import Trajectories

Names = tuple[str, ...]
MOST = 2**16  # labels by index: a larger index is a slip, and counting up to it fills the memory


@dataclass(frozen=True)
class Columns:
    """What a table with one row a step calls its columns.

    A table may lack reward, propensity and terminated, unless they were given a name of their own.
    """

    episode: str = "episode"
    step: str = "step"
    action: str = "action"
    observation: str = "observation"
    reward: str = "reward"
    propensity: str = "propensity"
    terminated: str = "terminated"


@dataclass
class Episode:
    """One episode as read. number counts from 0 within its file; line (from 1) is where it begins.

    Columns are lists of one length; a list that the log does not have is None.
    """

    place: str
    line: int
    number: int
    actions: list[Any]
    observations: list[Any]
    rewards: list[Any] | None
    propensities: list[Any] | None
    terminated: bool
    states: list[Any] | None = None

    def error(self, message: str, step: int | None = None) -> InputError:
        """An error about this episode, or about one of its steps."""
        where = f"episode {self.number}" + ("" if step is None else f", step {step}")
        return InputError(f"{where}: {message}", place=self.place, line=self.line)


@dataclass
class Alphabet:
    """The names of one kind of label ('action' or 'observation'), collected or given."""

    kind: str
    given: Names | None = None
    seen: set[str] = field(default_factory=set[str])
    count: int = 0

    def collect(self, episode: Episode, labels: Sequence[Any]) -> None:
        """Take in the labels of one episode."""
        if self.given is not None:
            return
        for step, label in enumerate(labels):
            if isinstance(label, str) and not self.count:
                self.seen.add(label)
            elif _is_index(label) and not self.seen:
                self.count = max(self.count, int(label) + 1)
            else:
                expected = "a name, as before" if self.seen else f"an index below {MOST}, as before"
                if not self.seen and not self.count:
                    expected = f"a name or an index from 0, below {MOST}"
                raise episode.error(f"{self.kind}: read {label!r}, expected {expected}", step)

    @property
    def names(self) -> Names:
        """The names, in the order that indices follow."""
        if self.given is not None:
            return self.given
        return tuple(sorted(self.seen)) or tuple(str(i) for i in range(self.count))

    def encode(self, episode: Episode, labels: Sequence[Any], index: dict[Any, int]) -> list[int]:
        """The labels of an episode as indices; `index` maps names and indices to indices."""
        try:
            return [index[label] for label in labels]
        except (KeyError, TypeError):
            pass
        for step, label in enumerate(labels):
            if not isinstance(label, str | int) or isinstance(label, bool) or label not in index:
                names = self.names
                some = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
                expected = f"one of {some}, or an index from 0 to {len(names) - 1}"
                raise episode.error(f"{self.kind}: read {label!r}, expected {expected}", step)
        raise AssertionError("a label that cannot be looked up is found by looking")


def _is_index(label: Any) -> bool:
    return isinstance(label, int) and not isinstance(label, bool) and 0 <= label < MOST


def alphabets(
    episodes: Iterable[Episode], action_names: Names | None, observation_names: Names | None
) -> tuple[Alphabet, Alphabet]:
    """The names of actions and observations; the episodes are only read if some are not given.

    If none are, files that have nothing in common are refused.
    """
    actions = Alphabet("action", action_names)
    observations = Alphabet("observation", observation_names)
    if action_names is None or observation_names is None:
        families = Families()
        for place, file in groupby(episodes, key=lambda episode: episode.place):
            done, seen = set[Any](), set[Any]()
            for episode in file:
                actions.collect(episode, episode.actions)
                observations.collect(episode, episode.observations)
                if action_names is None and observation_names is None:
                    done.update(episode.actions)
                    seen.update(episode.observations)
            families.add(place, done, seen)
        families.check()
    return actions, observations


_COLUMNS = ("rewards", "propensities", "states")


def chunks(
    episodes: Iterable[Episode], actions: Alphabet, observations: Alphabet, steps: int
) -> Iterator[Trajectories]:
    """Whole episodes as `Trajectories` of at least so many steps each, but for the last.

    What the first episode records (rewards, propensities, states), all must record.
    """
    held: list[Episode] = []
    size = 0
    first: Episode | None = None
    for episode in episodes:
        first = first or episode
        for name in _COLUMNS:
            if (getattr(episode, name) is None) is not (getattr(first, name) is None):
                has, had = (
                    ("no ", "has them") if getattr(episode, name) is None else ("", "has none")
                )
                raise episode.error(f"read {has}{name}; the first episode {had}")
        held.append(episode)
        size += len(episode.actions)
        if size >= steps:
            yield _join(held, actions, observations)
            held, size = [], 0
    if held:
        yield _join(held, actions, observations)


def _join(held: list[Episode], actions: Alphabet, observations: Alphabet) -> Trajectories:
    coded: dict[str, list[int]] = {}
    for alphabet, name in ((actions, "actions"), (observations, "observations")):
        index: dict[Any, int] = {i: i for i in range(len(alphabet.names))}
        index |= {label: i for i, label in enumerate(alphabet.names)}
        coded[name] = [code for e in held for code in alphabet.encode(e, getattr(e, name), index)]
    lengths = [len(episode.actions) for episode in held]
    numbers = {
        name: None
        if getattr(held[0], name) is None
        else [_number(e, name, s, v) for e in held for s, v in enumerate(getattr(e, name))]
        for name in _COLUMNS
    }
    return Trajectories(
        action_names=actions.names,
        observation_names=observations.names,
        actions=np.array(coded["actions"], dtype=np.int64),
        observations=np.array(coded["observations"], dtype=np.int64),
        offsets=np.cumsum([0, *lengths]),
        terminated=np.array([episode.terminated for episode in held]),
        **numbers,  # pyright: ignore[reportArgumentType]  # lists of numbers become arrays
    )


_EXPECTED = {
    "rewards": "a finite number",
    "propensities": "a probability above 0, at most 1",
    "states": "the index of a state",
}


def _number(episode: Episode, name: str, step: int, value: Any) -> float | int:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if good and name == "propensities":
        good = 0 < value <= 1
    elif good and name == "states":
        good = isinstance(value, int) and value >= 0
    elif good:
        good = abs(value) <= sys.float_info.max  # also says no to NaN, and to integers too large
    if not good:
        raise episode.error(f"{name}: read {value!r}, expected {_EXPECTED[name]}", step)
    return value
