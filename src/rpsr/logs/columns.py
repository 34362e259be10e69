"""Which column of a table, with one row per step, has which role in a log."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rpsr.errors import InputError
from rpsr.printable import shortened
from rpsr.registry import MOST_COMPARED, did_you_mean
from rpsr.showing import some

MOST_COLUMNS = 20  # of a table, in a message


@dataclass(frozen=True)
class Columns:
    """The column names of a table with one row per step.

    A column that you name must exist. Of the others, only action and observation must exist, and
    other usual names are understood, such as `obs`, `act`, `t`, `timestep` or `episode_id`.
    """

    episode: str = "episode"
    step: str = "step"
    action: str = "action"
    observation: str = "observation"
    reward: str = "reward"
    propensity: str = "propensity"
    terminated: str = "terminated"
    truncated: str = "truncated"
    state: str = "state"

    def __new__(cls, *_: str, **named: str) -> Columns:
        """Refuse a role that does not exist."""
        for role, name in named.items():
            if role not in cls.__dataclass_fields__:
                raise InputError(f"Columns: read {role!r}, {wrong_role(role, name)}")
            if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InputError(f"Columns: {role}: read {name!r}, expected the name of a column")
        return super().__new__(cls)

    @staticmethod
    def of(given: Columns | Mapping[str, str] | None) -> Columns:
        """The names that a user gives, also as a dictionary of roles and names."""
        if given is None or isinstance(given, Columns):
            return given or Columns()
        if isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            return Columns(**{str(role): name for role, name in given.items()})
        expected = 'expected roles and names, such as {"action": "NAME"}'
        raise InputError(f"columns: read {_read(given)}, {expected}")


def _read(given: Any) -> str:
    return f"{type(given).__name__} {shortened(repr(given))}"


ColumnsLike = Columns | Mapping[str, str]


def naming(role: str, reader: str = "") -> str:
    """How to say which column has a role, for a message.

    reader: the function that reads what the user holds, with its argument; "" for files.
    """
    columns = f'columns={{"{role}": "NAME"}}'
    if reader:
        return f"name the column: log = rpsr.logs.{reader}, {columns}), then fit(log)"
    return (
        f"name the column with --columns {role}=NAME, in Python {columns} of read_logs or "
        "from_frame"
    )


ROLES = tuple(vars(Columns()))
NEEDED = ("action", "observation")
# Other names of each role, compared without case and with _ for spaces, dots and dashes. `done` is
# not among them, because it says that an episode ended and not whether the task did.
USUAL = {
    "episode": ("episodes", "episode_id", "episode_number", "ep", "trajectory", "trajectory_id"),
    "step": ("steps", "timestep", "time_step", "t"),
    "action": ("actions", "act"),
    "observation": ("observations", "obs"),
    "reward": ("rewards", "rew"),
    "propensity": ("propensities",),
    "terminated": ("terminal", "terminals", "terminations"),
    "truncated": ("timeout", "timeouts", "truncations"),
    "state": ("states",),
}


def wrong_role(role: str, name: Any) -> str:
    """The roles that were expected in place of one that does not exist."""
    if name in ROLES:
        return f"expected the role first: {name}={role}"
    known = f"expected one of the roles {', '.join(ROLES)}"
    usual = [right for right, others in USUAL.items() if _plain(role) in others]
    meant = (
        f"did you mean {usual[0]}?"
        if usual
        else did_you_mean(_plain(role), {one: one for one in ROLES})
    )
    return f"{known}; {meant}" if meant else known


@dataclass(frozen=True)
class Roles:
    """The column of each role that a table has, and the columns without a role."""

    used: dict[str, str]
    ignored: tuple[str, ...]


def roles_of(
    present: Sequence[str], columns: Columns, place: str, whole: Callable[[str], bool]
) -> Roles:
    """The roles of a table's columns; an error if a column is missing, twice there or unclear.

    whole: whether a column holds whole numbers. A column `state` that does not is no state of a
    simulation, so it has no role.
    """
    used: dict[str, str] = {}
    named = {role: name for role, name in vars(columns).items() if name != getattr(_DEFAULT, role)}
    plain = {name: _plain(name) for name in present}
    for role, default in vars(_DEFAULT).items():
        name = named.get(role) or _found(plain, role, default, set(named.values()), place)
        if name is None and role not in NEEDED:
            continue
        if name is None or name not in present:
            raise _absent(name or default, role, present, place, role not in named)
        if role != "state" or role in named or (name not in named.values() and whole(name)):
            used[role] = name
    for name in used.values():
        if present.count(name) > 1:
            message = f"has {present.count(name)} columns {name!r}, expected one"
            raise InputError(message, place=place)
    ignored = tuple(dict.fromkeys(name for name in present if name not in used.values()))
    if ignored and not used.keys() & {"episode", "step", "terminated", "truncated"}:
        raise _absent("episode", "episode", present, place, True)
    return Roles(used, ignored)


_DEFAULT = Columns()


def _absent(name: str, role: str, present: Sequence[str], place: str, unnamed: bool) -> InputError:
    """unnamed: whether the user has not said which column has the role."""
    distinct = list(dict.fromkeys(present))
    columns = some(list(map(shortened, distinct)), MOST_COLUMNS) or "none"
    message = f"has no column {name!r} for the {role}; its columns are {columns}"
    meant = did_you_mean(
        _plain(name), {_plain(one): shortened(repr(one)) for one in distinct[:MOST_COMPARED]}
    )
    advice = naming(role, READERS.get(place, "")) if unnamed else ""
    return InputError("; ".join(filter(None, (message, meant, advice))), place=place)


# What reads a table that is no file, by its place in messages.
READERS = {"DataFrame": "from_frame(frame", "records": "from_records(records"}


def _found(
    present: Mapping[str, str], role: str, default: str, named: set[str], place: str
) -> str | None:
    """present: the columns, each with its name as `_plain` makes it."""
    if default in present:
        return default
    usual = {default, *USUAL[role]}
    others = [name for name, plain in present.items() if plain in usual and name not in named]
    if len(others) > 1:
        read = " and ".join(map(repr, others[:2]))
        raise InputError(
            f"the columns {read} could both be the {role}; {naming(role, READERS.get(place, ''))}",
            place=place,
        )
    return others[0] if others else None


def _plain(name: str) -> str:
    return re.sub(r"[\s.\-]+", "_", name.strip().casefold())


_NAMELESS = "a column without a name (the index of pandas? write with index=False)"


def ignored_note(names: Sequence[str], known: Sequence[str], places: Sequence[str]) -> str:
    """The note on unknown keys or columns: which, and where they were found first."""
    more = f" and {len(places) - 1} more files" if len(places) > 1 else ""
    read = some([repr(name) if name.strip() else _NAMELESS for name in names])
    return f"{places[0]}{more}: ignored {read}; the names that are read are {', '.join(known)}"
