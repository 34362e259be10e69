"""What every estimator learns from small logs of several domains: numbers to compare with.

`python -m tests.learning.traces FILE` writes them; `test_traces` compares a run with what was kept.
With `--digest`, everything that a run computes is added, to the last bit: two versions of the code
on one machine can be compared by it. Words and times are left out.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.learning.worlds import coin_log, simulate

from rpsr.cli.app import main as command
from rpsr.errors import InputError
from rpsr.learning import (
    EMRPSR,
    Choosing,
    DiscoveredRPSR,
    Fitting,
    LastKTable,
    Search,
    SpectralPSR,
    SpectralRPSR,
    bootstrap,
    choose,
    diagnose,
    learn,
    off_policy_value,
    psr_enough,
)
from rpsr.learning.estimator_names import ESTIMATORS
from rpsr.logs import Trajectories, stream_logs, write_logs
from rpsr.models import LinearModel
from rpsr.planning import planner_by_name, solve

DISCOUNT = 0.95
CHUNK = 150  # steps, of a log that is streamed

LOGS: dict[str, Callable[[], Trajectories]] = {
    "loadunload": lambda: simulate("loadunload", 100, 12, seed=1),
    "tiger": lambda: simulate("tiger", 80, 10, seed=2),
    "paint": lambda: simulate("paint", 80, 10, seed=3, chances=lambda _: (0.4, 0.3, 0.2, 0.1)),
    "ends": lambda: coin_log(80, seed=5),
    "shown-ends": lambda: shown_ends(coin_log(80, seed=6)),
    "recordings": lambda: simulate("loadunload", 3, 800, seed=7),
}


def shown_ends(log: Trajectories) -> Trajectories:
    """The log with an observation of its own at ends of tasks."""
    observations = log.observations.copy()
    observations[log.ends] = 2
    return Trajectories(
        log.action_names,
        (*log.observation_names, "finished"),
        log.actions,
        observations,
        log.offsets,
        log.terminated,
        log.rewards,
    )


def small_em(**options: Any) -> EMRPSR:
    """EM with few states and few iterations."""
    return EMRPSR(
        discount=DISCOUNT,
        search=Search(sizes=(5,), starts=2, descents=1, memories=1, probe=40, probing=5, largest=9),
        fitting=Fitting(iterations=8, refitting=6, polishing=6),
        choosing=Choosing(keep=3),
        **options,
    )


FITS: dict[str, Callable[[], Any]] = {
    "spectral": lambda: SpectralRPSR(discount=DISCOUNT),
    "spectral-variance": lambda: SpectralRPSR(discount=DISCOUNT, rank=3, weighting="variance"),
    "spectral-plain": lambda: SpectralRPSR(
        discount=DISCOUNT, rank=2, weighting="plain", starts="stationary", tests=1, histories=2
    ),
    "psr": lambda: SpectralPSR(discount=DISCOUNT),
    "discovered": lambda: DiscoveredRPSR(discount=DISCOUNT, repeats=3),
    "suffix-history": lambda: DiscoveredRPSR(
        discount=DISCOUNT, algorithm="suffix-history", repeats=2
    ),
    "reset": lambda: DiscoveredRPSR(discount=DISCOUNT, algorithm="reset", repeats=1),
    "em": lambda: small_em(seed=1),
    "em-states": lambda: small_em(seed=2, states=3),
    "em-observations": lambda: small_em(seed=3, rewards="none"),
    "last-k": lambda: LastKTable(discount=DISCOUNT),
    "last-2": lambda: LastKTable(discount=DISCOUNT, k=2),
}
STREAMED = ("spectral", "discovered", "em", "last-k")


@cache
def log_of(name: str) -> Trajectories:
    """A log by its name."""
    return LOGS[name]()


def matrices(model: LinearModel) -> np.ndarray:
    """The operators of a model, (A, O, n, n)."""
    n_actions, n_observations, _ = model.operators.shape
    return np.array(
        [
            [np.asarray(model.operators.matrix(a, o)) for o in range(n_observations)]
            for a in range(n_actions)
        ]
    )


def parts(model: LinearModel) -> list[Any]:
    """All numbers of a model, and its names."""
    names = (model.actions, model.observations, model.final, model.estimator, model.kind)
    numbers = (model.start, model.normalizer, model.rewards, matrices(model))
    return [str(names), *(np.ascontiguousarray(array) for array in numbers)]


def numbers_of(model: LinearModel) -> list[float]:
    """Numbers that do not depend on a model's coordinates: what it predicts and expects."""
    x = model.start
    said = [float(model.dimension), *(x @ model.rewards).tolist()]
    operators = matrices(model)
    for a in range(len(model.actions)):
        chances = np.array([x @ matrix @ model.normalizer for matrix in operators[a]])
        likely = int(chances.argmax())
        after = x @ operators[a, likely] / chances[likely]
        said += [*chances.tolist(), *(after @ model.rewards).tolist()]
    return said


