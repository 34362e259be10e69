"""Native policy files, and one reader for all forms: there and back, damaged, mutated."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.models.builders import rotated
from tests.planning.plans import PARR, solved

from rpsr import InputError
from rpsr.domains import build
from rpsr.io.file_kinds import kind_of
from rpsr.io.files import read_bytes
from rpsr.models import Unknown
from rpsr.models.renaming import renamed
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.files import native
from rpsr.planning.files.classic import write_alpha, write_pg
from rpsr.planning.files.native import StoredVectors, unconnected
from rpsr.planning.files.policies import load_policy, save_policy
from rpsr.planning.planners import solve
from rpsr.planning.reachable.planner import Reachable
from rpsr.planning.value.controllers import FiniteStateController, extract_controller
from rpsr.planning.value.policies import AlphaPolicy
from rpsr.planning.value.trees import PolicyTree
from rpsr.planning.value.value_function import ValueFunction
from rpsr.sources import load_pomdp


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# ---- native


def test_a_value_function_moves_between_forms_of_a_model():
    solution = solved("loadunload", "rpsr")
    save_policy(solution, "p.json")
    belief = build("loadunload").belief_model()
    for model in (belief, solution.model, rotated(build("loadunload"))):
        stored = load_policy("p.json", model)
        assert isinstance(stored, StoredVectors)
        assert stored.epsilon == solution.epsilon
        value = float((stored.value_function.vectors @ model.start).max())
        assert value == pytest.approx(solution.value, abs=1e-11)
        worth = stored.value_function.vectors @ model.start
        best = solution.actions[worth >= worth.max() - 1e-11]  # both ways are as good
        assert stored.policy().act() in best
    assert stored.planned_on == stored.made_for["kind"] == "rpsr"
    assert stored.made_for["provenance"]["pomdp"] == build("loadunload").digest


@pytest.mark.parametrize("name", ["p.npz", "p.npz.gz", "p", "p.json"])
def test_large_value_functions_are_stored_as_arrays(name, monkeypatch):
    monkeypatch.setattr(native, "LARGE", 10)
    solution = solved("parr")
    save_policy(solution, name)
    stored = load_policy(name, PARR)
    assert (stored.value_function.vectors == solution.vectors).all()
    assert (stored.value_function.actions == solution.actions).all()
    assert (stored.made_for["kind"], stored.epsilon) == ("belief", solution.epsilon)
    archived = read_bytes(name).startswith(b"PK")
    assert archived == (name != "p.json")
    if not name.endswith(".gz"):
        assert kind_of(name) == "policy"
        with pytest.raises(InputError, match="is a policy, expected a model"):
            load_pomdp(name)


def test_an_archive_takes_less_than_half_of_the_text():
    vectors = np.random.default_rng(0).random((300, PARR.dimension))
    value_function = unconnected(vectors, np.zeros(300, dtype=np.int64), PARR)
    for name in ("p.npz", "p.json"):
        save_policy(StoredVectors(PARR, value_function), name)
    assert 2 * Path("p.npz").stat().st_size < Path("p.json").stat().st_size


def test_a_damaged_archive_is_refused_or_means_the_same():
    solution, chance, said = solved("parr"), Random(3), list[str]()
    save_policy(solution, "p.npz")
    whole = Path("p.npz").read_bytes()
    for _ in range(100):
        at = chance.randrange(2, len(whole))
        cut = chance.random() < 0.2
        Path("q.npz").write_bytes(
            whole[:at] if cut else whole[:at] + bytes([chance.randrange(256)]) + whole[at + 1 :]
        )
        try:
            stored = load_policy("q.npz", PARR)
        except InputError as error:
            said.append(str(error))
        else:  # what changed is not read, such as a time
            assert (stored.value_function.vectors == solution.vectors).all()
    assert len(said) > 50
    assert all("q.npz" in text and "\n" not in text for text in said)


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_controllers_and_trees_keep_their_numbers(suffix):
    solution = solved("parr")
    controller = extract_controller(solution)
    save_policy(controller, f"c.{suffix}", solution.model)
    again = load_policy(f"c.{suffix}", PARR)
    assert isinstance(again, FiniteStateController)
    assert again.value(PARR) == controller.value(PARR)
    plan = solve(PARR, Reachable(horizon=5))
    save_policy(plan, f"t.{suffix}")
    tree = load_policy(f"t.{suffix}", PARR)
    assert isinstance(tree, PolicyTree)
    assert tree.value(PARR) == plan.value


@pytest.mark.parametrize("horizon", [None, 4])
def test_names_of_controllers_and_trees_may_be_in_another_order(horizon):
    pomdp = build("loadunload")
    plan = solve(pomdp, Reachable(horizon=horizon))
    policy = plan if horizon else extract_controller(plan)
    save_policy(policy, "c.json", plan.model)
    model = renamed(plan.model, plan.model.actions[::-1], plan.model.observations[::-1])
    again = load_policy("c.json", model)
    assert again.value(model) == pytest.approx(plan.value, rel=1e-9)
    document = json.loads(Path("c.json").read_text())
    for name in ("nothing", document["observations"][0]):
        changed = document | {"observations": [name, *document["observations"][1:-1], name]}
        Path("c.json").write_text(json.dumps(changed))
        with pytest.raises(InputError, match="was made for other observations"):
            load_policy("c.json", model)


def test_a_model_of_unknown_domain_keeps_its_own_coordinates():
    model = replace(rotated(build("parr")), domain=Unknown())
    n, O = model.dimension, len(model.observations)
    value_function = ValueFunction(np.eye(n), np.zeros(n, dtype=int), np.full((n, O), -1))
    stored = StoredVectors(model, value_function)
    save_policy(stored, "u.json", model)
    again = load_policy("u.json", model)
    assert np.array_equal(again.value_function.vectors, stored.value_function.vectors)
    with pytest.raises(InputError, match="read vectors for a psr model of dimension 7, expected"):
        load_policy("u.json", PARR)


def test_another_model_s_names_are_refused_clearly():
    save_policy(solved("parr"), "p.json")
    with pytest.raises(InputError) as caught:
        load_policy("p.json", build("tiger").belief_model())
    expected = (
        "p.json: the policy was made for other actions: read a, b, c, expected listen, open-left, "
        "open-right"
    )
    assert str(caught.value) == expected
    with pytest.raises(InputError, match="was made for other observations"):
        load_policy("p.json", replace(PARR, observations=tuple("uvwxyz")))


def damaged(**changes):
    save_policy(solved("parr"), "d.json")
    document = json.loads(Path("d.json").read_text()) | changes
    return {key: value for key, value in document.items() if value != "gone"}


DAMAGE = {
    "another format": ({"format": "x"}, "not a policy file of rpsr"),
    "another version": ({"format_version": 9}, "format_version: read 9, expected 1 or 2"),
    "another kind": (
        {"kind": "x"},
        "damaged, or was made for another model: kind: read 'x', expected controller, tree or "
        "vectors",
    ),
    "no vectors": ({"vectors": "gone"}, "damaged policy file: 'vectors' is missing"),
    "ragged": ({"vectors": [[1.0], [2.0, 3.0]]}, "damaged, or was made for another model: "),
    "of another size": (
        {"vectors": [[1.0]] * 8},
        "damaged, or was made for another model: values: read shape (8, 1)",
    ),
    "not finite": (
        {"vectors": [[float("inf")] * 7] * 8},
        "damaged, or was made for another model: vectors: expected numbers up to ±1e+130",
    ),
    "an action too many": (
        {"vector_actions": ["a"] * 9},
        "vector_actions: read 9 actions, expected one for each of 8 vectors",
    ),
    "an unknown action": ({"vector_actions": ["z"] * 8}, "'z' is not an action of the model"),
    "no epsilon": ({"epsilon": "small"}, "damaged, or was made for another model: "),
    "a node that is none": (
        {"kind": "controller", "first": 0, "node_actions": ["a"], "successors": [["x"] * 6]},
        "read 'x', expected an index, a whole number from 0",
    ),
    "a node too far": (
        {"kind": "controller", "first": 0, "node_actions": ["a"], "successors": [[1] * 6]},
        "damaged, or was made for another model: successors: read numbers from 1 to 1, expected "
        "numbers from -1 to 0",
    ),
    "a tree without layers": (
        {"kind": "tree", "root": 0, "layers": []},
        "damaged, or was made for another model: root: read 0, "
        "expected an index below 0, the number of trees in the last layer",
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
    assert str(caught.value).startswith("d.json:2:11: the policy file is not JSON")


def test_writing_is_whole_or_nothing():
    Path("p.json").write_text("before")
    strange = replace(PARR, provenance={"strange": object()})
    with pytest.raises(InputError, match="cannot be written as JSON"):
        save_policy(extract_controller(solved("parr")), "p.json", strange)
    assert Path("p.json").read_text() == "before"
    assert [path.name for path in Path().iterdir()] == ["p.json"]


# ---- one reader for all forms


@pytest.mark.parametrize("suffix", ["", ".txt"])
def test_any_form_is_read_by_suffix_or_by_content(suffix):
    solution = solved("parr")
    tree = solve(build("parr"), ValueIteration(horizon=2))
    controller = extract_controller(solution)
    write_alpha(solution.model, solution.vectors, solution.actions, "p.alpha")
    write_pg(controller, "p.pg")
    save_policy(solution, "p.json")
    save_policy(tree, "t.json")
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
    assert (stored.value_function.vectors == solution.vectors).all()
    assert (stored.value_function.actions == solution.actions).all()
    assert load_policy("p.pg", PARR).value(PARR) == pytest.approx(solution.value, abs=1e-9)


def test_a_native_file_may_ask_to_be_followed_by_looking_ahead():
    tiger = build("tiger").belief_model()
    for look_ahead, action in ((False, 1), (True, 0)):
        value_function = ValueFunction(np.zeros((1, 2)), np.array([1]), np.full((1, 2), -1))
        stored = StoredVectors(tiger, value_function, look_ahead=look_ahead)
        save_policy(stored, "p.json", tiger)
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
        save_policy(extract_controller(solution), path, model)
    else:
        save_policy(solution, path)
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
                assert np.isfinite(stored.value_function.vectors).all()
                assert stored.policy() is not None
        assert "\n" not in said
    assert 0 < read < 400
