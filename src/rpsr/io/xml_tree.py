"""XML as a tree of elements that know their place in the file, for error messages.

Expat reads the text. Entities that a file declares are refused, because a few lines of them can
stand for gigabytes of text ("a billion laughs") or for another file; no file is ever opened. The
tree's memory is limited as that of other readers is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.parsers import expat

from rpsr.errors import InputError
from rpsr.io.allowance import excess
from rpsr.io.tokens import error_at
from rpsr.printable import quoted, shortened

ELEMENT_BYTES = 400  # of memory per element
DEEPEST = 1000  # elements inside each other: a decision diagram has a few per variable
_WORD = re.compile(r"\S+")


class Element:
    """A tag with its attributes, and either children or text. offset: where it begins, in bytes."""

    __slots__ = ("attributes", "children", "chunks", "offset", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], offset: int) -> None:
        self.tag = tag
        self.attributes = attributes
        self.offset = offset
        self.children: list[Element] = []
        self.chunks: list[tuple[int, str]] = []  # pieces of text, each with its offset

    @property
    def text(self) -> str:
        """The text of an element without children."""
        return "".join(chunk for _, chunk in self.chunks)

    def words(self) -> list[str]:
        """The words of the text."""
        return self.text.split()

    def all(self, tag: str) -> list[Element]:
        """The children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def word_offset(self, number: int) -> int:
        """Where a word of the text begins, in bytes; of the element if there is no such word."""
        starts = [word.start() for word in _WORD.finditer(self.text)]
        if number >= len(starts):
            return self.offset
        left = starts[number]
        for offset, chunk in self.chunks:
            if left < len(chunk):
                return offset + len(chunk[:left].encode("utf-8", "replace"))
            left -= len(chunk)
        return self.offset


@dataclass(frozen=True, eq=False)
class Document:
    """A parsed file. size: bytes of the file itself, fewer than the text if compressed."""

    text: bytes
    place: str
    size: int
    root: Element

    def error(self, element: Element, message: str, word: int | None = None) -> InputError:
        """An error at an element, or at one of the words of its text."""
        offset = element.offset if word is None else element.word_offset(word)
        return error_at(self.text, offset, message, self.place)

    def one(self, element: Element, tag: str) -> Element:
        """The only child with a tag."""
        children = element.all(tag)
        if len(children) != 1:
            at = children[1] if children else element
            read = f"has {len(children)} <{tag}>" if children else f"has no <{tag}>"
            raise self.error(at, f"<{shortened(element.tag)}> {read}, expected one")
        return children[0]

    def attribute(self, element: Element, name: str) -> str:
        """The value of an attribute, without spaces around it."""
        value = element.attributes.get(name, "").strip()
        if not value:
            raise self.error(element, f"<{shortened(element.tag)}> has no attribute '{name}'")
        return value

    def expect(self, element: Element, *tags: str) -> None:
        """Refuse children with any other tag."""
        for child in element.children:
            if child.tag not in tags:
                expected = ", ".join(f"<{tag}>" for tag in tags) or "no child"
                message = f"read <{shortened(child.tag)}> in <{element.tag}>, expected {expected}"
                raise self.error(child, message)

    def allow(self, needed: int, cause: str, element: Element) -> None:
        """Refuse what takes more memory than a file of this size may take; cause: its origin."""
        if (problem := excess(needed, self.size)) is not None:
            raise self.error(element, f"{cause}: {problem}")


def parse_xml(text: bytes, place: str, size: int | None = None) -> Document:
    """The tree of an XML text."""
    builder = _Builder(text, place, len(text) if size is None else size)
    try:
        builder.parser.Parse(text, True)
    except expat.ExpatError as error:
        message = f"not well-formed XML: {expat.ErrorString(error.code)}"
        raise InputError(message, place=place, line=error.lineno, column=error.offset + 1) from None
    except (LookupError, ValueError) as error:  # an encoding that Python or expat does not know
        raise InputError(f"not readable as XML: {error}", place=place) from None
    assert builder.root is not None, "expat refuses a text without an element"
    return Document(text, place, builder.size, builder.root)


class _Builder:
    """Expat's handlers."""

    def __init__(self, text: bytes, place: str, size: int) -> None:
        self.text, self.place, self.size = text, place, size
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.EntityDeclHandler = self.entity

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.parser.CurrentByteIndex)
        self.count += 1
        if self.count % 2**12 == 0 and (problem := excess(ELEMENT_BYTES * self.count, self.size)):
            raise error_at(self.text, element.offset, f"too many elements: {problem}", self.place)
        if len(self.open) == DEEPEST:
            message = f"elements are nested more than {DEEPEST:,} deep"
            raise error_at(self.text, element.offset, message, self.place)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, tag: str) -> None:
        element = self.open.pop()
        if not element.children:
            return
        stray = next(((at, chunk) for at, chunk in element.chunks if not chunk.isspace()), None)
        if stray is not None:
            message = f"read {quoted(stray[1].strip())} in <{tag}>, expected elements only"
            before = len(stray[1]) - len(stray[1].lstrip())
            raise error_at(self.text, stray[0] + before, message, self.place)
        element.chunks = []

    def characters(self, data: str) -> None:
        self.open[-1].chunks.append((self.parser.CurrentByteIndex, data))

    def entity(self, name: str, *_: object) -> None:
        message = f"declares the entity {quoted(name)}: entities are not read, for safety"
        raise error_at(self.text, self.parser.CurrentByteIndex, message, self.place)
