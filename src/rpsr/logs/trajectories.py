"""Episodes of actions, observations and rewards, as flat arrays.

A simulator writes them and an estimator reads them. Episodes differ in length, so their steps are
concatenated, and `offsets` gives the first step of each: episode i is the slice
`offsets[i]:offsets[i + 1]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rpsr.errors import DataError, InputError
from rpsr.io.records import IN_RANGE, LARGEST_REWARD, Bools, Floats, Ints, frozen
from rpsr.logs.columns import naming
from rpsr.showing import Shown, counted, some

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories(Shown):
    """Episodes over named actions and observations; N episodes, L steps in all.

    actions, observations (L,): indices. rewards (L,), propensities (L,) (the probability with which
    the logged action was taken) and states (L,) (of a simulated system, before the action): None if
    not recorded. offsets (N + 1,). terminated (N,): whether the task ended there. truncated (N,):
    whether the recording ended, as by a limit on steps; both may hold. An episode that did not
    terminate is truncated, whatever is given; by default, only such an episode is.
    """

    action_names: tuple[str, ...]
    observation_names: tuple[str, ...]
    actions: Ints
    observations: Ints
    offsets: Ints
    terminated: Bools
    rewards: Floats | None = None
    propensities: Floats | None = None
    states: Ints | None = None
    truncated: Bools = None  # pyright: ignore[reportAssignmentType]

    def __post_init__(self) -> None:
        for kind in ("action_names", "observation_names"):
            object.__setattr__(self, kind, _each_once(getattr(self, kind), kind))
        for name, kind in _KINDS.items():
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, frozen(np.asarray(given, dtype=kind)))
        self._check_offsets()
        cut = ~self.terminated if self.truncated is None else self.truncated | ~self.terminated  # pyright: ignore[reportUnnecessaryComparison]
        object.__setattr__(self, "truncated", frozen(cut))
        for name in ("actions", "observations", "rewards", "propensities", "states"):
            column = getattr(self, name)
            if column is not None and column.shape != (self.steps,):
                raise InputError(f"{name}: read shape {column.shape}, expected ({self.steps},)")
        for name, column, names in (
            ("actions", self.actions, self.action_names),
            ("observations", self.observations, self.observation_names),
        ):
            expected = f"an index from 0 to {len(names) - 1}"
            self._check(name, self._inside(column, names), expected)
        if self.rewards is not None:
            self._check("rewards", np.isfinite(self.rewards), "a finite number")
            self._check("rewards", np.abs(self.rewards) <= LARGEST_REWARD, IN_RANGE)
        if self.propensities is not None:
            chance = (self.propensities > 0) & (self.propensities <= 1)
            self._check("propensities", chance, "a probability above 0, at most 1")

    def _check_offsets(self) -> None:
        offsets = self.offsets
        if offsets.ndim != 1 or len(offsets) == 0 or offsets[0] != 0:
            raise InputError(
                "offsets: expected the first step of each episode, beginning with 0, and the "
                "number of all steps"
            )
        if np.any(np.diff(offsets) < 0) or offsets[-1] != len(self.actions):
            raise InputError(
                f"offsets: expected increasing numbers from 0 to {len(self.actions)}, the number "
                "of all steps"
            )
        for name in ("terminated", "truncated"):
            flags: Bools | None = getattr(self, name)
            if flags is not None and flags.shape != (self.episodes,):
                read = flags.shape
                raise InputError(f"{name}: read shape {read}, expected ({self.episodes},)")

    @staticmethod
    def _inside(column: Ints, names: tuple[str, ...]) -> Bools:
        return (column >= 0) & (column < len(names))

    def _check(self, name: str, good: Bools, expected: str) -> None:
        """An error that names the first episode and step (both from 0) where a column is wrong."""
        if good.all():
            return
        at = int(np.argmin(good))
        episode, step = self.place(at)
        read = getattr(self, name)[at]
        raise InputError(
            f"episode {episode}, step {step}: {name}: read {read}, expected {expected}"
        )

    def place(self, at: int) -> tuple[int, int]:
        """The episode of a step of the log, and the step's number in it; all from 0."""
        episode = int(np.searchsorted(self.offsets, at, side="right")) - 1
        return episode, at - int(self.offsets[episode])

    def check_names(
        self, actions: tuple[str, ...], observations: tuple[str, ...], owner: str
    ) -> None:
        """Raise a `DataError` unless the log has these names, in this order.

        owner: the start of a clause that ends with the expected names, such as "the model's are".
        """
        for kind, read, expected in (
            ("actions", self.action_names, actions),
            ("observations", self.observation_names, observations),
        ):
            if read != expected:
                listed = f"the log's {kind} are {', '.join(read)}; {owner} {', '.join(expected)}"
                raise DataError(listed)

    def rewards_for(self, purpose: str) -> Floats:
        """The rewards, (L,); a `DataError` that names the purpose if there are none."""
        if self.rewards is None:
            raise DataError(no_rewards(purpose))
        return self.rewards

    @property
    def episodes(self) -> int:
        """The number N of episodes."""
        return len(self.offsets) - 1

    @property
    def steps(self) -> int:
        """The number L of steps in all episodes."""
        return len(self.actions)

    @property
    def ends(self) -> Ints:
        """The steps at which a task ended."""
        return self.offsets[1:][self.terminated & (self.lengths > 0)] - 1

    @property
    def lengths(self) -> Ints:
        """The number of steps of each episode, (N,)."""
        return np.diff(self.offsets)

    def title(self) -> str:
        """A description in one line."""
        extra = [
            name
            for name in ("rewards", "propensities", "states")
            if getattr(self, name) is not None
        ]
        tail = f", with {' and '.join(extra)}" if extra else ""
        return f"{counted(self.episodes, 'episode')}, {counted(self.steps, 'step')}{tail}"

    def facts(self) -> list[tuple[str, str]]:
        """Names, lengths, ends and rewards, for people."""
        lengths, rewards = self.lengths, self.rewards
        facts = [
            ("actions", some(self.action_names)),
            ("observations", some(self.observation_names)),
        ]
        if self.episodes:
            facts.append(("lengths", f"{lengths.min()} to {lengths.max()} steps"))
            facts.append(("terminated", f"{int(self.terminated.sum())} of {self.episodes}"))
        if rewards is not None and len(rewards):
            span = f"{rewards.min():g} to {rewards.max():g}"
            facts.append(("rewards", f"{span}, mean {rewards.mean():.4g} per step"))
        return facts

    def __len__(self) -> int:
        return self.episodes

    def __iter__(self) -> Iterator[Trajectories]:
        """The episodes, one at a time."""
        return (self.select(np.array([episode])) for episode in range(self.episodes))

    def __getitem__(self, episodes: int | slice | Sequence[int] | Ints | Bools) -> Trajectories:
        """Some episodes: by number, a slice, numbers, or a mask (N,), as numpy does."""
        if isinstance(episodes, slice):
            return self.select(np.arange(self.episodes)[episodes])
        asked = np.asarray(episodes)
        plain = asked.dtype.kind in "iub" or (asked.size == 0 and isinstance(episodes, list))
        if not plain or asked.ndim > 1 or (asked.ndim == 0 and asked.dtype.kind == "b"):
            raise InputError(f"episodes: read {episodes!r}, expected numbers, a slice or a mask")
        asked = asked if asked.dtype.kind == "b" else asked.astype(np.int64)
        return self.select(np.arange(self.episodes)[asked].reshape(-1))

    def select(self, episodes: Ints) -> Trajectories:
        """Some episodes, in the order given; repetitions are allowed (a bootstrap sample)."""
        episodes = np.asarray(episodes, dtype=np.int64)
        lengths = self.lengths[episodes]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        shift = np.repeat(self.offsets[episodes] - offsets[:-1], lengths)
        steps = np.arange(offsets[-1]) + shift
        columns: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[steps]
            for name in ("actions", "observations", "rewards", "propensities", "states")
        }
        return Trajectories(
            action_names=self.action_names,
            observation_names=self.observation_names,
            offsets=offsets,
            terminated=self.terminated[episodes],
            truncated=self.truncated[episodes],
            **columns,
        )

    def to_pandas(self) -> DataFrame:
        """A pandas data frame with one row per step, as `from_frame` reads it; needs pandas."""
        from rpsr.logs.tables.frames import frame_of

        return frame_of(self)

    def padded(self, name: str, fill: float) -> NDArray[Any]:
        """A column as a table with one row per episode, (N, longest), padded with `fill`."""
        column = getattr(self, name)
        if column is None:
            raise InputError(f"the log has no {name}")
        table = np.full((self.episodes, int(self.lengths.max(initial=0))), fill, dtype=column.dtype)
        table[np.arange(table.shape[1]) < self.lengths[:, None]] = column
        return table


