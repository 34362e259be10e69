"""Columns of Parquet files and data frames, which are pyarrow arrays, as columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpsr.errors import InputError
from rpsr.io.records import Bools, Ints
from rpsr.logs.blocks import DISCRETISE, Labels, Numbers, numbers_of
from rpsr.logs.columns import NEEDED, Columns, Roles, roles_of
from rpsr.logs.tables.row_blocks import Rows
from rpsr.showing import some


@dataclass(frozen=True)
class ArrowColumn:
    """A pyarrow array, (L,)."""

    array: Any

    def __len__(self) -> int:
        return len(self.array)

    def value(self, row: int) -> Any:
        """One value."""
        return self.array[row].as_py()

    def part(self, first: int, last: int) -> ArrowColumn:
        """The rows from `first` to before `last`."""
        return ArrowColumn(self.array[first:last])

    def join(self, others: Sequence[ArrowColumn]) -> ArrowColumn:
        """The column with others below it."""
        import pyarrow as pa

        return ArrowColumn(pa.concat_arrays([self.array, *(other.array for other in others)]))

    def missing(self) -> Bools:
        """Where there is no value."""
        if self.array.null_count == 0:
            return np.zeros(len(self), dtype=np.bool_)
        return self.array.is_null().to_numpy(zero_copy_only=False)

    def changes(self) -> Ints:
        """The rows whose value differs from that of the previous row; never the first row."""
        values = self._numeric()
        values = self.labels().codes if values is None else values
        return np.flatnonzero(values[1:] != values[:-1]) + 1

    def labels(self) -> Labels:
        """The values as labels; a missing value counts as a label."""
        import pyarrow as pa

        column = self.array
        if isinstance(column, pa.DictionaryArray):  # in any order, possibly with unused values
            used = column.indices.dictionary_encode("encode")
            words = column.dictionary.to_pylist()
            places = used.dictionary.to_pylist()
            distinct = [None if place is None else words[place] for place in places]
            return Labels(distinct, used.indices.to_numpy(), named=True)
        try:
            coded = column.dictionary_encode("encode")
        except pa.ArrowNotImplementedError:  # lists and the like
            plain = Labels.of(column.to_pylist())
            return Labels(plain.distinct, plain.codes, named=True)
        return Labels(coded.dictionary.to_pylist(), coded.indices.to_numpy(), named=True)

    def numbers(self, name: str) -> Numbers:
        """The values as numbers."""
        numbers = self._numeric()
        if numbers is not None and (name != "states" or numbers.dtype.kind in "iu"):
            return numbers
        return numbers_of(name, self._values())

    def _values(self) -> list[Any]:
        """The values as Python objects; equal texts of a dictionary are one object."""
        import pyarrow as pa

        if not isinstance(self.array, pa.DictionaryArray):
            return self.array.to_pylist()
        words = self.array.dictionary.to_pylist()
        return [None if place is None else words[place] for place in self.array.indices.to_pylist()]

    def flags(self) -> tuple[Bools, Bools]:
        """Where the column is true, and where it is neither true nor false; 1 and 0 are these."""
        import pyarrow as pa

        if pa.types.is_boolean(self.array.type):
            known = self.array.fill_null(False) if self.array.null_count else self.array
            return known.to_numpy(zero_copy_only=False), self.missing()
        numbers = self._numeric()
        if numbers is None:
            return np.zeros(len(self), dtype=np.bool_), np.ones(len(self), dtype=np.bool_)
        return numbers == 1, (numbers != 0) & (numbers != 1)

    def _numeric(self) -> NDArray[Any] | None:
        """The numbers of a numeric column without missing values; else None."""
        import pyarrow as pa

        kind = self.array.type
        numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not numeric or self.array.null_count:
            return None
        return self.array.to_numpy(zero_copy_only=False)


_ADVICE = (
    f"{DISCRETISE}; if all values are whole numbers, make the column integer (in pandas: fill "
    "missing values, then astype(int))"
)


def arrow_roles(
    schema: Any, columns: Columns, place: str, column: Callable[[str], Any] | None = None
) -> Roles:
    """The roles of the columns of a schema; an error if actions or observations are decimals.

    column: the values of a column, to look for missing ones among whole numbers.
    """
    import pyarrow as pa

    types = pa.types
    roles = roles_of(
        schema.names, columns, place, lambda name: types.is_integer(schema.field(name).type)
    )
    for role in NEEDED:
        name = roles.used[role]
        kind = schema.field(name).type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if types.is_floating(kind) or types.is_decimal(kind):
            if column is not None and (gaps := _gaps(column(name), name, role)):
                raise InputError(f"column {name!r}: {gaps}", place=place)
            read = f"column {name!r}: read decimal numbers ({kind})"
            expected = f"expected names or whole numbers for the {role}"
            raise InputError(f"{read}, {expected}; {_ADVICE}", place=place)
    return roles


def _gaps(column: Any, name: str, role: str) -> str:
    """A hint on whole numbers that are decimal because some are missing; '' for others."""
    try:
        values = column.cast("float64").to_numpy(zero_copy_only=False)
    except ValueError:  # too long for a float
        return ""
    present = values[~np.isnan(values)]
    if len(present) in (0, len(values)) or (present % 1 != 0).any():
        return ""
    missing = np.flatnonzero(np.isnan(values)).tolist()
    rows = f"row{'s' * (len(missing) > 1)} {some(list(map(str, missing)))}"
    lowest = int(min(-1, present.min() - 1))
    remedy = (
        "cut the episode before an unknown action"
        if role == "action"
        else "if nothing was observed there, make that an observation of its own: "
        f"frame[{name!r}].fillna({lowest}).astype(int)"
    )
    read = f"read nothing in {rows} (iloc), expected a value for the {role}"
    cause = f"the missing values made the whole numbers of this column decimal ({column.type})"
    return f"{read}; {cause}; {remedy}"


def arrow_rows(batches: Iterable[Any], roles: Roles, first: int) -> Iterator[Rows]:
    """The rows of record batches. first: the number of the first row."""
    for batch in batches:
        columns = {
            role: ArrowColumn(_decoded(batch.column(name), role in NEEDED))
            for role, name in roles.used.items()
        }
        if batch.num_rows:
            yield Rows(np.arange(first, first + batch.num_rows), dict(columns))
        first += batch.num_rows


def _decoded(column: Any, label: bool) -> Any:
    """A column; a dictionary is decoded, except one of labels, or of texts, which may be long."""
    import pyarrow as pa

    kind = column.type
    if label or not pa.types.is_dictionary(kind) or is_text(kind.value_type):
        return column
    return column.dictionary_decode()


def is_text(kind: Any) -> bool:
    """Whether values of a type can have any length."""
    import pyarrow as pa

    return any(
        is_kind(kind)
        for is_kind in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_binary,
            pa.types.is_large_binary,
        )
    )
