"""The accuracy condition of many sources: one row per source, on any executor.

A source that cannot be read gives a row with its error and does not stop the others. Rows can be
appended to a file of JSON lines as they come in; a later survey reuses rows that are still valid.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TypedDict, cast

from rpsr._version import __version__
from rpsr.errors import InputError, RpsrError, TimeLimitReached
from rpsr.models.objectives import Objective
from rpsr.parallel import AGAIN, spread
from rpsr.predictive.reward_accuracy import accuracy
from rpsr.row_file import RowFile
from rpsr.shards import SURVEY_KEY, Manifest, Shard
from rpsr.sources import NATIVE_SUFFIX, load_pomdp


class Row(TypedDict):
    """The results for one source; numbers are None if there is an `error`.

    note: why a single number is missing, else None. limit: "time" if the time limit was reached,
    else None.
    """

    domain: str
    source: str
    states: int | None
    actions: int | None
    observations: int | None
    psr_rank: int | None
    rpsr_rank: int | None
    accurate: bool | None
    accurate_reachable: bool | None
    d_inf: float | None
    rel_d_inf: float | None
    d_inf_by_action: dict[str, float] | None
    d_inf_reachable: float | None
    rpsr_d_inf: float | None
    history_error: dict[str, float] | None
    merged_states: int | None
    merged_groups: int | None
    merges: list[str] | None
    certified: bool | None
    error_probability: float | None
    margin: dict[str, float] | None
    seconds: float
    stamp: str | None
    warnings: list[str] | None
    note: str | None
    limit: str | None
    error: str | None


@dataclass(frozen=True)
class Options:
    """How to read the sources, and how to decide: see `load_pomdp` and `accuracy`.

    objective: what is to be achieved; the rows are then about its task. time_limit: seconds per
    source, not counting the time to read it.
    """

    normalize: bool = False
    discount: str | None = None
    exact: bool | None = None
    objective: Objective | None = None
    time_limit: float | None = field(default=None, repr=False)  # results do not depend on it


DEFAULT = Options()
QUESTION = ("source", "stamp")  # tells recorded rows apart
TEXT_SUFFIXES = (".pomdp", ".pomdpx", ".prism", ".drn")  # of models, also with .gz
IN_FOLDERS = (*TEXT_SUFFIXES, *(f"{suffix}.gz" for suffix in TEXT_SUFFIXES), NATIVE_SUFFIX)
KILLED = (
    f"{1 + AGAIN} processes that worked on this source were killed, perhaps because memory ran "
    "out; try again with fewer jobs, or with workers that have more memory"
)


def survey_row(source: str, options: Options = DEFAULT, folder: str = "") -> Row:
    """The row of one source; any error is in the row.

    folder: where relative paths begin, for a worker whose current folder is another one.
    """
    began = time.perf_counter()
    path = _seen_from(folder, source)
    row = _empty_row(source, path)
    row["stamp"] = _stamp(path, options, source)
    try:
        pomdp = load_pomdp(path, normalize=options.normalize, discount=options.discount)
        if options.objective is not None:
            pomdp = options.objective.timed_task(pomdp)
        row["states"], row["actions"] = len(pomdp.states), len(pomdp.actions)
        row["observations"] = len(pomdp.observations)
        row["warnings"] = [warning.replace(path, source) for warning in pomdp.warnings]
        measured = accuracy(pomdp, exact=options.exact, time_limit=options.time_limit)
        row["psr_rank"], row["rpsr_rank"] = measured.psr.rank, measured.rpsr.rank
        row["accurate"], row["accurate_reachable"] = measured.accurate, measured.accurate_reachable
        row["d_inf"], row["rel_d_inf"] = measured.d_inf, measured.rel_d_inf
        row["d_inf_by_action"] = dict(
            zip(pomdp.actions, measured.d_inf_by_action.tolist(), strict=True)
        )
        row["d_inf_reachable"], row["rpsr_d_inf"] = measured.d_inf_reachable, measured.rpsr_d_inf
        row["history_error"] = dict(zip(("mean", "max"), measured.history_error, strict=True))
        row["merged_states"] = measured.merged_states
        row["merged_groups"] = measured.merged_groups
        row["merges"] = [f"{merge}{merge.remark}" for merge in measured.merges]
        row["certified"], row["error_probability"] = measured.certified, measured.error_probability
        row["margin"] = margin_document(measured.margin)
        row["note"] = measured.note
    except RpsrError as error:
        row["error"] = str(error).replace(path, source)
        row["limit"] = "time" if isinstance(error, TimeLimitReached) else None
    except Exception as error:  # an error in one source must not stop the others
        row["error"] = f"unexpected {type(error).__name__}: {error}"
    row["seconds"] = time.perf_counter() - began
    return row


def _seen_from(folder: str, source: str) -> str:
    """A source as a worker names it: the path of a file in `folder`, or unchanged."""
    path = Path(folder, source)
    here = not folder or Path(folder) == Path.cwd() or not _is(Path.is_file, path)
    return source if here else str(path)


def _stamp(path: str, options: Options, source: str = "") -> str:
    """A hash of a row's inputs: the source's content, the options and the version of rpsr."""
    file = Path(path)
    try:
        content = file.read_bytes() if file.is_file() else (source or path).encode()
    except OSError:
        content = b""
    return sha256(_asked(options).encode() + content).hexdigest()


def _asked(options: Options) -> str:
    """The settings that rows depend on, besides their sources."""
    return f"{__version__} {options}"


def _empty_row(source: str, path: str = "") -> Row:
    row: Row = dict.fromkeys(Row.__annotations__)  # pyright: ignore[reportAssignmentType]
    row["source"] = source
    row["domain"] = domain_name(path or source)
    row["seconds"] = 0.0
    return row


def survey(
    sources: Sequence[str],
    options: Options = DEFAULT,
    *,
    executor: Executor | None = None,
    record: Path | None = None,
    shard: Shard | None = None,
) -> Iterator[Row]:
    """Rows of many sources, in the order of completion.

    executor: computes the rows, see `rpsr.parallel`; None is this process. record: a file of JSON
    lines. Its rows without an error are reused if the source's content, the options and the
    version are the same; new rows are appended as they come, each once, even if
    several surveys share the file. If appending fails, an `InputError` is raised after all rows.
    shard: the part of the sources to survey; the file then begins with its manifest.
    """
    manifest = None
    if shard is not None:
        sources = list(dict.fromkeys(sources))
        items = tuple((source,) for source in sources)
        manifest = Manifest(str(shard), SURVEY_KEY, ("seconds",), items, _asked(options))
        sources = shard.select(sources)
    kept, known = None, dict[str, Row]()
    if record is not None:
        kept = RowFile(record, QUESTION, manifest, fields=tuple(Row.__annotations__))
        there = kept.rows().values()  # raises now if the file cannot be written
        known = {row["source"]: cast("Row", row) for row in there}
    waiting: list[str] = []
    for source in dict.fromkeys(sources):
        row = known.get(source)
        same = row is not None and row["stamp"] == _stamp(source, options)
        if row is not None and same and source != "-":  # the content of standard input may differ
            yield row
        else:
            waiting.append(source)
    failure: InputError | None = None
    for row in _rows(waiting, options, executor):
        if failure is None and kept is not None:
            try:
                kept.append(dict(row), again=row["source"] == "-")  # its content may differ
            except InputError as error:
                failure = error  # such as a full disk: yield the remaining rows first
        yield row
    if failure is not None:
        raise failure


def _rows(sources: list[str], options: Options, executor: Executor | None) -> Iterator[Row]:
    if not sources:
        return
    here = [source for source in sources if executor is None or source == "-"]
    yield from (survey_row(source, options) for source in here)  # only here is standard input
    long_ones_first = sorted((s for s in sources if s not in here), key=_size, reverse=True)
    work = partial(survey_row, options=options, folder=os.getcwd())
    for source, row in spread(work, long_ones_first, executor):
        if row is None:
            row = _empty_row(source)
            row["error"] = KILLED
        yield row


def expand_sources(sources: Iterable[str]) -> list[str]:
    """Sources, with every folder replaced by the model files in it, by name."""
    expanded: list[str] = []
    for source in sources:
        folder = Path(source)
        if _is(Path.is_dir, folder):
            files = sorted(str(p) for p in folder.iterdir() if p.name.lower().endswith(IN_FOLDERS))
            if not files:
                named = ", ".join((*TEXT_SUFFIXES, NATIVE_SUFFIX))
                expected = f"expected files ending in {named}, not in subfolders"
                raise InputError(f"the folder contains no model file; {expected}", place=source)
            expanded += files
        else:
            expanded.append(source)
    return expanded


def domain_name(source: str) -> str:
    """A source's name without its folder and suffixes."""
    name = Path(source).name if _is(Path.exists, Path(source)) else source
    for suffix in (".gz", ".pomdp", ".POMDP", ".rpsr"):
        name = name.removesuffix(suffix)
    return name


def margin_document(margin: tuple[float, float]) -> dict[str, float]:
    """A margin by name."""
    return {"smallest_accepted": margin[0], "largest_rejected": margin[1]}


def _size(source: str) -> int:
    path = Path(source)
    return path.stat().st_size if _is(Path.is_file, path) else 0


def _is(what: Callable[[Path], bool], path: Path) -> bool:
    """`what(path)`; false if the path cannot be examined, such as a name that is too long."""
    try:
        return what(path)
    except OSError:
        return False
