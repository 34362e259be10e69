"""Examples outside the core: they parse everywhere, and do what they say where their needs are."""

import ast
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from rpsr.logs import from_arrays

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_parses_and_says_how_it_is_run(path):
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring is not None
    assert f"python examples/{path.name}" in docstring


@pytest.fixture(scope="module")
def gru():
    pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("gru", EXAMPLES / "gru.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_padding_counts_nowhere(gru):
    rng = np.random.default_rng(0)
    lengths = [5, 1, 3]
    columns = [[rng.integers(2, size=n) for n in lengths] for _ in range(3)]
    together = gru.Episodes.of(from_arrays(*columns))
    model = gru.Predictor(2, 2, together.means)
    whole = model.loss(together).item()
    apart = []
    for i, n in enumerate(lengths):
        one = together[[i]]
        cut = [getattr(one, name)[:, :n] for name in ("actions", "observations", "levels")]
        cut += [one.taken[:, :n], one.last[:, :n], one.means]
        apart.append(model.loss(gru.Episodes(*cut)).item())
    assert whole == pytest.approx(np.average(apart, weights=lengths), rel=1e-5)


def test_nothing_follows_the_end_of_a_task(gru):
    # "stop" pays 1 and ends the task; "go" pays 1/2 and continues: 5 in all at a discount of 0.9.
    rng = np.random.default_rng(1)
    lengths = rng.geometric(0.25, size=200)
    ends = lengths <= 20
    lengths = np.minimum(lengths, 20)
    actions = [
        np.append(np.zeros(n - 1, int), int(end)) for n, end in zip(lengths, ends, strict=True)
    ]
    log = from_arrays(
        actions,
        [np.zeros(n, int) for n in lengths],
        [np.where(row == 1, 1.0, 0.5) for row in actions],
        terminated=ends,
        action_names=["go", "stop"],
    )
    model = gru.train(log, epochs=20)
    q = gru.fit_q(model, log, 0.9)
    go, stop = (q(model.start[None])[0] * q.unit).tolist()
    assert stop == pytest.approx(1, abs=0.3)  # the error of a network fitted for a moment
    assert go == pytest.approx(5, abs=1)
    policy = gru.RecurrentPolicy(q, (log.action_names, log.observation_names))
    assert policy.act() == 0
    policy.reset(3)
    assert policy.act_all().tolist() == [0, 0, 0]
