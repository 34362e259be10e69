"""Read episodes from CSV, one row per step, plain or gzipped, line by line.

The first line names the columns. Values are separated by the character that separates the names:
a comma, a semicolon, a tab or a bar. Quotes are as RFC 4180 says.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rpsr.errors import InputError
from rpsr.logs.blocks import Block
from rpsr.logs.columns import Columns, Roles, roles_of
from rpsr.logs.json_lines import opened, size_of
from rpsr.logs.tables import row_blocks
from rpsr.logs.tables.listed import WHOLE, TextColumn
from rpsr.logs.tables.row_blocks import Rows, Table
from rpsr.printable import from_cell, quoted

CSV_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
LONGEST = 2**20  # bytes of a row
BATCH = 2**12  # rows as lists of texts: few enough to stay in the processor's cache
SEPARATORS = ",;\t|"


def csv_blocks(path: Path, columns: Columns) -> Iterator[Block]:
    """The episodes of one file."""
    place = str(path)
    with opened(path) as stream:
        lines = _Lines(stream, place)
        header = next(lines, None)
        if header is None or not (header.strip() or any(line.strip() for line in lines)):
            raise InputError("is empty, expected a line with the names of columns", place=place)
        separator = max(SEPARATORS, key=header.count)
        names = _fields(header, separator, place)
        records = _records(lines, separator, place, len(names))
        first = next(records, None)
        first_row = dict(zip(names, first[1], strict=True)) if first else {}

        def whole(name: str) -> bool:
            return WHOLE.fullmatch(first_row.get(name, "0")) is not None

        roles = roles_of(names, columns, place, whole)
        yield from Table(place, size_of(path), roles, "line").blocks(
            _batches(first, records, names, roles)
        )


@dataclass
class _Lines:
    """The lines of a stream as text; an error if those of one row are too long together."""

    stream: BinaryIO
    place: str
    number: int = 0  # of the last line
    row: int = 0  # bytes since the last row was complete

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self.stream.readline(LONGEST - self.row + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self.row += len(line)
        if self.row > LONGEST:
            message = f"a row of more than {LONGEST:,} bytes: is a quote not closed?"
            raise InputError(message, place=self.place, line=self.number)
        try:
            return line.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            read = f"read the bytes {line[error.start : error.start + 8]!r}"
            if self.number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
                read = "read UTF-16"
            message = f"not UTF-8: {read}; save the file as UTF-8"
            raise InputError(message, place=self.place, line=self.number) from None


def _fields(header: str, separator: str, place: str) -> list[str]:
    try:
        names = next(
            csv.reader([header], delimiter=separator, strict=True, skipinitialspace=True), []
        )
    except csv.Error as error:
        raise _no_csv(error, place, 1) from None
    names = [name.strip() for name in names]
    if not any(names):
        message = "the line is empty, expected the names of columns"
        raise InputError(message, place=place, line=1)
    return names


def _records(
    lines: _Lines, separator: str, place: str, width: int
) -> Iterator[tuple[int, list[str]]]:
    """Each row: the line where it begins, and its values."""
    reader = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True)
    begin = lines.number + 1
    try:
        for values in reader:
            if values and len(values) != width:
                problem = f"read {len(values)} values, expected {width}, one per column"
                if len(values) == 1:
                    problem += f": {quoted(values[0])}"
                raise InputError(problem, place=place, line=begin)
            if values:
                yield begin, values
            begin, lines.row = lines.number + 1, 0
    except csv.Error as error:
        raise _no_csv(error, place, begin) from None


def _no_csv(error: csv.Error, place: str, line: int) -> InputError:
    """An error of the `csv` module, in words about the file."""
    said = str(error)
    if "new-line character" in said:
        said = "a line ends in \\r alone; save the file with the line ends \\n or \\r\\n"
    elif "unexpected end of data" in said:
        said = 'a quote (") that begins in this row is not closed'
    return InputError(f"not CSV: {said}", place=place, line=line)


def _texts(role: str, cells: Sequence[str]) -> list[str]:
    """The cells of a column; names without the apostrophe that spreadsheets need."""
    if role not in ("action", "observation"):
        return list(cells)
    return [from_cell(cell) if cell[:1] == "'" else cell for cell in cells]


def _batches(
    first: Any, records: Iterator[tuple[int, list[str]]], names: list[str], roles: Roles
) -> Iterator[Rows]:
    places = {role: names.index(name) for role, name in roles.used.items()}
    held: list[tuple[int, list[str]]] = [first] if first else []

    def rows() -> Rows:
        columns = list(zip(*(values for _, values in held), strict=True))
        used = {role: TextColumn(_texts(role, columns[place])) for role, place in places.items()}
        return Rows(np.array([line for line, _ in held]), dict(used))

    try:
        for record in records:
            held.append(record)
            if len(held) >= min(BATCH, row_blocks.BLOCK):
                yield rows()
                held = []
    except InputError:
        if held:  # report errors of earlier lines first
            yield rows()
        raise
    if held:
        yield rows()
