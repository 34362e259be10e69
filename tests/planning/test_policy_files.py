"""Policy files: classic and native, there and back, damaged, and for the wrong model."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.builders import rotated

from rpsr import InputError, ModelError
from rpsr.domains import build
from rpsr.models import Unknown
from rpsr.planning.checkpoint import Checkpoint, load_checkpoint, resume, save_checkpoint
from rpsr.planning.classic_files import read_alpha, read_pg, write_alpha, write_pg
from rpsr.planning.controllers import FiniteStateController, extract_controller
from rpsr.planning.exact import ValueIteration
from rpsr.planning.policies import AlphaPolicy
from rpsr.planning.policy_files import StoredVectors, load_policy, save_policy, save_solution
from rpsr.planning.reachable import Reachable
from rpsr.planning.solve import solve
from rpsr.planning.trees import PolicyTree
from rpsr.predictive import psr, rpsr


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@cache
def solved(name, kind="belief"):
    pomdp = build(name)
    make = {"belief": pomdp.belief_model, "rpsr": lambda: rpsr(pomdp), "psr": lambda: psr(pomdp)}
    return solve(make[kind](), Reachable())


PARR = build("parr").belief_model()

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
    "empty": ("", "a.alpha:1: it holds no vector"),
    "no coefficients": ("0\n", "a.alpha:1: its last vector has no coefficients"),
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
    with pytest.raises(ModelError, match="cannot carry"):
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
    # Node 0 opens a door for ever, node 1 listens for ever.
    Path("t.pg").write_text("0 1  0 0\n1 0  X -\n")
    controller = read_pg("t.pg", tiger)
    assert controller.first == 1
    assert controller.value(tiger) == pytest.approx(-20)


PG_DAMAGE = {
    "empty": ("\n\n", "g.pg:1: it holds no node"),
    "too short": ("0 0 0\n", "g.pg:1: read 3 words, expected 4"),
    "another number": ("0 0 0 0\n2 0 0 0\n", "g.pg:2:1: read '2', expected node 1"),
    "a node too far": ("0 0  0 1\n", "g.pg:1:8: read '1', expected the number of an existing node"),
    "an action too far": ("0 9  0 0\n", "g.pg:1:3: read '9', expected the number of an exist"),
}


@pytest.mark.parametrize(("text", "message"), PG_DAMAGE.values(), ids=PG_DAMAGE)
def test_a_damaged_policy_graph_is_refused_with_its_place(text, message):
    Path("g.pg").write_text(text)
    with pytest.raises(InputError) as caught:
        read_pg("g.pg", build("tiger").belief_model())
    assert str(caught.value).startswith(message)


# ---- native


def test_a_value_function_moves_between_forms_of_a_model():
    solution = solved("loadunload", "rpsr")
    save_solution(solution, "p.json")
    belief = build("loadunload").belief_model()
    for model in (belief, solution.model, rotated(build("loadunload"))):
        stored = load_policy("p.json", model)
        assert isinstance(stored, StoredVectors)
        assert stored.epsilon == solution.epsilon
        value = float((stored.vectors @ model.start).max())
        assert value == pytest.approx(solution.value, abs=1e-11)
        worth = stored.vectors @ model.start
        best = solution.actions[worth >= worth.max() - 1e-11]  # both ways are as good
        assert stored.policy().act() in best
    assert stored.made_for["kind"] == "rpsr"
    assert stored.made_for["provenance"]["pomdp"] == build("loadunload").digest


def test_controllers_and_trees_keep_their_numbers():
    solution = solved("parr")
    controller = extract_controller(solution)
    save_policy(controller, solution.model, "c.json")
    again = load_policy("c.json", PARR)
    assert isinstance(again, FiniteStateController)
    assert again.value(PARR) == controller.value(PARR)
    plan = solve(PARR, Reachable(horizon=5))
    save_solution(plan, "t.json")
    tree = load_policy("t.json", PARR)
    assert isinstance(tree, PolicyTree)
    assert tree.value(PARR) == plan.value


def test_a_model_of_unknown_domain_keeps_its_own_coordinates():
    model = replace(rotated(build("parr")), domain=Unknown())
    stored = StoredVectors(model, np.eye(model.dimension), np.zeros(model.dimension, dtype=int))
    save_policy(stored, model, "u.json")
    again = load_policy("u.json", model)
    assert np.array_equal(again.vectors, stored.vectors)
    with pytest.raises(InputError, match="it is for a psr of dimension 7"):
        load_policy("u.json", PARR)


def test_another_model_s_names_are_refused_clearly():
    save_solution(solved("parr"), "p.json")
    with pytest.raises(InputError) as caught:
        load_policy("p.json", build("tiger").belief_model())
    told = (
        "p.json: was made for other actions: read a, b, c, expected listen, open-left, open-right"
    )
    assert str(caught.value) == told
    with pytest.raises(InputError, match="was made for other observations"):
        load_policy("p.json", replace(PARR, observations=tuple("uvwxyz")))


def damaged(**changes):
    save_solution(solved("parr"), "d.json")
    document = json.loads(Path("d.json").read_text()) | changes
    return {key: value for key, value in document.items() if value != "gone"}


DAMAGE = {
    "another format": ({"format": "x"}, "not a policy file of rpsr"),
    "another version": ({"format_version": 9}, "format version 9, expected 1"),
    "another kind": ({"kind": "x"}, "damaged, or made for another model: a policy of kind 'x'"),
    "no vectors": ({"vectors": "gone"}, "damaged policy file: it has no 'vectors'"),
    "ragged": ({"vectors": [[1.0], [2.0, 3.0]]}, "damaged, or made for another model: "),
    "of another size": (
        {"vectors": [[1.0]] * 8},
        "damaged, or made for another model: values: read shape (8, 1)",
    ),
    "not finite": (
        {"vectors": [[float("inf")] * 7] * 8},
        "damaged, or made for another model: a coefficient beyond 1e+130, or that is not a number",
    ),
    "an action too many": (
        {"vector_actions": ["a"] * 9},
        "damaged, or made for another model: vectors of shape",
    ),
    "an unknown action": ({"vector_actions": ["z"] * 8}, "it names an action 'z'"),
    "no epsilon": ({"epsilon": "small"}, "damaged, or made for another model: "),
    "a node that is none": (
        {"kind": "controller", "first": 0, "node_actions": ["a"], "successors": [["x"] * 6]},
        "read 'x', expected the number of a node",
    ),
    "a node too far": (
        {"kind": "controller", "first": 0, "node_actions": ["a"], "successors": [[1] * 6]},
        "damaged, or made for another model: successors: expected numbers from -1 to 0",
    ),
    "a tree without layers": (
        {"kind": "tree", "root": 0, "layers": []},
        "damaged, or made for another model: root: read 0, expected a tree of the last layer",
    ),
}


@pytest.mark.parametrize(("changes", "message"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_native_file_is_refused(changes, message):
    Path("d.json").write_text(json.dumps(damaged(**changes)))
    with pytest.raises(InputError) as caught:
        load_policy("d.json", PARR)
    assert str(caught.value).startswith("d.json: ")
    assert message in str(caught.value)


def test_a_file_that_is_no_json_is_refused_with_its_place():
    Path("d.json").write_text('{\n"format": ]')
    with pytest.raises(InputError) as caught:
        load_policy("d.json", PARR)
    assert str(caught.value).startswith("d.json:2:11: not JSON")


def test_writing_is_whole_or_nothing():
    Path("p.json").write_text("before")
    strange = replace(PARR, provenance={"strange": object()})
    with pytest.raises(InputError, match="cannot be written as JSON"):
        save_policy(extract_controller(solved("parr")), strange, "p.json")
    assert Path("p.json").read_text() == "before"
    assert [path.name for path in Path().iterdir()] == ["p.json"]


# ---- checkpoints


def test_a_checkpoint_keeps_what_was_found():
    solution = solved("loadunload", "rpsr")
    save_checkpoint(solution, "c.ckpt")
    again = load_checkpoint("c.ckpt", solution.model)
    assert np.allclose(again.vectors, solution.vectors, atol=1e-12)
    assert np.array_equal(again.actions, solution.actions)
    assert np.array_equal(again.successors, solution.successors)
    assert (again.lower, again.upper) == (solution.lower, solution.upper)
    belief = load_checkpoint("c.ckpt", build("loadunload").belief_model())
    assert belief.vectors.shape == (26, 10)


def test_a_checkpoint_of_another_model_is_refused():
    save_checkpoint(solved("loadunload"), "c.ckpt")
    for other in (
        PARR,
        build("loadunload").with_discount("0.9").belief_model(),
        solved("loadunload", "psr").model,
    ):
        with pytest.raises(InputError, match=r"c\.ckpt: was written for another model"):
            load_checkpoint("c.ckpt", other)
    Path("d.ckpt").write_bytes(Path("c.ckpt").read_bytes()[:-30])
    with pytest.raises(InputError, match=r"d\.ckpt: "):
        load_checkpoint("d.ckpt", solved("loadunload").model)
    save_checkpoint(solve(PARR, Reachable(horizon=2)), "h.ckpt")
    with pytest.raises(InputError, match="finite horizon"):
        load_checkpoint("h.ckpt", PARR)


def test_a_planner_goes_on_only_if_it_can():
    save_checkpoint(solved("parr"), "c.ckpt")
    checkpoint = load_checkpoint("c.ckpt", PARR)
    with pytest.raises(ModelError, match="planner reachable cannot go on from a checkpoint"):
        resume(PARR, Reachable(), checkpoint, print)

    class Going(Reachable):
        def resume(self, model, progress, checkpoint):
            assert isinstance(checkpoint, Checkpoint)
            return self.solve(model, progress)

    found = resume(PARR, Going(), checkpoint, lambda row: None)
    assert found.value == solved("parr").value


# ---- one reader for all forms


@pytest.mark.parametrize("suffix", ["", ".txt"])
def test_any_form_is_read_by_suffix_or_by_content(suffix):
    solution = solved("parr")
    tree = solve(build("parr"), ValueIteration(horizon=2))
    controller = extract_controller(solution)
    write_alpha(solution.model, solution.vectors, solution.actions, "p.alpha")
    write_pg(controller, "p.pg")
    save_solution(solution, "p.json")
    save_solution(tree, "t.json")
    for name, kind in (
        ("p.alpha", StoredVectors),
        ("p.pg", FiniteStateController),
        ("p.json", StoredVectors),
        ("t.json", PolicyTree),
    ):
        other = name.replace(".", "-") + suffix
        Path(other).write_bytes(Path(name).read_bytes())
        for path in (name, other):
            stored = load_policy(path, PARR)
            assert type(stored) is kind
            stored.policy().act()
    stored = load_policy("p.alpha", PARR)
    assert (stored.vectors == solution.vectors).all()
    assert (stored.actions == solution.actions).all()
    assert load_policy("p.pg", PARR).value(PARR) == pytest.approx(solution.value, abs=1e-9)


def test_a_native_file_may_ask_to_be_followed_by_looking_ahead():
    tiger = build("tiger").belief_model()
    for look_ahead, action in ((False, 1), (True, 0)):
        stored = StoredVectors(tiger, np.zeros((1, 2)), np.array([1]), look_ahead=look_ahead)
        save_policy(stored, tiger, "p.json")
        again = load_policy("p.json", tiger)
        assert again.look_ahead is look_ahead
        assert again.policy().act() == action
    document = json.loads(Path("p.json").read_text())
    document["look_ahead"] = "yes"
    Path("p.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="look_ahead: read 'yes', expected true or false"):
        load_policy("p.json", tiger)


def test_actions_of_vectors_are_checked():
    tiger = build("tiger").belief_model()
    for actions, message in ((np.array([0, 1]), "one for each of 1"), (np.array([3]), "0 to 2")):
        with pytest.raises(InputError, match=message):
            AlphaPolicy(tiger, np.zeros((1, 2)), actions=actions)


# ---- numbers that are beyond reading


@pytest.mark.parametrize("text", ['{"first": ' + "1" * 5000 + "}", "[" * 100_000])
def test_numbers_of_thousands_of_digits_and_brackets(tmp_path, text):
    path = tmp_path / "policy.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a policy file of rpsr") as caught:
        load_policy(path, build("tiger").belief_model())
    assert caught.value.place == str(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("line", ["0 " + "1" * 5000 + " 0 0\n", "0 0 " + "9" * 5000 + " 0\n"])
def test_graphs_with_numbers_of_thousands_of_digits(tmp_path, line):
    path = tmp_path / "policy.pg"
    path.write_text(line)
    with pytest.raises(InputError, match="expected the number of an existing"):
        read_pg(path, build("tiger").belief_model())


# ---- mutations, by a seed


def changed(chance, value):
    """A JSON value with one thing in it changed, anywhere, to one that means trouble."""
    if isinstance(value, list | dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        copy = dict(value) if isinstance(value, dict) else list(value)
        if chance.random() < 0.1:
            del copy[key]
        else:
            copy[key] = changed(chance, value[key])
        return copy
    troubles = [None, True, -1, 0, 10**6, 2**63, 10**400, 1e308, float("nan"), "x", [], {}, [[]]]
    return chance.choice(troubles)


@pytest.mark.parametrize("form", ["vectors", "tree", "controller"])
def test_a_mutated_policy_is_refused_or_can_be_followed(tmp_path, form):
    model, path, chance, read = build("tiger").belief_model(), tmp_path / "p.json", Random(14), 0
    solution = solve(model, ValueIteration(horizon=3 if form == "tree" else None))
    if form == "controller":
        save_policy(extract_controller(solution), model, path)
    else:
        save_solution(solution, path)
    document = json.loads(path.read_text())
    for _ in range(400):
        path.write_text(json.dumps(changed(chance, document)))
        try:
            stored = load_policy(path, model)
        except InputError as error:
            said = str(error)
        else:
            said, read = "", read + 1
            if isinstance(stored, FiniteStateController):
                stored.check(model)
            if isinstance(stored, StoredVectors):
                assert np.isfinite(stored.vectors).all()
                assert stored.policy() is not None
        assert "\n" not in said
    assert 0 < read < 400
