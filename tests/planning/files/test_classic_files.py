"""Files of the classic solver, `.alpha` and `.pg`: there and back, damaged, for the wrong model."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planning.plans import PARR, solved

from rpsr import InputError, ModelError
from rpsr.domains import build
from rpsr.planning.files.classic import read_alpha, read_pg, write_alpha, write_pg
from rpsr.planning.files.policies import load_policy
from rpsr.planning.value.controllers import extract_controller
from rpsr.predictive import rpsr


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# ---- .alpha


def test_an_alpha_file_is_what_the_classic_solver_writes():
    vectors, actions = np.array([[1.5, -2.0], [0.1, 1e-17]]), np.array([0, 2])
    write_alpha(build("tiger").belief_model(), vectors, actions, "t.alpha")
    assert Path("t.alpha").read_text() == "0\n1.5 -2.0\n\n2\n0.1 1e-17\n\n"


@given(st.lists(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=2), min_size=1, max_size=5))
def test_an_alpha_file_reads_back_to_the_same_numbers(rows):
    model = build("tiger").belief_model()
    vectors, actions = np.array(rows), np.arange(len(rows)) % 3
    write_alpha(model, vectors, actions, "t.alpha")
    read = read_alpha("t.alpha", model)
    assert np.array_equal(read[0], vectors)
    assert np.array_equal(read[1], actions)


@pytest.mark.parametrize("kind", ["rpsr", "psr"])
def test_an_alpha_file_is_in_belief_coordinates_whatever_the_model(kind):
    solution = solved("loadunload", kind)
    write_alpha(solution.model, solution.vectors, solution.actions, "l.alpha")
    assert len(Path("l.alpha").read_text().splitlines()[1].split()) == 10
    belief = build("loadunload").belief_model()
    vectors, _ = read_alpha("l.alpha", belief)
    assert float((vectors @ belief.start).max()) == pytest.approx(solution.value, abs=1e-12)
    back, actions = read_alpha("l.alpha", solution.model)
    assert np.allclose(back, solution.vectors, atol=1e-12)
    assert np.array_equal(actions, solution.actions)


ALPHA_DAMAGE = {
    "empty": ("", "a.alpha:1: the file has no vectors"),
    "no coefficients": ("0\n", "a.alpha:1: the last vector has no coefficients"),
    "too few": ("0\n1.0\n", "a.alpha:2: read 1 words, expected 2: a coefficient for each state"),
    "too many": ("0\n1 2 3\n", "a.alpha:2: read 3 words, expected 2"),
    "an action too far": ("\n 3\n1 2\n", "a.alpha:2:2: read '3', expected the number of an exist"),
    "two actions": ("0 1\n1 2\n", "a.alpha:1: read 2 words, expected 1: the number of an action"),
    "a negative action": ("-1\n1 2\n", "a.alpha:1:1: read '-1'"),
    "no number": ("0\n1 x\n", "a.alpha:2:3: read 'x', expected a number"),
    "infinite": ("0\n1 inf\n", "a.alpha:2:3: read 'inf', expected a number"),
    "not text": ("\udcff", "a.alpha: not a text file"),
}


@pytest.mark.parametrize(("text", "message"), ALPHA_DAMAGE.values(), ids=ALPHA_DAMAGE)
def test_a_damaged_alpha_file_is_refused_with_its_place(text, message):
    Path("a.alpha").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputError) as caught:
        read_alpha("a.alpha", build("tiger").belief_model())
    assert str(caught.value).startswith(message)


def test_a_missing_file_is_an_input_error():
    for read in (read_alpha, read_pg, load_policy):
        with pytest.raises(InputError, match="cannot be read"):
            read("nowhere", PARR)


def test_a_value_function_that_a_psr_cannot_carry_is_refused():
    solution = solved("loadunload")
    write_alpha(solution.model, solution.vectors, solution.actions, "l.alpha")
    with pytest.raises(ModelError, match="cannot represent"):
        read_alpha("l.alpha", solved("loadunload", "psr").model)


# ---- .pg


@pytest.mark.parametrize("name", ["parr", "loadunload", "heavenhell"])
def test_a_policy_graph_reads_back_to_the_same_controller(name):
    solution = solved(name)
    controller = extract_controller(solution)
    write_pg(controller, "c.pg")
    again = read_pg("c.pg", rpsr(build(name)))
    assert np.array_equal(again.actions, controller.actions)
    assert np.array_equal(again.successors, controller.successors)
    assert again.value(solution.model) == pytest.approx(solution.value, abs=1e-12)


def test_a_policy_graph_begins_where_it_is_worth_most():
    tiger = build("tiger").belief_model()
    # Node 0 opens a door at every step, node 1 listens at every step.
    Path("t.pg").write_text("0 1  0 0\n1 0  X -\n")
    controller = read_pg("t.pg", tiger)
    assert controller.first == 1
    assert controller.value(tiger) == pytest.approx(-20)


PG_DAMAGE = {
    "empty": ("\n\n", "g.pg:1: the file has no nodes"),
    "too short": ("0 0 0\n", "g.pg:1: read 3 words, expected 4"),
    "another number": ("0 0 0 0\n2 0 0 0\n", "g.pg:2:1: read '2', expected 1: nodes are"),
    "a node too far": ("0 0  0 1\n", "g.pg:1:8: read '1', expected the number of an existing node"),
    "an action too far": ("0 9  0 0\n", "g.pg:1:3: read '9', expected the number of an exist"),
}


@pytest.mark.parametrize(("text", "message"), PG_DAMAGE.values(), ids=PG_DAMAGE)
def test_a_damaged_policy_graph_is_refused_with_its_place(text, message):
    Path("g.pg").write_text(text)
    with pytest.raises(InputError) as caught:
        read_pg("g.pg", build("tiger").belief_model())
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("line", ["0 " + "1" * 5000 + " 0 0\n", "0 0 " + "9" * 5000 + " 0\n"])
def test_graphs_with_numbers_of_thousands_of_digits(tmp_path, line):
    path = tmp_path / "policy.pg"
    path.write_text(line)
    with pytest.raises(InputError, match="expected the number of an existing") as caught:
        read_pg(path, build("tiger").belief_model())
    assert "...' (5,000 characters), expected" in str(caught.value)
    assert len(caught.value.message) < 150


# ---- mutations, by a seed
