"""`<Parameter>` elements: the numbers of a function, as entries that later ones override.

A table (type TBL) has an `<Entry>` for each pattern of values. In its `<Instance>`, `*` stands for
every value of a variable, with the same number; `-` for every value, each with a number of its own,
in the order of the values, the last variable varying fastest. `identity` and `uniform` replace the
numbers. What no entry gives is zero. A decision diagram (type DD) is read by `diagrams`.

Reference: POMDPX file format, version 1.0, of the SARSOP toolkit, section 2.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from rpsr.io.pomdpx.diagrams import read_diagram
from rpsr.io.pomdpx.entries import ONE, Collector, Numbers, Pattern
from rpsr.io.pomdpx.scope import Axis, Kind
from rpsr.io.statements import ANY, Entries
from rpsr.io.variables import Space
from rpsr.io.xml_tree import Document, Element
from rpsr.printable import quoted

MOST_AXES = 60


@dataclass(frozen=True, eq=False)
class Table:
    """The entries of one function, by value and those that write zero.

    axes: the parents, then the `targets` variables that the function is a distribution of. An
    entry of order 2k or 2k + 1 comes from `elements[k]`. given: what the table was restricted to.
    """

    function: Element
    axes: tuple[Axis, ...]
    targets: int
    values: Entries
    clears: Entries
    elements: list[Element]
    given: tuple[str, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each axis."""
        return tuple(axis.size for axis in self.axes)

    @property
    def parents(self) -> tuple[Axis, ...]:
        """The axes that the function depends on."""
        return self.axes[: len(self.axes) - self.targets]

    def all(self) -> Entries:
        """Values and zeros together."""
        return Entries.join([self.values, self.clears], len(self.axes))

    def at(self, action: int, actions: Space) -> Table:
        """The function under one joint action, of the parents that still matter.

        A large table of a factored model is mostly wildcards: without the action, and without
        parents that no entry names, it is small.
        """
        flat = np.array([action])
        fixed = {
            i: int(actions.digit(flat, axis.number)[0])
            for i, axis in enumerate(self.parents)
            if axis.kind is Kind.ACTION
        }
        values, clears = _restricted(self.values, fixed), _restricted(self.clears, fixed)
        named = (values.index != ANY).any(axis=0) | (clears.index != ANY).any(axis=0)
        last = len(self.parents)
        kept = [i for i in range(len(self.axes)) if i >= last or (named[i] and i not in fixed)]
        return Table(
            self.function,
            tuple(self.axes[i] for i in kept),
            self.targets,
            Entries(values.index[:, kept], values.word, values.order),
            Entries(clears.index[:, kept], clears.word, clears.order),
            self.elements,
            tuple(
                f"{self.axes[i].identifier}={self.axes[i].variable.values[v]}"
                for i, v in fixed.items()
            ),
        )


def _restricted(entries: Entries, fixed: dict[int, int]) -> Entries:
    """The entries that apply where some axes have these values."""
    keep = np.ones(len(entries.order), dtype=np.bool_)
    for axis, value in fixed.items():
        keep &= (entries.index[:, axis] == value) | (entries.index[:, axis] == ANY)
    return Entries(entries.index[keep], entries.word[keep], entries.order[keep])


def read_parameter(
    document: Document, function: Element, axes: tuple[Axis, ...], targets: int, numbers: Numbers
) -> Table:
    """The entries of a `<CondProb>` or a `<Func>`."""
    if len(axes) > MOST_AXES or prod(axis.size for axis in axes) >= 2**62:
        message = f"a function of {len(axes)} variables has too many cells"
        raise document.error(function, message)
    parameter = document.one(function, "Parameter")
    kind = parameter.attributes.get("type", "TBL").strip()
    collector = Collector(document, axes, targets, numbers)
    if kind == "DD":
        read_diagram(document, parameter, collector)
    elif kind == "TBL":
        document.expect(parameter, "Entry")
        for entry in parameter.children:
            _read_entry(document, entry, collector)
    else:
        message = f"type: read {quoted(kind)}, expected TBL (a table) or DD (a decision diagram)"
        raise document.error(parameter, message)
    values, clears = collector.entries()
    return Table(function, axes, targets, values, clears, collector.elements)


