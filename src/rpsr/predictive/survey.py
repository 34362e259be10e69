"""The accuracy condition over many sources: one row each, as they come, over several processes.

A source that cannot be read is a row with its error and does not stop the rest. Rows can be kept in
a file of JSON lines while they come in; a later survey takes from there what it need not do again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypedDict

from rpsr.errors import InputError, RpsrError
from rpsr.predictive.accuracy import accuracy
from rpsr.sources import load_pomdp

# One thread of linear algebra a process: several processes already use the cores.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class Row(TypedDict):
    """One source's answers; None where a number does not exist, `error` saying why."""

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
    merges: list[str] | None
    certified: bool | None
    error_probability: float | None
    margin: dict[str, float] | None
    seconds: float
    error: str | None


def survey_row(source: str, *, normalize: bool = False, exact: bool | None = None) -> Row:
    """The row of one source."""
    began = time.perf_counter()
    row: Row = dict.fromkeys(Row.__annotations__)  # pyright: ignore[reportAssignmentType]
    row["source"] = source
    row["domain"] = domain_name(source)
    try:
        pomdp = load_pomdp(source, normalize=normalize)
        row["states"], row["actions"] = len(pomdp.states), len(pomdp.actions)
        row["observations"] = len(pomdp.observations)
        found = accuracy(pomdp, exact=exact)
        row["psr_rank"], row["rpsr_rank"] = found.psr.rank, found.rpsr.rank
        row["accurate"], row["accurate_reachable"] = found.accurate, found.accurate_reachable
        row["d_inf"], row["rel_d_inf"] = found.d_inf, found.rel_d_inf
        row["d_inf_by_action"] = dict(
            zip(pomdp.actions, found.d_inf_by_action.tolist(), strict=True)
        )
        row["d_inf_reachable"], row["rpsr_d_inf"] = found.d_inf_reachable, found.rpsr_d_inf
        row["history_error"] = dict(zip(("mean", "max"), found.history_error, strict=True))
        row["merged_states"] = found.merged_states
        row["merges"] = [str(merge) for merge in found.merges]
        row["certified"], row["error_probability"] = found.certified, found.error_probability
        row["margin"] = margin_document(found.margin)
    except RpsrError as error:
        row["error"] = str(error)
    row["seconds"] = time.perf_counter() - began
    return row


def survey(
    sources: Sequence[str],
    *,
    normalize: bool = False,
    exact: bool | None = None,
    jobs: int = 1,
    record: Path | None = None,
) -> Iterator[Row]:
    """Rows of many sources, in the order in which they are done.

    record: a file of JSON lines. Sources it already has without an error are taken from it, and new
    rows are appended as they come.
    """
    known = _recorded(record) if record is not None else {}
    waiting: list[str] = []
    for source in dict.fromkeys(sources):
        if source in known:
            yield known[source]
        else:
            waiting.append(source)
    for row in _rows(waiting, normalize, exact, jobs):
        if record is not None:
            with record.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        yield row


def _rows(sources: list[str], normalize: bool, exact: bool | None, jobs: int) -> Iterator[Row]:
    if jobs <= 1 or len(sources) <= 1:
        for source in sources:
            yield survey_row(source, normalize=normalize, exact=exact)
        return
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    try:
        futures = [
            pool.submit(survey_row, source, normalize=normalize, exact=exact)
            for source in sorted(sources, key=_size, reverse=True)  # the long ones first
        ]
        for future in as_completed(futures):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def expand_sources(sources: Iterable[str]) -> list[str]:
    """Sources, with every folder replaced by the model files in it, by name."""
    found: list[str] = []
    for source in sources:
        folder = Path(source)
        if folder.is_dir():
            files = sorted(str(p) for p in folder.iterdir() if ".pomdp" in p.name.lower())
            if not files:
                raise InputError("is a folder without .pomdp files", place=source)
            found += files
        else:
            found.append(source)
    return found


def domain_name(source: str) -> str:
    """A source's name without its folder and suffixes."""
    name = Path(source).name if Path(source).exists() else source
    for suffix in (".gz", ".pomdp", ".POMDP", ".rpsr"):
        name = name.removesuffix(suffix)
    return name


def margin_document(margin: tuple[float, float]) -> dict[str, float]:
    """A margin by name."""
    return {"smallest_accepted": margin[0], "largest_rejected": margin[1]}


def _size(source: str) -> int:
    path = Path(source)
    return path.stat().st_size if path.is_file() else 0


def _recorded(path: Path) -> dict[str, Row]:
    if not path.exists():
        return {}
    rows: dict[str, Row] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row: Any = json.loads(line)
            source = row["source"]
        except (json.JSONDecodeError, KeyError, TypeError):
            if line == path.read_text(encoding="utf-8").splitlines()[-1]:
                continue  # a row cut off by an interruption
            raise InputError(
                "not a row of an earlier survey", place=str(path), line=number
            ) from None
        if row.get("error") is None:
            rows[source] = row
    return rows