Result = tuple[list[Any], list[float]]  # all that was computed; a few numbers of it


def fitted(estimator: Any, log: Any) -> Result:
    """An estimator fitted to a log: all its models, and what it says of the log itself."""
    fit = estimator.fit(log)
    judged = fit.judge(log_of("tiger") if log is None else log)
    seen = [part for model in fit.models() for part in parts(model)]
    seen += [vars(judged)["calibration"], str((judged.loglik, judged.reward_rmse, judged.resets))]
    if isinstance(fit, DiscoveredRPSR):
        seen.append(str((fit.core_, fit.core_histories_, fit.stability_)))
    return seen, [*numbers_of(fit.model_), judged.loglik, judged.reward_rmse or 0.0]


def ran_fit(log: str, kind: str) -> Result:
    """One fit in memory; an error is a result, too."""
    try:
        return fitted(FITS[kind](), log_of(log))
    except InputError as error:
        return [type(error).__name__], []


def ran_stream(log: str, kind: str) -> Result:
    """One fit to files that are read in chunks."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        write_logs(log_of(log), path)
        return fitted(FITS[kind](), stream_logs(path, chunk=CHUNK))


def ran_enough(log: str, kind: str) -> Result:
    """The rank test on data, with a policy of a name."""
    try:
        enough = psr_enough(log_of(log), behaviour=kind, repeats=6, seed=1)
    except InputError as error:
        return [type(error).__name__], []
    facts = (enough.verdict, enough.psr_rank, enough.rpsr_rank)
    numbers = [enough.statistic, *enough.interval, enough.reward_error, enough.resolution]
    return [str(facts), str(numbers)], [*map(float, facts[1:]), *numbers]


def ran_judgements(log: str, _: str) -> Result:
    """A model of the first half, judged by the second, and its plan off policy."""
    whole = log_of(log)
    half = whole.episodes // 2 or 1
    first, second = whole.select(np.arange(half)), whole.select(np.arange(half, whole.episodes))
    model = LastKTable(discount=DISCOUNT, k=1).fit(first).model_
    judged = diagnose(model, second)
    plan = solve(model, planner_by_name("reachable"))
    value = off_policy_value(model, plan.vectors, second, resamples=20, seed=2)
    numbers = [judged.loglik, judged.reward_rmse or 0.0, value.value, value.low, value.high]
    return [str(judged), str(value)], [*numbers, *map(float, (value.steps, *value.agreeing))]


def ran_choice(log: str, _: str) -> Result:
    """Plans in a table and in tables of resampled logs."""
    table = LastKTable(discount=DISCOUNT, k=1)
    models = [table.fit(log_of(log)).model_, *bootstrap(table, log_of(log), repeats=2, seed=1)]
    choice = choose(models, log_of(log), episodes=20, steps=20, seed=3)
    numbers = [value for option in choice.options for value in (option.mean, option.solution.value)]
    return [str(choice.index), json.dumps(choice.rows())], [float(choice.index), *numbers]


def plain(document: dict[str, Any]) -> dict[str, Any]:
    """A document without times and places."""
    left_out = ("seconds", "source", "output", "plan", "version")
    return {key: value for key, value in document.items() if key not in left_out}


def flat(value: Any) -> Iterator[float]:
    """All numbers in a document, in the order of its keys."""
    if isinstance(value, dict):
        for _, item in sorted(value.items()):
            yield from flat(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from flat(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


RANKS = {"em": 4, "last-k": 2}


def ran_learn(log: str, kind: str) -> Result:
    """The verb of the library."""
    rank = RANKS.get(kind, "auto")
    document = learn(kind, log_of(log), discount=DISCOUNT, rank=rank, seed=1).document()
    document = json.loads(json.dumps(plain(document)))
    return [json.dumps(without_words(document), sort_keys=True)], [
        float(document["rank"]),
        *flat(document["heldout"]),
        *flat(document["overlap"]),
        *flat(document["psr_enough"]),
        *flat(document["candidates"]),
    ]


def without_words(value: Any) -> Any:
    """A document without its sentences, which are for people and may be worded otherwise."""
    if isinstance(value, dict):
        return {key: without_words(item) for key, item in value.items() if key != "reason"}
    return [without_words(item) for item in value] if isinstance(value, list) else value


def ran_command(log: str, kind: str) -> Result:
    """`rpsr learn --json`."""
    with tempfile.TemporaryDirectory() as folder:
        path, model = Path(folder) / "log.jsonl", Path(folder) / "m.rpsr"
        write_logs(log_of(log), path)
        words = ["learn", str(path), "-o", str(model), "--discount", str(DISCOUNT), "--json"]
        words += ["--estimator", kind, "--rank", str(RANKS.get(kind, 3))]
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            code = command(words)
    document = plain(json.loads(out.getvalue()))
    return [code, json.dumps(without_words(document), sort_keys=True)], list(flat(document))


RUNS: dict[str, Callable[[str, str], Result]] = {
    "fit": ran_fit,
    "stream": ran_stream,
    "enough": ran_enough,
    "judge": ran_judgements,
    "choose": ran_choice,
    "learn": ran_learn,
    "command": ran_command,
}


def cases() -> Iterator[tuple[str, str, str]]:
    """Log, what is run and of which kind."""
    for log in LOGS:
        yield from ((log, "fit", kind) for kind in FITS)
        if log in ("loadunload", "ends"):
            yield from ((log, "stream", kind) for kind in STREAMED)
        yield log, "enough", "estimated"
        yield log, "judge", ""
        if log in ("tiger", "ends", "shown-ends"):
            yield log, "choose", ""
    yield from (("loadunload", "enough", policy) for policy in ("logged", "blind"))
    yield from (("paint", "learn", kind) for kind in ESTIMATORS.own)
    yield from (("ends", "command", kind) for kind in ESTIMATORS.own)


def run(log: str, what: str, kind: str) -> Result:
    """One run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RUNS[what](log, kind)


def summary(result: Result) -> list[float]:
    """What is kept of a run: some numbers, to ten digits."""
    return [float(f"{x:.10g}") for x in result[1]]


def digest(result: Result) -> str:
    """Everything that a run computes, to the last bit."""
    seen = hashlib.sha256()
    for part in result[0]:
        seen.update(part.tobytes() if isinstance(part, np.ndarray) else str(part).encode())
    return seen.hexdigest()[:16]


def main() -> None:
    """Write a summary of every run to the file that is named."""
    rows: list[str] = []
    for case in cases():
        name = "/".join(filter(None, case))
        print(name, file=sys.stderr)
        result = run(*case)
        kept: Any = summary(result)
        if "--digest" in sys.argv:
            kept = {"digest": digest(result), "numbers": kept}
        rows.append(f"{json.dumps(name)}: {json.dumps(kept)}")
    Path(sys.argv[1]).write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
