"""Policies in SARSOP's XML format: what is written reads back and acts the same."""

import gzip

import numpy as np
import pytest
from tests.io.pomdpx import files

import rpsr
from rpsr.domains import build
from rpsr.errors import InputError
from rpsr.io.xml_tree import parse_xml
from rpsr.planning.files.policies import load_policy, save_policy
from rpsr.planning.files.sarsop import format_policy, layout, parse_policy


@pytest.fixture(scope="module")
def rover(tmp_path_factory):
    path = tmp_path_factory.mktemp("rover") / "rover.pomdpx"
    path.write_text(files.ROVER)
    return rpsr.load(path)


def beliefs(model, count=50):
    """Beliefs with one value of the fully observed variables each, (N, S)."""
    rng, states = np.random.default_rng(0), layout(model)
    drawn = np.zeros((count * len(states), states.size))
    for i, x in enumerate(np.repeat(np.arange(len(states)), count)):
        drawn[i, states[x]] = rng.dirichlet(np.full(states.shape[1], 0.5))
    return drawn


def random_vectors(model, seed, count=12):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, model.dimension)) * 10
    return vectors, rng.integers(0, len(model.actions), count)


def acts(vectors, actions, at):
    """Values and actions at beliefs."""
    values = at @ vectors.T
    return values.max(axis=1), actions[values.argmax(axis=1)]


@pytest.mark.parametrize("seed", range(20))
def test_vectors_over_all_states_act_the_same_after_a_round_trip(rover, seed):
    model = rover.belief_model()
    vectors, actions = random_vectors(model, seed)
    text = format_policy(model, vectors, actions)
    again = parse_policy(text.encode(), "f", model)
    at = beliefs(model)
    for before, after in zip(acts(vectors, actions, at), acts(*again, at), strict=True):
        np.testing.assert_array_equal(before, after)


def test_the_file_has_a_vector_for_each_value_of_what_is_observed(rover):
    model = rover.belief_model()
    vectors, actions = np.arange(12.0).reshape(2, 6)[:, ::-1], np.array([1, 3])
    root = parse_xml(format_policy(model, vectors, actions).encode(), "f").root
    (table,) = root.children
    assert root.attributes["type"] == "value"
    assert table.attributes == {"vectorLength": "2", "numObsValue": "3", "numVectors": "3"}
    elements = [(v.attributes, v.words()) for v in table.children]
    # The first vector is below the second everywhere.
    assert elements == [
        ({"action": "3", "obsValue": "0"}, ["11.0", "10.0"]),
        ({"action": "3", "obsValue": "1"}, ["9.0", "8.0"]),
        ({"action": "3", "obsValue": "2"}, ["7.0", "6.0"]),
    ]


def test_the_order_is_that_of_the_variables_observed_ones_first():
    text = files.ROVER.replace('vnameCurr="rover_1" fullyObs="true"', 'vnameCurr="rover_1"')
    text = text.replace('vnameCurr="rock_1"', 'vnameCurr="rock_1" fullyObs="true"')
    from rpsr.io.pomdpx.reader import parse_pomdpx

    model = rpsr.POMDP(parse_pomdpx(text.encode(), place="f", name="f")).belief_model()
    assert layout(model).tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize("kind", ["pomdp", "rpsr"])
@pytest.mark.parametrize("suffix", [".policy", ".policy.gz", ".POLICY"])
def test_a_plan_reads_back_with_its_value(tmp_path, rover, kind, suffix):
    model = rover.belief_model() if kind == "pomdp" else rpsr.rpsr(rover)
    plan = rpsr.solve(model, planner="sarsop", epsilon=1e-3)
    path = tmp_path / ("plan" + suffix)
    save_policy(plan, path)
    stored = load_policy(path, rover)
    assert float((stored.vectors @ rover.start).max()) == pytest.approx(plan.lower, abs=1e-6)
    raw = path.read_bytes()
    assert (raw[:2] == gzip.compress(b"")[:2]) == suffix.endswith(".gz")


