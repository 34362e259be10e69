"""The pieces of a reproduction: units of work, each stored on disk when it is finished.

A piece is a question with a plain JSON answer that does not depend on a clock. Its file holds the
answer and a key, which is a hash of everything that the answer depends on: the code, the question
with its seed and planner, and the content of the model file, if any. A damaged file, or one with
another key, is not used, and a note says so.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rpsr._version import __version__
from rpsr.errors import InputError
from rpsr.io.files import write_bytes

if TYPE_CHECKING:
    from rpsr.models import POMDP

Document = dict[str, Any]
_SCHEMA = "rpsr.piece/1"
# Errors of reading JSON that is broken, deep, or of another form; integers may exceed floats.
DAMAGED = (
    *(OSError, ValueError, RecursionError, OverflowError),
    *(KeyError, TypeError, AttributeError),
)
_PACKAGE = Path(__file__).parents[1]
# Modules that ask for answers, judge them or show them; none computes one.
_HERE = ("cells", "claim", "page", "run", "story", "tables", "verdicts", "writing")
_SHOWING = ("cli/", "report/", *(f"reproduce/{name}" for name in _HERE))
_STEPPER = "report/stepper.py"  # which makes the numbers that a page steps through


@dataclass(frozen=True)
class Piece:
    """A question: its kind, its subject (a built-in domain or a file), and its options.

    cost: its relative duration; long pieces begin first.
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
        """A hash of everything that the answer depends on."""
        content = _content(Path(self.about)) if self.kind == "corpus" else self.about
        asked = [_SCHEMA, __version__, code(), self.kind, content, self.options]
        return sha256(json.dumps(asked).encode()).hexdigest()


def _content(path: Path) -> str:
    """A hash of a file; empty if it cannot be read, which its answer will report."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


@cache
def code() -> str:
    """A hash of the modules that answers may depend on: all but those that only show results."""
    digest = sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        part = path.relative_to(_PACKAGE).as_posix()
        if part == _STEPPER or not part.startswith(_SHOWING):
            digest.update(f"{part} {sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def answer(piece: Piece, folder: str = "") -> tuple[Document, float]:
    """The answer to a piece, and the seconds it took. folder: where relative paths begin."""
    began = time.perf_counter()
    options = dict(piece.options)
    if piece.kind == "corpus":
        document = _survey(piece.about, options, folder)
    else:
        document = _ANSWERS[piece.kind](piece.about, options)
    return document, time.perf_counter() - began


def _case_study(_: str, options: Document) -> Document:
    from rpsr.reproduce.case_study import case_study

    return dict(case_study())


def _errors(about: str, options: Document) -> Document:
    from rpsr.predictive import find_core, least_largest_error
    from rpsr.sources import load_pomdp

    pomdp = load_pomdp(about)
    least = least_largest_error(find_core(pomdp, "psr"), pomdp.R)
    row = _survey(about, options)
    return row | {"least_d_inf": least, "verified": _verified(pomdp, row)}


def _verified(pomdp: POMDP, row: Document) -> bool:
    """Whether a certificate proves the ranks and the accuracy of a row, by the verifier alone."""
    from rpsr.certificates import verify
    from rpsr.predictive import save_rank_certificate

    with TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        save_rank_certificate(pomdp, path)
        verified = verify(pomdp, path)
    proven = (verified.psr_rank, verified.rpsr_rank, verified.accurate)
    return proven == (row["psr_rank"], row["rpsr_rank"], row["accurate"])


def _survey(about: str, options: Document, folder: str = "") -> Document:
    from rpsr.predictive.survey import Options, domain_name, survey_row

    row: Document = dict(survey_row(about, Options(**options), folder))
    for what_changes in ("seconds", "stamp", "source"):
        del row[what_changes]
    return row | {"domain": domain_name(Path(about).name)}


def _returns(about: str, options: Document) -> Document:
    from rpsr.reproduce.returns import returns_on

    return returns_on(about, **options).to_document()


def _convergence(about: str, options: Document) -> Document:
    from rpsr.reproduce.convergence import convergence

    return dict(convergence(about, **options))


def _stepper(about: str, options: Document) -> Document:
    from rpsr.report.stepper import Steps
    from rpsr.reproduce.one_domain import PAPER_DISCOUNTS, paper_domain

    pomdp = paper_domain(about)
    if len(pomdp.states) > options["most_states"]:
        return {"data": None, "too_large": ""}
    note = "Discount .95, as in the paper." if about in PAPER_DISCOUNTS else ""
    return dict(vars(Steps.of(pomdp, note=note).stored()))


_ANSWERS = {
    "case-study": _case_study,
    "errors": _errors,
    "returns": _returns,
    "convergence": _convergence,
    "stepper": _stepper,
}


@dataclass(frozen=True)
class Store:
    """Answers by piece, in a folder."""

    folder: Path

    def path(self, piece: Piece) -> Path:
        """Where a piece's answer is kept."""
        return self.folder / f"{piece.name}.json"

    def find(self, piece: Piece) -> tuple[Document | None, str]:
        """An answer from an earlier run, or None; and why an existing file was not used."""
        path = self.path(piece)
        try:
            kept: Any = json.loads(path.read_bytes())
            schema, key, document = kept["schema"], kept["key"], kept["answer"]
        except FileNotFoundError:
            return None, ""
        except DAMAGED:
            return None, f"{path}: damaged, or not a stored result; recomputed"
        if schema != _SCHEMA or not isinstance(document, dict):
            return None, f"{path}: damaged, or not a stored result; recomputed"
        if key != piece.key:
            return None, f"{path}: from another version, seed or setting; recomputed"
        return document, ""  # pyright: ignore[reportReturnType]

    def keep(self, piece: Piece, document: Document) -> None:
        """Write an answer, completely or not at all."""
        kept = {"schema": _SCHEMA, "key": piece.key, "answer": document}
        write_bytes(self.path(piece), dumped(kept))


def dumped(document: Any) -> bytes:
    """JSON text; equal numbers give equal bytes."""
    try:
        text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    except ValueError as error:
        raise InputError(f"a result is not a number: {error}") from None
    return (text + "\n").encode()
