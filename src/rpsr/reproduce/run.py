"""A reproduction: the list of its pieces, the computation of missing ones, and their answers."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

from rpsr.domains import NAMES
from rpsr.errors import InputError, RpsrError
from rpsr.io.files import write_bytes
from rpsr.parallel import spread
from rpsr.predictive.survey import expand_sources
from rpsr.report.stepper import StoredSteps
from rpsr.reproduce import paper
from rpsr.reproduce.case_study import CaseStudy
from rpsr.reproduce.cells import JudgedCell, judged_cells, judged_errors
from rpsr.reproduce.convergence import Curve
from rpsr.reproduce.one_domain import PAPER_DISCOUNTS
from rpsr.reproduce.pieces import DAMAGED, Document, Piece, Store, answer, dumped
from rpsr.reproduce.returns import Returns

QUICK_EPISODES = 200
# Exact backups that are affordable: `iff` has 22 observations, and its second cross-sum none could.
ITERATIONS = dict.fromkeys(paper.RESULTS, 60) | {"heavenhell": 40, "4x3": 7}
EPSILON = 1e-8
STEPPED = tuple(dict.fromkeys(["loadunload", *paper.DOMAINS, *NAMES]))  # in the order of the page
MOST_STATES = 40  # of a domain to step through that is not the paper's
_COSTS = {"4x3": 40.0, "iff": 60.0, "heavenhell": 15.0, "stand-tiger": 5.0}


# The planners for the two domains beyond the paper's six: planner, its options, and whether the
# reward-aware PSR is run too. None depends on a clock, so that all runs are equal.
# `iff` is too large for exact value iteration: its results are bounds.
BEYOND: dict[str, tuple[str, dict[str, Any], bool]] = {
    "4x3": ("vi", {"epsilon": 1e-6}, True),
    "iff": ("sarsop", {"epsilon": 1e-3, "max_iterations": 300}, False),
}


@dataclass(frozen=True)
class Settings:
    """The parts to reproduce. quick: faster, without the parts in `left_out`."""

    seed: int = 0
    quick: bool = False
    corpus: Path | None = None

    @property
    def episodes(self) -> int:
        """The number of simulated episodes per policy."""
        return QUICK_EPISODES if self.quick else paper.EPISODES

    @property
    def left_out(self) -> tuple[str, ...]:
        """The missing parts, as phrases."""
        if not self.quick:
            return ()
        fewer = f"all but {QUICK_EPISODES} of the {paper.EPISODES:,} episodes of each policy"
        return (fewer, "returns on 4x3 and iff", "the convergence of value iteration")


def pieces(settings: Settings) -> list[Piece]:
    """All pieces, the longest first."""
    common = {"episodes": settings.episodes, "seed": settings.seed}
    work = [Piece("case-study")]
    work += [Piece("errors", name) for name in paper.DOMAINS]
    work += [_stepper(name) for name in STEPPED]
    exact = {"planner": "vi", "options": {"epsilon": EPSILON}, "aware": True}
    work += [_piece("returns", name, **exact, **common) for name in paper.RESULTS]
    if not settings.quick:
        for name, (planner, options, aware) in BEYOND.items():
            how = {"planner": planner, "options": options, "aware": aware}
            work.append(_piece("returns", name, **how, **common))
        for name, iterations in ITERATIONS.items():
            discount = PAPER_DISCOUNTS.get(name)
            work.append(_piece("convergence", name, discount=discount, iterations=iterations))
    if settings.corpus is not None:
        if not settings.corpus.is_dir():
            raise InputError(
                "no such folder, expected a folder with model files ('rpsr domains fetch')",
                place=str(settings.corpus),
            )
        work += [
            Piece("corpus", path, (("normalize", True),), cost=_size(Path(path)) / 2**18)
            for path in expand_sources([str(settings.corpus)])
            if ".pomdp" in Path(path).name.lower()  # the classic files
        ]
    return sorted(work, key=lambda piece: (-piece.cost, piece.name))


def _stepper(name: str) -> Piece:
    """All of the paper's domains can be stepped through; large others would make a page heavy."""
    most = sys.maxsize if name in paper.DOMAINS else MOST_STATES
    return _piece("stepper", name, most_states=most)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # its row will show the error
        return 0


def _piece(kind: str, about: str, **options: Any) -> Piece:
    return Piece(kind, about, tuple(options.items()), _COSTS.get(about, 1.0))