def _read_entry(document: Document, entry: Element, collector: Collector) -> None:
    document.expect(entry, "Instance", "ProbTable", "ValueTable")
    instance = document.one(entry, "Instance")
    tables = [child for child in entry.children if child is not instance]
    wanted = "ProbTable" if collector.targets else "ValueTable"
    if len(tables) != 1:
        message = f"<Entry> has {len(tables)} tables, expected one <{wanted}>"
        raise document.error(entry, message)
    pattern, spread = _pattern(document, instance, collector)
    table = tables[0]
    words = table.words()
    word = words[0].lower() if len(words) == 1 else ""
    if collector.targets and word == "identity":
        pair = _identity(document, table, collector, spread)
        collector.clear(entry, pattern)
        for value in range(collector.axes[-1].size):
            collector.add(entry, _fixed(pattern, dict.fromkeys(pair, value)), ONE)
    elif collector.targets and word == "uniform":
        first = len(collector.axes) - collector.targets
        free = [i for i in range(first, len(collector.axes)) if pattern[i] == ANY]
        count = prod(collector.axes[i].size for i in free)
        collector.add(entry, pattern, collector.numbers.share(count))
    elif not spread:
        if len(words) != 1:
            raise document.error(table, f"read {len(words)} numbers, expected one")
        collector.add(entry, pattern, collector.numbers.read(document, table)[0])
    else:
        _spread(document, table, collector, entry, pattern, spread)


def _pattern(
    document: Document, instance: Element, collector: Collector
) -> tuple[Pattern, list[int]]:
    """The value of each axis, or ANY, and the positions of the `-`."""
    words, axes = instance.words(), collector.axes
    if len(words) != len(axes):
        names = " ".join(axis.identifier for axis in axes)
        message = f"<Instance> has {len(words)} words, expected {len(axes)}: {names}"
        raise document.error(instance, message)
    pattern: list[int] = []
    for number, (word, axis) in enumerate(zip(words, axes, strict=True)):
        value = ANY if word in ("*", "-") else axis.find(word)
        if value is None:
            message = f"read {quoted(word)}, expected a value of {axis.identifier}, '*' or '-'"
            raise document.error(instance, message, number)
        pattern.append(value)
    return tuple(pattern), [i for i, word in enumerate(words) if word == "-"]


def _identity(
    document: Document, table: Element, collector: Collector, spread: list[int]
) -> tuple[int, int]:
    """The two axes of `identity`: a parent and the variable itself."""
    last = len(collector.axes) - 1
    if len(spread) == 2 and spread[1] == last and collector.targets == 1:
        sizes = [collector.axes[i].size for i in spread]
        if sizes[0] == sizes[1]:
            return spread[0], last
        read = f"read {sizes[0]} and {sizes[1]} values"
        message = f"'identity' needs two variables with equally many values, {read}"
        raise document.error(table, message, 0)
    expected = "expected '-' for the variable itself and for one parent"
    raise document.error(table, f"'identity': {expected}", 0)


def _spread(
    document: Document,
    table: Element,
    collector: Collector,
    entry: Element,
    pattern: Pattern,
    spread: list[int],
) -> None:
    """Numbers for all values of the axes marked `-`."""
    sizes = [collector.axes[i].size for i in spread]
    numbers = collector.numbers.read(document, table)
    if len(numbers) != prod(sizes):
        names = " times ".join(
            f"{collector.axes[i].identifier} ({collector.axes[i].size})" for i in spread
        )
        message = f"read {len(numbers)} numbers, expected {prod(sizes)}: {names}"
        raise document.error(table, message)
    collector.clear(entry, pattern)
    words = np.array(numbers, dtype=np.int64)
    kept = np.flatnonzero(~collector.numbers.zeros()[words])
    block = np.empty((len(kept), len(pattern)), dtype=np.int64)
    block[:] = pattern
    block[:, spread] = np.stack(np.unravel_index(kept, sizes), axis=1)
    collector.add_block(entry, block, words[kept])


def _fixed(pattern: Pattern, values: dict[int, int]) -> Pattern:
    return tuple(values.get(i, value) for i, value in enumerate(pattern))
