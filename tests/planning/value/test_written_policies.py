"""What a planner prints is earned by what it writes, in every form.

Controllers are valued here by a dense linear system over the POMDP's own tables, and value
functions along the beliefs that they meet, neither with code of the planners; a bound may be missed
by rounding only.
"""

import numpy as np
import pytest
from tests.models.builders import Sizes, dense_process, random_exact, rotated

from rpsr import load_pomdp
from rpsr.domains import build
from rpsr.planning import (
    AlphaPolicy,
    FiniteStateController,
    PolicyTree,
    StoredVectors,
    extract_controller,
    load_policy,
    planner_by_name,
    planner_options,
    read_pg,
    solve,
    write_pg,
)
from rpsr.planning.comparing.joint_runs import policy_value
from rpsr.planning.files.policies import save_policy
from rpsr.predictive import rpsr

INFINITE = (
    "vi", "enumeration", "reachable", "hsvi", "sarsop", "pbvi", "perseus", "qmdp", "fib",
    "policy-iteration", "q-learning",
)  # fmt: skip
QUICK = {
    "vi": {"epsilon": 1e-4},
    "enumeration": {"epsilon": 1e-2},
    "reachable": {"max_states": 60, "epsilon": 1e-3},
    "pbvi": {"max_points": 40},
    "perseus": {"max_points": 60},
    "q-learning": {"max_iterations": 79, "max_states": 40},
    "policy-iteration": {"epsilon": 1e-4},
}
EARLY = {"max_iterations": 2, "max_states": 3}
MARGIN = 1e-10  # of the largest value that rewards allow: rounding of the valuation here

SURE = """
discount: 0.95
values: reward
states: L R S
actions: left right sure
observations: nothing
start: 0.5 0.5 0.0
T: left identity
T: right identity
T: sure : * : S 1.0
O: * : * : nothing 1.0
R: left : L : * : * 3
R: left : R : * : * -3.5
R: right : L : * : * -3.5
R: right : R : * : * 3
R: sure : * : * : * 1
"""


def read(text, folder):
    (folder / "m.pomdp").write_text(text)
    return load_pomdp(folder / "m.pomdp")


def worth(pomdp, controller):
    """The value at the start, from the POMDP's tables alone."""
    n_nodes, n_states = len(controller), len(pomdp.states)
    process = [[matrix.toarray() for matrix in row] for row in pomdp.D]
    system = np.eye(n_nodes * n_states)
    earned = np.empty(n_nodes * n_states)
    for node, action in enumerate(controller.actions.tolist()):
        mine = slice(node * n_states, (node + 1) * n_states)
        earned[mine] = pomdp.R[:, action]
        for o in range(len(pomdp.observations)):
            after = controller.after(node, o) * n_states
            system[mine, after : after + n_states] -= pomdp.discount * process[action][o]
    values = np.linalg.solve(system, earned).reshape(n_nodes, n_states)
    return float(values[controller.first] @ pomdp.belief_model().start)


def margin(pomdp):
    return MARGIN * float(np.abs(pomdp.R).max()) / (1 - pomdp.discount)


def plans(pomdp, name):
    """Solutions on three forms of a POMDP, planned to the end and stopped early."""
    quick = QUICK.get(name, {})
    early = {key: value for key, value in EARLY.items() if key in planner_options(name)}
    forms = (pomdp.belief_model(), rpsr(pomdp), rotated(pomdp))
    for model in forms:
        for options in (quick, *(quick | {key: value} for key, value in early.items())):
            yield solve(model, planner_by_name(name, **options))


# ---- the policy that earns the bound


@pytest.mark.parametrize("name", ["qmdp", "fib"])
def test_a_bound_planner_returns_the_policy_that_earns_its_value(name, tmp_path):
    pomdp = read(SURE, tmp_path)
    plan = solve(pomdp, planner_by_name(name))
    # Acting by the bound gambles on L or R at every step, a loss of 0.25 on average; the sure
    # action, which is a blind policy, earns 1 at every step.
    assert plan.value == pytest.approx(20, abs=1e-9)
    assert worth(pomdp, extract_controller(plan)) == pytest.approx(20, abs=1e-9)


@pytest.mark.parametrize("name", INFINITE)
@pytest.mark.parametrize("seed", range(6))
def test_controllers_earn_the_lower_bound(name, seed, tmp_path):
    pomdp = random_exact(seed, Sizes(2, 3, 2), by_edge=seed % 2 == 1)
    for plan in plans(pomdp, name):
        controller = extract_controller(plan)
        write_pg(controller, tmp_path / "c.pg")
        again = read_pg(tmp_path / "c.pg", plan.model)
        assert worth(pomdp, controller) >= plan.lower - margin(pomdp)
        assert worth(pomdp, again) >= plan.lower - margin(pomdp)
        assert (plan.successors >= 0).all()
        assert plan.lower <= plan.value


STOPPED = {
    "heavenhell": lambda: build("heavenhell").with_discount("0.99"),
    "random": lambda: random_exact(0, Sizes(3, 60, 6)).with_discount("0.99"),
}


