"""Write episodes to CSV, one row per step; what is written reads back to the same log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import BinaryIO

from rpsr.errors import InputError
from rpsr.logs.tables.listed import DECIMAL, MISSING, WHOLE
from rpsr.logs.tables.steps import step_columns
from rpsr.logs.trajectories import Trajectories
from rpsr.printable import as_cell


def write_csv(logs: Iterable[Trajectories], stream: BinaryIO, separator: str) -> None:
    """Write the header and the rows; an error if a name would read back as something else."""
    episodes = 0
    for log in logs:
        columns = step_columns(log, episodes)
        if not episodes:
            stream.write(f"{separator.join(columns)}\n".encode())
        names = {
            "action": _quoted(log.action_names, "action", separator),
            "observation": _quoted(log.observation_names, "observation", separator),
        }
        texts = [
            map(names.get(name, _plain(column.dtype.kind)), column.tolist())
            for name, column in columns.items()
        ]
        stream.write(
            "".join(f"{separator.join(row)}\n" for row in zip(*texts, strict=True)).encode()
        )
        episodes += log.episodes


def _plain(kind: str) -> Callable[[object], str]:
    return (lambda flag: "true" if flag else "false") if kind == "b" else repr


def _quoted(names: tuple[str, ...], kind: str, separator: str) -> Callable[[int], str]:
    """The text for each index of a name."""
    for name in names:
        if name in MISSING:
            raise InputError(
                f"{kind} {name!r} would be read as a missing value from CSV; use .jsonl or .parquet"
            )
    if all(map(DECIMAL.fullmatch, names)) and not all(map(WHOLE.fullmatch, names)):
        raise InputError(
            f"the {kind}s {names[0]!r}, ... would be read as decimal numbers from CSV; use .jsonl"
        )

    def text(name: str) -> str:
        name = as_cell(name)
        plain = name.strip() == name and not set(name) & set('"\r\n' + separator)
        return name if plain else '"' + name.replace('"', '""') + '"'

    return list(map(text, names)).__getitem__
