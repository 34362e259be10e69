"""One entry point per reader of files.

A reader gets the path of a file, reads it, and uses what it read as every caller would. It may end
in an `RpsrError`; anything else is a defect. It returns a short description of the value, by which
the run knows that an input led to something new.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zlib import crc32

from tests.fuzz.seeds import LAMP, MEMBERS, seeds_of

from rpsr import POMDP, LinearModel, accuracy, load, psr, rpsr, solve, verify
from rpsr.evaluation.policy_files import open_policy
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.logs import read_logs
from rpsr.models.as_model import as_linear
from rpsr.planning.as_policy import as_policy
from rpsr.planning.files.checkpoint import load_checkpoint
from rpsr.predictive.survey import QUESTION, Row
from rpsr.row_file import RowFile
from rpsr.shards import merged

SMALL = 1000  # probabilities of a model that is used, not only read


@cache
def lamp() -> POMDP:
    """The model that policies, checkpoints and certificates are read for."""
    return POMDP(parse_pomdp(LAMP.encode(), place="lamp", name="lamp"))


def _model(path: Path) -> str:
    """Half of the files are read with `--normalize`."""
    model = load(path, normalize=bool(crc32(path.read_bytes()) & 1))
    if isinstance(model, POMDP):
        sizes = len(model.states), len(model.actions), len(model.observations)
        size = model.record.transition.values.size + model.record.emission.values.size
    else:
        sizes = (model.dimension, len(model.actions), len(model.observations))
        size = model.dimension**2 * len(model.actions) * len(model.observations)
    if size <= SMALL:
        _use(model)
    return f"{type(model).__name__} {sizes} {str(model)[:20]}"


def _use(model: POMDP | LinearModel) -> None:
    if isinstance(model, POMDP):
        assert model.R.shape == (len(model.states), len(model.actions))
        _ = (model.outcomes, model.digest, model.D)
    linear = as_linear(model)
    linear.operators.left(linear.start[None, :], 0, 0)


def _policy(path: Path) -> str:
    found = open_policy(path, lamp())
    policy = as_policy(found, lamp())
    policy.reset()
    return f"{type(found).__name__} {policy.act()}"


def _log(path: Path) -> str:
    log = read_logs(path)
    return (
        f"{len(log.action_names)} {len(log.observation_names)} {log.episodes} {log.rewards is None}"
    )


def _checkpoint(path: Path) -> str:
    return f"{load_checkpoint(path, as_linear(lamp())).value_function.vectors.shape}"


@cache
def _truth() -> tuple[float, float, int, int, bool]:
    """An interval that contains the lamp's optimal value, its ranks, and its accuracy."""
    plan, found = solve(lamp(), "vi", epsilon=1e-9), accuracy(lamp())
    assert plan.upper is not None
    return plan.lower, plan.upper, len(psr(lamp()).core), len(rpsr(lamp()).core), found.accurate


def _certificate(path: Path) -> str:
    """What is proven must be true."""
    found, (low, high, psr_rank, rpsr_rank, accurate) = verify(lamp(), path), _truth()
    assert found.lower is None or found.lower <= high
    assert found.upper is None or found.upper >= low
    assert found.controller_value is None or found.controller_value <= high
    assert found.psr_rank in (None, psr_rank)
    assert found.rpsr_rank in (None, rpsr_rank)
    assert found.accurate in (None, accurate)
    return f"{found.lower is None} {found.upper is None} {found.psr_rank} {found.controller_value}"


def _rows(path: Path) -> str:
    """A file of rows is merged, and a survey continues it."""
    found = merged([path])
    found.content(), found.notes()
    kept = RowFile(path, QUESTION, fields=tuple(Row.__annotations__)).rows()
    return f"{len(found.rows)} {len(found.missing)} {len(kept)}"


@dataclass(frozen=True)
class Reader:
    """A reader by name. suffix: of its files. members: files are archives of arrays."""

    name: str
    suffix: str
    read: Callable[[Path], str]

    @property
    def seeds(self) -> list[bytes]:
        """Files that are valid."""
        return seeds_of(self.name)

    @property
    def archive(self) -> bool:
        """Whether files are archives with a header and arrays."""
        return self.name in MEMBERS


READERS = {
    reader.name: reader
    for reader in (
        Reader("pomdp", ".pomdp", _model),
        Reader("pomdpx", ".pomdpx", _model),
        Reader("prism", ".prism", _model),
        Reader("drn", ".drn", _model),
        Reader("native", ".rpsr", _model),
        Reader("policy", ".json", _policy),
        Reader("alpha", ".alpha", _policy),
        Reader("pg", ".pg", _policy),
        Reader("sarsop", ".policy", _policy),
        Reader("jsonl", ".jsonl", _log),
        Reader("csv", ".csv", _log),
        Reader("parquet", ".parquet", _log),
        Reader("checkpoint", ".ckpt", _checkpoint),
        Reader("certificate", ".json", _certificate),
        Reader("rows", ".jsonl", _rows),
    )
}
