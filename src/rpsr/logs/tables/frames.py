"""Logs from data frames, and data frames from logs; needs pyarrow (the extra `data`).

Any table that exports the Arrow stream interface (`__arrow_c_stream__`) is read: data frames of
pandas and polars, tables of pyarrow. Older versions of pandas without it are read, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rpsr.errors import InputError
from rpsr.logs.columns import ROLES, Columns, ColumnsLike, ignored_note
from rpsr.logs.episodes import gathered
from rpsr.logs.tables.arrow import arrow_roles, arrow_rows
from rpsr.logs.tables.row_blocks import Table
from rpsr.logs.tables.steps import step_columns
from rpsr.logs.trajectories import Trajectories

if TYPE_CHECKING:
    from pandas import DataFrame

PLACE = "DataFrame"


def from_frame(
    frame: Any,
    *,
    columns: ColumnsLike | None = None,
    action_names: Sequence[str] | None = None,
    observation_names: Sequence[str] | None = None,
) -> Trajectories:
    """The episodes of a data frame with one row per step.

    frame: of pandas or polars, a table of pyarrow, or another one with the Arrow stream interface.
    columns: the names of its columns; without it, the usual names are found. In errors, rows are
    counted from 0, as `iloc` counts them.
    """
    table = _arrow_table(frame)
    roles = arrow_roles(table.schema, Columns.of(columns), PLACE, table.column)
    if roles.ignored:
        import warnings

        warnings.warn(ignored_note(roles.ignored, ROLES, [PLACE]), stacklevel=2)
    rows = arrow_rows(table.combine_chunks().to_batches(), roles, 0)
    blocks = Table(PLACE, table.nbytes, roles).blocks(rows)
    try:
        return gathered(blocks, action_names, observation_names)
    except InputError as error:
        if error.line is None:
            raise
        raise InputError(f"row {error.line} (iloc): {error.message}", place=PLACE) from None


def is_frame(given: Any) -> bool:
    """Whether an object is a data frame that `from_frame` reads."""
    return hasattr(given, "__arrow_c_stream__") or _is_pandas(given)


def _is_pandas(given: Any) -> bool:
    kind = type(given)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def _arrow_table(frame: Any) -> Any:
    if not is_frame(frame):
        lazy = "; frame.collect() makes one" if hasattr(frame, "collect") else ""
        raise InputError(f"frame: read {type(frame).__name__}, expected a data frame{lazy}")
    try:
        import pyarrow as pa
    except ImportError:
        raise InputError("reading a data frame needs pyarrow: pip install 'rpsr[data]'") from None
    try:
        if _is_pandas(frame):
            return pa.Table.from_pandas(frame, preserve_index=False)
        return frame if isinstance(frame, pa.Table) else pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"cannot be read: {reason}", place=PLACE) from None


def frame_of(log: Trajectories) -> DataFrame:
    """A data frame of pandas with one row per step; actions and observations are categories."""
    try:
        import pandas as pd
    except ImportError:
        raise InputError("to_pandas needs pandas: pip install pandas") from None
    columns: dict[str, Any] = dict(step_columns(log))
    for role, names in (("action", log.action_names), ("observation", log.observation_names)):
        columns[role] = pd.Categorical.from_codes(columns[role], list(names))
    return pd.DataFrame(columns)