def test_a_flat_model_has_one_observed_value(tmp_path):
    tiger = build("tiger")
    plan = rpsr.solve(tiger, planner="sarsop", epsilon=1e-3)
    save_policy(plan, tmp_path / "t.policy")
    stored = load_policy(tmp_path / "t.policy", tiger)
    order = np.lexsort(np.column_stack([plan.vectors, plan.actions]).T)
    again = np.lexsort(np.column_stack([stored.vectors, stored.actions]).T)
    np.testing.assert_array_equal(stored.vectors[again], plan.vectors[order])
    np.testing.assert_array_equal(stored.actions[again], plan.actions[order])


HEAD = '<?xml version="1.0"?>\n<Policy version="0.1" type="value" model="t">\n'
TEXT = (
    HEAD + '<AlphaVector vectorLength="2" numObsValue="1" numVectors="2">\n'
    '<Vector action="1" obsValue="0">-81.5975 28.4025 </Vector>\n'
    '<SparseVector action="0" obsValue="0"><Entry>1 2.5e1</Entry></SparseVector>\n'
    "</AlphaVector> </Policy>\n"
)


def test_vectors_below_another_are_left_out():
    tiger = build("tiger").belief_model()
    vectors = np.array([[0.0, 4.0], [3.0, 1.0], [2.0, 1.0], [0.0, 4.0], [-1.0, 3.5]])
    text = format_policy(tiger, vectors, np.array([0, 1, 2, 0, 1]))
    values, actions = parse_policy(text.encode(), "p", tiger)
    assert (values.tolist(), actions.tolist()) == ([[0.0, 4.0], [3.0, 1.0]], [0, 1])


def test_a_file_of_sarsop_is_read_whatever_its_name(tmp_path):
    (tmp_path / "out.txt").write_text(TEXT)
    stored = load_policy(tmp_path / "out.txt", build("tiger"))
    assert stored.vectors.tolist() == [[0.0, 25.0], [-81.5975, 28.4025]]
    assert stored.actions.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"value"', '"graph"', "f:2:1: type: read 'graph', expected 'value'"),
        (
            'Length="2"',
            'Length="3"',
            "f:3:1: the policy is of another model: vectorLength: read '3', but",
        ),
        ('numObsValue="1"', 'numObsValue="4"', "numObsValue: read '4', but the model has 1 joint"),
        ('action="1"', 'action="9"', "f:4:1: action: read '9', expected a number from 0 to 2"),
        ('action="1"', "", "<Vector> has no attribute 'action'"),
        ("28.4025", "x", "f:4:42: read 'x', expected a number"),
        ("28.4025", "", "f:4:1: read 1 numbers, expected 2"),
        ("28.4025", "nan", "read 'nan', expected a number"),
        ("1 2.5e1", "2 2.5e1", "expected a position from 0 to 1 and a number"),
        ("</Policy>", "", "not well-formed XML: no element found"),
        ("Policy", "Policies", "read <Policies>, expected <Policy>"),
    ],
)
def test_a_faulty_file(old, new, message):
    text = TEXT.replace(old, new)
    with pytest.raises(InputError) as refused:
        parse_policy(text.encode(), "f", build("tiger").belief_model())
    assert message in str(refused.value)


def test_a_finite_horizon_is_refused(tmp_path):
    plan = rpsr.solve(build("tiger"), planner="vi", horizon=2)
    with pytest.raises(InputError, match="cannot store a finite-horizon plan"):
        save_policy(plan, tmp_path / "t.policy")
    assert not list(tmp_path.iterdir())


def test_deeply_nested_elements_are_refused_where_they_begin():
    assert parse_xml(b"<a>" * 1000 + b"</a>" * 1000, "p.policy").root.tag == "a"
    with pytest.raises(InputError, match=r"p\.policy:1:3001: .* nested more than 1,000 deep"):
        parse_xml(b"<a>" * 300_000, "p.policy")
