"""The work of a reproduction in pieces, each kept on disk as it is done.

A piece is a question with a plain JSON answer that does not depend on a clock. Its file holds the
answer beside a key, a hash of everything the answer rests on: the code, the question with its seed
and planner, and the content of a file where it concerns one. A file that is damaged, or whose key
is another, is not used, and the reader is told.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rpsr._version import __version__
from rpsr.errors import InputError
from rpsr.io.files import write_bytes

Document = dict[str, Any]
_SCHEMA = "rpsr.piece/1"
_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Piece:
    """A question: its kind, what it is about (a built-in domain or a file), and its options.

    cost: how long it takes compared with others, so that long ones begin first.
    """

    kind: str
    about: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    cost: float = field(default=1.0, compare=False)

    @property
    def name(self) -> str:
        """The name of its file, without suffix."""
        about = quote(Path(self.about).name, safe="", errors="surrogateescape")  # no two alike
        return f"{self.kind}-{about}" if about else self.kind

    @cached_property
    def key(self) -> str:
        """A hash of what the answer rests on."""
        content = _content(Path(self.about)) if self.kind == "corpus" else self.about
        asked = [_SCHEMA, __version__, code(), self.kind, content, self.options]
        return sha256(json.dumps(asked).encode()).hexdigest()


def _content(path: Path) -> str:
    """A hash of a file; of one that cannot be read, which its answer will say, nothing."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


@cache
def code() -> str:
    """A hash of the modules that answers may rest on: all but those that only show them."""
    found = sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        part = path.relative_to(_PACKAGE).as_posix()
        shows = part.startswith(("cli/", "report/")) and not part.startswith("reproduce/")
        if not shows:
            found.update(f"{part} {sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def answer(piece: Piece) -> tuple[Document, float]:
    """The answer to a piece, and the seconds it took."""
    began = time.perf_counter()
    return _ANSWERS[piece.kind](piece.about, dict(piece.options)), time.perf_counter() - began


def _case_study(_: str, options: Document) -> Document:
    from rpsr.reproduce.case_study import case_study

    return dict(case_study())


def _errors(about: str, options: Document) -> Document:
    from rpsr.predictive import find_core, least_largest_error
    from rpsr.sources import load_pomdp

    pomdp = load_pomdp(about)
    least = least_largest_error(find_core(pomdp, "psr"), pomdp.R)
    return _survey(about, options) | {"least_d_inf": least}


def _survey(about: str, options: Document) -> Document:
    from rpsr.predictive.survey import Options, domain_name, survey_row

    row: Document = dict(survey_row(about, Options(**options)))
    for what_changes in ("seconds", "stamp", "source"):
        del row[what_changes]
    return row | {"domain": domain_name(Path(about).name)}


def _returns(about: str, options: Document) -> Document:
    from rpsr.reproduce.returns import returns_on

    return returns_on(about, **options).to_document()


def _convergence(about: str, options: Document) -> Document:
    from rpsr.reproduce.convergence import convergence

    return dict(convergence(about, **options))


_ANSWERS = {
    "case-study": _case_study,
    "errors": _errors,
    "corpus": _survey,
    "returns": _returns,
    "convergence": _convergence,
}


@dataclass(frozen=True)
class Store:
    """Answers by piece, in a folder."""

    folder: Path

    def path(self, piece: Piece) -> Path:
        """Where a piece's answer is kept."""
        return self.folder / f"{piece.name}.json"

    def find(self, piece: Piece) -> tuple[Document | None, str]:
        """An answer from an earlier run, or None; and why a file that is there was not used."""
        path = self.path(piece)
        try:
            kept: Any = json.loads(path.read_bytes())
            schema, key, found = kept["schema"], kept["key"], kept["answer"]
        except FileNotFoundError:
            return None, ""
        except (OSError, ValueError, KeyError, TypeError):
            return None, f"{path}: damaged, or not ours; done again"
        if schema != _SCHEMA or not isinstance(found, dict):
            return None, f"{path}: damaged, or not ours; done again"
        if key != piece.key:
            return None, f"{path}: from another version, seed or question; done again"
        return found, ""  # pyright: ignore[reportReturnType]

    def keep(self, piece: Piece, document: Document) -> None:
        """Write an answer, completely or not at all."""
        kept = {"schema": _SCHEMA, "key": piece.key, "answer": document}
        write_bytes(self.path(piece), dumped(kept))


def dumped(document: Any) -> bytes:
    """JSON that is the same for the same numbers."""
    try:
        text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    except ValueError as error:
        raise InputError(f"a result is not a number: {error}") from None
    return (text + "\n").encode()