def no_rewards(purpose: str) -> str:
    """The message about a log without rewards."""
    return (
        f"the log has no rewards, expected rewards for {purpose}; if the log is a table with a "
        f"column of rewards, {naming('reward')}"
    )


def join(logs: Iterable[Trajectories]) -> Trajectories:
    """Several logs over the same names as one, episode after episode."""
    parts = list(logs)
    if not parts:
        raise InputError("read no log, expected at least one")
    first = parts[0]
    for part in parts:
        for kind in ("action_names", "observation_names"):
            read, expected = getattr(part, kind), getattr(first, kind)
            if read != expected:
                raise InputError(f"{kind}: read {read}, expected {expected}, as in the first log")

    def column(name: str) -> np.ndarray | None:
        columns = [getattr(part, name) for part in parts]
        present = [c for c in columns if c is not None]
        if present and len(present) < len(columns):
            raise InputError(f"{name}: some logs have {name} and others do not, expected all to")
        return np.concatenate(present) if present else None

    return Trajectories(
        action_names=first.action_names,
        observation_names=first.observation_names,
        actions=np.concatenate([part.actions for part in parts]),
        observations=np.concatenate([part.observations for part in parts]),
        offsets=np.cumsum(np.concatenate([[0], *(part.lengths for part in parts)])),
        terminated=np.concatenate([part.terminated for part in parts]),
        truncated=np.concatenate([part.truncated for part in parts]),
        rewards=column("rewards"),
        propensities=column("propensities"),
        states=column("states"),
    )


def _each_once(names: Iterable[str], kind: str) -> tuple[str, ...]:
    known: dict[str, None] = {}
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"{kind}: read {name!r}, expected a string")
        if name in known:
            raise InputError(f"{kind}: read {name!r} twice, expected each name once")
        known[name] = None
    return tuple(known)


_KINDS: dict[str, Any] = {
    "actions": np.int64,
    "observations": np.int64,
    "offsets": np.int64,
    "terminated": np.bool_,
    "truncated": np.bool_,
    "rewards": np.float64,
    "propensities": np.float64,
    "states": np.int64,
}
