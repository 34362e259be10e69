"""Collect the entries of one function: patterns of values, numbers, and the order they came in.

Numbers are words, as in `.pomdp` files: each distinct word is parsed once, exactly.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np

from rpsr.io.pomdpx.scope import Axis
from rpsr.io.records import IN_RANGE, LARGEST_REWARD, Bools, Ints
from rpsr.io.statements import Entries
from rpsr.io.tokens import Tokens, parse_decimal
from rpsr.io.weights import Values
from rpsr.io.xml_tree import Document, Element
from rpsr.printable import quoted

Pattern = tuple[int, ...]  # the value of each axis, or ANY
ONE = 0  # the word of the number 1
ENTRY_BYTES = 200  # of memory per entry, wildcards not expanded


class Numbers:
    """The distinct numbers of a file; a number's word is its position.

    Words below zero are shares: word -1 - k is 1 / shares[k].
    """

    def __init__(self) -> None:
        self.words: list[str] = ["1"]
        self.decimals: list[tuple[int, int]] = [(1, 0)]
        self.positions: dict[str, int] = {"1": ONE}
        self.shares: dict[int, int] = {}
        self._zeros: Bools = np.zeros(1, dtype=np.bool_)

    def read(self, document: Document, element: Element) -> list[int]:
        """The words of an element's numbers."""
        words = element.words()
        for number, word in enumerate(words):
            if word not in self.positions:
                decimal = parse_decimal(word.encode("utf-8", "replace"))
                if decimal is None or abs(float(word)) > LARGEST_REWARD:
                    message = f"read {quoted(word)}, expected {IN_RANGE}"
                    raise document.error(element, message, number)
                self.positions[word] = len(self.words)
                self.words.append(word)
                self.decimals.append(decimal)
        return [self.positions[word] for word in words]

    def share(self, count: int) -> int:
        """The word of 1 / count."""
        if count == 1:
            return ONE
        return -1 - self.shares.setdefault(count, len(self.shares))

    def zeros(self) -> Bools:
        """Which words are zero, by word."""
        if len(self._zeros) < len(self.words):
            self._zeros = np.array([mantissa == 0 for mantissa, _ in self.decimals])
        return self._zeros

    def is_negative(self, word: int) -> bool:
        """Whether a word is below zero."""
        return word >= 0 and self.decimals[word][0] < 0

    def fraction(self, word: int) -> Fraction:
        """A word as a fraction."""
        if word < 0:
            return Fraction(1, list(self.shares)[-1 - word])
        mantissa, digits = self.decimals[word]
        return Fraction(mantissa, 10**digits)

    @cached_property
    def values(self) -> Values:
        """The words as weights, once all of them are known; `weighed` gives their positions."""
        texts = [word.encode() for word in self.words]
        return Values(Tokens(b"", "", texts, np.zeros(0, dtype=np.int64)))

    @cached_property
    def _share_words(self) -> Ints:
        one = np.ones(1, dtype=np.int64)
        return np.array([int(self.values.add(one, count)[0]) for count in self.shares], np.int64)

    def weighed(self, words: Ints) -> Ints:
        """Words as positions in `values`."""
        shares = words < 0
        if not shares.any():
            return words
        return np.where(shares, self._share_words[np.where(shares, -1 - words, 0)], words)


class Collector:
    """The entries of a function so far."""

    def __init__(
        self, document: Document, axes: tuple[Axis, ...], targets: int, numbers: Numbers
    ) -> None:
        self.document = document
        self.axes = axes
        self.targets = targets  # how many of the last axes are the function's own variables
        self.numbers = numbers
        self.elements: list[Element] = []
        self.blocks: list[tuple[Ints, Ints, int]] = []  # indices (N, axes), words (N,), order
        self.singles: list[tuple[Pattern, int, int]] = []  # a pattern, its word, its order
        self.clears: list[tuple[Pattern, int]] = []
        self.count = 0

    def clear(self, element: Element, pattern: Pattern) -> None:
        """Zero for a pattern, before the entries of the same element."""
        self.clears.append((pattern, 2 * self._number(element)))

    def add(self, element: Element, pattern: Pattern, word: int) -> None:
        """A number for a pattern."""
        self._check(element, word)
        if word >= 0 and self.numbers.decimals[word][0] == 0:
            self.clears.append((pattern, 2 * self._number(element) + 1))
        else:
            self.singles.append((pattern, word, 2 * self._number(element) + 1))
        self._allow(1, element)

    def add_block(self, element: Element, index: Ints, words: Ints) -> None:
        """Numbers other than zero, each for a pattern of its own; index (N, axes), words (N,)."""
        for word in np.unique(words).tolist():
            self._check(element, word)
        self.blocks.append((index, words, 2 * self._number(element) + 1))
        self._allow(len(words), element)

    def entries(self) -> tuple[Entries, Entries]:
        """All values and all clears."""
        width = len(self.axes)
        index = [block[0] for block in self.blocks]
        words = [block[1] for block in self.blocks]
        order = [np.full(len(block[1]), block[2], dtype=np.int64) for block in self.blocks]
        if self.singles:
            patterns, single_words, single_order = zip(*self.singles, strict=True)
            index.append(np.array(patterns, dtype=np.int64).reshape(len(patterns), width))
            words.append(np.array(single_words, dtype=np.int64))
            order.append(np.array(single_order, dtype=np.int64))
        none = np.zeros(0, dtype=np.int64)
        values = Entries(
            np.concatenate([np.zeros((0, width), dtype=np.int64), *index]),
            np.concatenate([none, *words]),
            np.concatenate([none, *order]),
        )
        cleared = np.array([c[0] for c in self.clears], dtype=np.int64).reshape(
            len(self.clears), width
        )
        when = np.array([c[1] for c in self.clears], dtype=np.int64)
        return values, Entries(cleared, np.full(len(when), -1, dtype=np.int64), when)

    def _check(self, element: Element, word: int) -> None:
        if self.targets and self.numbers.is_negative(word):
            read = self.numbers.words[word]
            raise self.document.error(element, f"read {read}, expected a probability")

    def _number(self, element: Element) -> int:
        if not self.elements or self.elements[-1] is not element:
            self.elements.append(element)
        return len(self.elements) - 1

    def _allow(self, more: int, element: Element) -> None:
        self.count += more
        cause = f"a function has {self.count:,} entries"
        self.document.allow(ENTRY_BYTES * self.count, cause, element)