@dataclass(frozen=True)
class Reproduction:
    """The answers to all pieces, by name; seconds: how long each took when it was computed."""

    settings: Settings
    answers: dict[str, Document]
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    def _of_kind(self, kind: str) -> dict[str, Document]:
        """Answers of one kind by domain, in the paper's order."""
        documents = {name: self.answers.get(f"{kind}-{name}") for name in paper.DOMAINS}
        return {name: document for name, document in documents.items() if document is not None}

    @property
    def case(self) -> CaseStudy:
        """The case study, with the walks of the policies whose returns were computed."""
        walks = self.answers["returns-loadunload"]["walks"]
        return cast(CaseStudy, self.answers["case-study"] | {"walks": walks})

    @property
    def errors(self) -> dict[str, Document]:
        """A row of `rpsr.predictive.survey` for each of the eight domains."""
        return self._of_kind("errors")

    @cached_property
    def returns(self) -> dict[str, Returns]:
        """The experiment's results by domain."""
        documents = self._of_kind("returns")
        return {name: Returns.from_document(document) for name, document in documents.items()}

    @cached_property
    def cells(self) -> tuple[JudgedCell, ...]:
        """The returns that the paper prints, each with its verdict."""
        return tuple(judged_cells(self.returns))

    @cached_property
    def right_errors(self) -> dict[str, tuple[bool, bool]]:
        """Whether the paper's absolute and relative reward errors are right, by domain."""
        return judged_errors(self.errors)

    @property
    def count_right_errors(self) -> int:
        """How many of the paper's reward errors are right."""
        return sum(map(sum, self.right_errors.values()))

    @property
    def six(self) -> dict[str, Returns]:
        """The results on the paper's six domains."""
        return {name: self.returns[name] for name in paper.RESULTS}

    @property
    def steps(self) -> tuple[StoredSteps, ...]:
        """The domains that the page steps through."""
        stored = [StoredSteps(**self.answers[f"stepper-{name}"]) for name in STEPPED]
        return tuple(steps for steps in stored if steps.data is not None or steps.too_large)

    @property
    def results(self) -> dict[str, Document]:
        """All answers except those that only the page shows."""
        return {name: x for name, x in self.answers.items() if not name.startswith("stepper-")}

    @property
    def curves(self) -> dict[str, dict[str, Curve]]:
        """How value iteration converged, by domain and model."""
        return cast("dict[str, dict[str, Curve]]", self._of_kind("convergence"))

    @property
    def corpus(self) -> dict[str, Document]:
        """Rows of the folder's files, by domain; a second file of a domain by its file name."""
        rows: dict[str, Document] = {}
        for name, row in self.answers.items():
            kind, _, file = name.partition("-")
            if kind == "corpus":
                rows[file if row["domain"] in rows else row["domain"]] = row
        return dict(sorted(rows.items()))


def reproduce(
    settings: Settings,
    out: Path,
    *,
    executor: Executor | None = None,
    progress: Callable[[str], None] = lambda name: None,
    note: Callable[[str], None] = lambda text: None,
) -> Reproduction:
    """Compute all missing pieces, and store each in `out` when it is finished.

    executor: computes the pieces, see `rpsr.parallel`; None is this process.
    progress: called with the name of each finished piece. note: called with a sentence for each
    file of an earlier run that was not used. Answers do not depend on the executor.
    """
    folder = out / "pieces"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create: {error.strerror or error}", place=str(folder)) from None
    store, work = Store(folder), pieces(settings)
    answers: dict[str, Document] = {}
    waiting: list[Piece] = []
    for piece in work:
        document, why_not = store.find(piece)
        if why_not:
            note(why_not)
        if document is None:
            waiting.append(piece)
        else:
            answers[piece.name] = document
            progress(piece.name)
    timings = out / "timings.json"
    earlier = earlier_seconds(timings)
    seconds = {name: earlier[name] for name in answers if name in earlier}
    began = time.perf_counter()
    try:
        ask = partial(answer, folder=os.getcwd()) if waiting else answer
        for piece, done in spread(ask, waiting, executor):
            if done is None:
                raise RpsrError(
                    f"the process for {piece.name} was killed; finished pieces are stored: run the "
                    "command again, with fewer jobs or larger workers"
                )
            answers[piece.name], seconds[piece.name] = done
            if not done[0].get("error"):  # errors are not stored: the next run tries again
                store.keep(piece, done[0])
            progress(piece.name)
    finally:
        spent = {"pieces": dict(sorted(seconds.items())), "seconds": time.perf_counter() - began}
        write_bytes(timings, dumped(spent))
    ordered = {piece.name: answers[piece.name] for piece in sorted(work, key=lambda p: p.name)}
    return Reproduction(settings, ordered, seconds)


def earlier_seconds(timings: Path) -> dict[str, float]:
    """The seconds that pieces took in earlier runs; none from a file that is missing or damaged."""
    try:
        kept: Any = json.loads(timings.read_bytes())["pieces"]
        seconds = {str(name): float(value) for name, value in kept.items()}
        return {name: value for name, value in seconds.items() if math.isfinite(value)}
    except DAMAGED:
        return {}


def corpus_counts(rows: dict[str, Document]) -> dict[str, list[str]]:
    """Names of files by result.

    Keys: `known` (among the paper's 63), `inaccurate` (of those), `missing` (of the 63),
    `beyond` (not among the 63), `inaccurate_beyond`, `unread`.
    """
    unread = [name for name, row in rows.items() if row["error"] is not None]
    read = {name: row for name, row in rows.items() if row["error"] is None}
    known = [name for name in read if name in paper.DOMAINS_63]
    beyond = [name for name in read if name not in paper.DOMAINS_63]
    return {
        "known": known,
        "inaccurate": [name for name in known if not read[name]["accurate"]],
        "missing": [name for name in paper.DOMAINS_63 if name not in read],
        "beyond": beyond,
        "inaccurate_beyond": [name for name in beyond if not read[name]["accurate"]],
        "unread": unread,
    }