@pytest.mark.parametrize("name", ["hsvi", "sarsop"])
@pytest.mark.parametrize("problem", STOPPED)
def test_a_search_stopped_at_any_trial_has_the_successors_of_its_vectors(name, problem):
    pomdp = STOPPED[problem]()
    model = pomdp.belief_model()
    for trials in (1, 3, 30):
        plan = solve(model, planner_by_name(name, epsilon=1e-6, max_iterations=trials))
        # Too many equations for a dense system; policies' own valuation is tested above.
        assert extract_controller(plan).value(model) >= plan.lower - margin(pomdp)


# ---- value functions, followed as they are written


def earned(pomdp, vectors, actions, depth):
    """Bounds on the value of the best vector's policy at the start, from `steps` steps."""
    process = dense_process(pomdp)
    rewards, discount = pomdp.R, pomdp.discount
    least, most = rewards.min() / (1 - discount), rewards.max() / (1 - discount)

    def expected(weight, left):  # weight (S,): a belief times the probability of being there
        mass = weight.sum()
        if mass == 0:
            return np.zeros(2)
        if left == 0 or mass * discount ** (depth - left) < 1e-6:
            return mass * np.array([least, most])
        action = actions[(vectors @ weight).argmax()]
        later = sum(
            expected(weight @ process[action, o], left - 1) for o in range(process.shape[1])
        )
        return weight @ rewards[:, action] + discount * later

    return expected(pomdp.belief_model().start, depth)


@pytest.mark.parametrize("name", INFINITE)
@pytest.mark.parametrize("seed", range(3))
def test_vectors_in_files_earn_the_lower_bound(name, seed, tmp_path):
    pomdp = random_exact(seed, Sizes(2, 3, 2), by_edge=seed % 2 == 1).with_discount("0.4")
    belief = pomdp.belief_model()
    for plan in plans(pomdp, name):
        for file in (tmp_path / "p.alpha", tmp_path / "p.json"):
            save_policy(plan, file)
            stored = load_policy(file, belief)
            assert isinstance(stored, StoredVectors)
            low, high = earned(
                pomdp, stored.value_function.vectors, stored.value_function.actions, 14
            )
            assert high >= plan.lower - margin(pomdp)
            assert high - low <= 1e-3 * np.abs(pomdp.R).max()
            own = policy_value(stored.policy(), belief, limit=500)
            assert own[0] <= high + 1e-9
            assert own[1] >= low - 1e-9


def test_a_coarse_value_function_is_not_followed_by_ties(tmp_path):
    # Taking the lowest action within 4 epsilon of the best would cost much.
    plan = solve(build("tiger"), planner_by_name("vi", epsilon=5.0))
    save_policy(plan, tmp_path / "p.json")
    model = plan.model
    policy = load_policy(tmp_path / "p.json", model).policy()
    assert policy_value(policy, model, limit=500)[1] >= plan.lower
    assert policy_value(policy.looking_ahead(), model, limit=500)[1] >= plan.lower
    assert policy_value(AlphaPolicy.of(plan), model, limit=500)[1] < plan.lower


# ---- trees


@pytest.mark.parametrize("seed", range(10))
def test_a_tree_earns_the_value_at_its_root(seed):
    pomdp = random_exact(seed, Sizes(3, 3, 2)).with_discount("0.9")
    for name in ("vi", "enumeration", "reachable"):
        plan = solve(pomdp, planner_by_name(name, horizon=3))
        vectors = plan.stages[-1].vectors
        tree = PolicyTree.of(plan)
        assert vectors[tree.root] @ plan.model.start == (vectors @ plan.model.start).max()
        assert tree.value(plan.model) >= plan.lower - margin(pomdp)


def test_a_tree_gives_nothing_away_for_a_lower_action(tmp_path):
    # At the start their rewards differ by a millionth of a millionth; elsewhere less pays more.
    text = """
discount: 0.5
states: here there
actions: less more
observations: o
start: here
T: * identity
O: * : * : o 1
R: less : here : * : * 1
R: more : here : * : * 1.000000000001
R: less : there : * : * 2
"""
    plan = solve(read(text, tmp_path), planner_by_name("vi", horizon=1))
    assert PolicyTree.of(plan).policy().act() == 1


# ---- controllers are valued part by part


@pytest.mark.parametrize("seed", range(8))
def test_a_controller_of_any_shape_is_valued_as_one_linear_system(seed):
    rng = np.random.default_rng(seed)
    pomdp = random_exact(seed, Sizes(3, 4, 3), by_edge=seed % 2 == 1)
    nodes = int(rng.integers(1, 25))
    # Mostly forward, sometimes back: chains, loops of many sizes, and nodes nothing leads to.
    after = np.minimum(np.arange(nodes)[:, None] + rng.integers(0, 4, (nodes, 3)), nodes - 1)
    after = np.where(rng.random(after.shape) < 0.1, rng.integers(nodes, size=after.shape), after)
    after[rng.random(after.shape) < 0.05] = -1
    controller = FiniteStateController(
        pomdp.actions, pomdp.observations, rng.integers(3, size=nodes), after
    )
    for model in (pomdp.belief_model(), rotated(pomdp), rpsr(pomdp)):
        assert controller.value(model) == pytest.approx(worth(pomdp, controller), abs=1e-10)
