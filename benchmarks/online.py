"""Planning online beside POMCP of pomdp-py: returns at equal time per step, on the same rules.

    python benchmarks/online.py --peer DIR --out rows.jsonl   # continues where it stopped
    python benchmarks/online.py --show rows.jsonl             # the table of finished rows

RockSample(11,11) has 247,809 states: both planners sample it, `ParticlePolicy` in batches
(`RockSampleSimulator`), POMCP step by step. On tag, `OnlinePolicy` searches with the exact belief,
POMCP samples the same tables. Times per step are processor times of planning, so that other work on
the machine does not count. Both have the same particle filter of 2,000 particles, whose time is
not counted. Episode i of both begins in the same hidden state.

What each planner knows differs: POMCP has uniform roll-outs over legal actions, as in RockSample of
pomdp-py, a depth of 30, and the exploration constants of its examples; `ParticlePolicy` has the
bounds of `RockSampleSimulator`. The row "uninformed" has no bounds but the range of rewards; on
tag it samples the POMDP instead of filtering its belief.

DIR: the site-packages of an environment with pomdp-py; without it, only our rows are computed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from functools import cache
from typing import Any

import numpy as np
from rows import add_options, computed

import rpsr
from rpsr.domains.rock_simulator import RockSampleSimulator
from rpsr.models.labels import Index
from rpsr.planning import OnlinePolicy, ParticlePolicy, PomdpSimulator, limits
from rpsr.planning.online.simulator import Batches
from rpsr.shards import merged

PARTICLES = 2000
STEPS = 90  # .95^90 is .01
KEY = ("problem", "seconds", "planner", "seed")
TIMINGS = ("return", "steps", "planning")  # what a planner finds in a time depends on the machine
PLANNERS = ("ours", "uninformed", "peer")


class Uninformed:
    """RockSample without bounds: only the range of rewards is known."""

    batched, reward_range = True, (-100, 10)

    def __init__(self, rules: RockSampleSimulator) -> None:
        self.actions, self.observations, self.discount = (
            rules.actions,
            rules.observations,
            rules.discount,
        )
        self.start, self.step = rules.start, rules.step


class ProcessorTime:
    """Stands for the module `time` where planners look at the clock."""

    perf_counter = staticmethod(time.process_time)


@cache
def simulator_of(problem: str) -> Any:
    """The rules of a problem, in batches."""
    if problem == "rocks":
        return RockSampleSimulator(n=11, k=11)
    return PomdpSimulator(rpsr.load_pomdp("tag"))


def ours(problem: str, simulator: Any, seconds: float) -> Any:
    """Our policy."""
    if problem == "rocks":
        return ParticlePolicy(simulator, seconds=seconds, particles=PARTICLES)
    return OnlinePolicy(simulator.pomdp, seconds=seconds)


def uninformed(problem: str, simulator: Any, seconds: float) -> Any:
    """Our policy without bounds on RockSample, and with particles on tag."""
    if problem == "rocks":
        return ParticlePolicy(Uninformed(simulator), seconds=seconds, particles=PARTICLES)
    without = PomdpSimulator(simulator.pomdp)
    return ParticlePolicy(without, seconds=seconds, particles=PARTICLES)


class Pomcp:
    """POMCP of pomdp-py as a policy; its belief is that of a `ParticlePolicy`."""

    def __init__(self, problem: str, simulator: Any, seconds: float) -> None:
        import pomdp_py

        self.peer, self.problem, self.seconds = pomdp_py, problem, seconds
        self.simulator, self.trials = simulator, 0
        self.filter = ParticlePolicy(simulator, trials=1, particles=PARTICLES)
        draw = rock_step(simulator) if problem == "rocks" else table_step(simulator)
        legal = legal_rocks(simulator) if problem == "rocks" else None
        self.agent_of, self.planner = peer_parts(pomdp_py, simulator, draw, legal, problem)

    def reset(self) -> None:
        self.filter.reset()
        self.agent = self.agent_of(self.belief())

    def belief(self) -> Any:
        return self.peer.Particles([self.agent_of.state(x) for x in plain(self.filter.states)])

    def act(self) -> int:
        began = time.process_time()
        while time.process_time() - began < self.seconds:
            action = self.planner.plan(self.agent)  # adds simulations to the same tree
            self.trials += 1
        return int(action.value)

    def update(self, action: int, observation: int) -> None:
        self.filter.update(action, observation)
        a, o = self.agent_of.action(action), self.agent_of.observation(observation)
        self.agent.update_history(a, o)
        tree = self.agent.tree
        below = tree[a][o] if tree is not None and a in tree and o in tree[a] else None
        self.agent.tree = below
        if len(self.filter.states):
            self.agent.set_belief(self.belief())


def plain(states: Any) -> list[Any]:
    """States as hashable values."""
    return [tuple(x) if isinstance(x, list) else x for x in states.tolist()]


def peer_parts(peer: Any, simulator: Any, draw: Any, legal: Any, problem: str) -> tuple[Any, Any]:
    """A maker of agents, and the planner."""

    def valued(base: Any) -> Any:
        """A class of pomdp-py whose objects are known by their value."""

        class Valued(base):
            def __init__(self, value: Any) -> None:
                self.value = value

            def __hash__(self) -> int:
                return hash(self.value)

            def __eq__(self, other: object) -> bool:
                return isinstance(other, Valued) and self.value == other.value

        return Valued

    State, Action, Seen = map(valued, (peer.State, peer.Action, peer.Observation))
    actions = [Action(a) for a in range(len(simulator.actions))]
    seen = {o: Seen(o) for o in range(len(simulator.observations))}

    class Black(peer.BlackboxModel):
        def sample(self, state: Any, action: Any) -> Any:
            after, observation, reward = draw(state.value, action.value)
            return State(after), seen[observation], reward, 1  # one step

    class Choice(peer.RolloutPolicy):
        def sample(self, state: Any) -> Any:
            return random.choice(self.get_all_actions(state))

        def rollout(self, state: Any, history: Any = None) -> Any:
            return random.choice(self.get_all_actions(state))

        def get_all_actions(self, state: Any = None, history: Any = None) -> Any:
            if legal is None or state is None:
                return actions
            return [actions[a] for a in legal(state.value)]

    choice = Choice()

    class Maker:
        state, action = staticmethod(State), staticmethod(actions.__getitem__)
        observation = staticmethod(seen.__getitem__)

        def __call__(self, belief: Any) -> Any:
            return peer.Agent(belief, choice, blackbox_model=Black())

    constants = {"rocks": 5.0, "tag": 20.0}  # those of pomdp-py's examples
    planner = peer.POMCP(
        max_depth=30,
        discount_factor=simulator.discount,
        num_sims=10,
        exploration_const=constants[problem],
        rollout_policy=choice,
    )
    return Maker(), planner


def rock_step(simulator: RockSampleSimulator) -> Any:
    """One step of one rover, in plain Python; a rover that is gone stays so."""
    n, k = simulator.n, simulator.k
    accuracy, rock_at = simulator.accuracy.tolist(), simulator.rock_at.tolist()
    gone, moves = (-1, -1, 0), ((0, 1), (1, 0), (0, -1), (-1, 0))

    def step(state: Any, action: int) -> Any:
        east, north, rocks = state
        if east < 0:
            return state, 0, 0.0
        if action < 4:
            x, y = east + moves[action][0], north + moves[action][1]
            if 0 <= x < n and 0 <= y < n:
                return (x, y, rocks), 0, 0.0
            return gone, 0, 10.0 if action == 1 else -100.0
        if action < 4 + k:
            right = random.random() < accuracy[east * n + north][action - 4]
            return state, int(right != bool(rocks >> action - 4 & 1)), 0.0
        rock = rock_at[east * n + north]
        if rock < 0:
            return gone, 0, -100.0
        good = rocks >> rock & 1
        return (east, north, rocks & ~(1 << rock)), 0, 10.0 if good else -10.0

    return step


def legal_rocks(simulator: RockSampleSimulator) -> Any:
    """The actions that do not cost 100."""
    n, checks = simulator.n, list(range(4, 4 + simulator.k))
    rock_at = simulator.rock_at.tolist()

    def legal(state: Any) -> list[int]:
        east, north, _ = state
        inside = [north < n - 1, True, north > 0, east > 0]
        moves = [a for a in range(4) if inside[a]] + checks
        return [*moves, 4 + simulator.k] if east >= 0 and rock_at[east * n + north] >= 0 else moves

    return legal


def table_step(simulator: PomdpSimulator) -> Any:
    """One step of a POMDP, from lists of its outcomes."""
    table, rows = simulator.pomdp.outcomes, {}
    columns = (table.action, table.state, table.next_state, table.observation, table.reward)
    for a, s, *after, chance in zip(
        *(c.tolist() for c in (*columns, table.probability)), strict=True
    ):
        rows.setdefault((a, s), ([], []))
        rows[a, s][0].append(tuple(after))
        rows[a, s][1].append(chance)

    def step(state: int, action: int) -> Any:
        outcomes, chances = rows[action, state]
        return outcomes[0] if len(outcomes) == 1 else random.choices(outcomes, chances)[0]

    return step


def episode(simulator: Any, policy: Any, steps: int, seed: int) -> tuple[float, int, float]:
    """The return of one episode, its steps, and the processor seconds of planning."""
    batches, rng = Batches(simulator), np.random.default_rng(seed)
    state, total, factor, spent = batches.start(rng, 1), 0.0, 1.0, 0.0
    policy.reset()
    for step in range(steps):
        began = time.process_time()
        action = policy.act()
        spent += time.process_time() - began
        state, seen, reward, done = batches.step(state, action, rng)
        total += factor * float(reward[0])
        factor *= simulator.discount
        # Tag does not end, but nothing is worth doing once the opponent is caught.
        if done[0] or (reward[0] == 10 and not hasattr(simulator, "rocks")):
            return total, step + 1, spent
        policy.update(action, Index(seen[0]))
    return total, steps, spent


@cache
def policy_of(problem: str, seconds: float, planner: str) -> Any:
    """The policy of a planner, with its first bounds prepared and its kernels compiled."""
    simulator = simulator_of(problem)
    simulator.upper(simulator.start(np.random.default_rng(0), 1))  # tables are made once
    make = {"ours": ours, "uninformed": uninformed, "peer": Pomcp}[planner]
    policy = make(problem, simulator, seconds)
    policy.reset()
    policy.act()
    limits.time = ProcessorTime
    return policy


def trial(item: Any, peer: str | None) -> dict[str, Any]:
    """The row of one episode."""
    problem, seconds, planner, seed = item
    if planner == "peer" and peer not in sys.path:
        sys.path.append(peer)
    random.seed(seed)
    policy = policy_of(problem, seconds, planner)
    total, steps, spent = episode(simulator_of(problem), policy, STEPS, seed)
    row = {"return": total, "steps": steps, "planning": spent}
    return dict(zip(KEY, item, strict=True)) | row


def show(rows: Any) -> None:
    """One row per planner, and its difference to the peer on the episodes that both have."""
    groups: dict[Any, dict[int, Any]] = {}
    for row in rows:
        if row.get("error"):
            continue
        name = (row["problem"], row["seconds"], row["planner"])
        groups.setdefault(name, {})[row["seed"]] = row
    print("| problem | time per step | planner | return | minus the peer | episodes | s per step |")
    print("|---|---|---|---|---|---|---|")
    for (problem, seconds, planner), episodes in sorted(groups.items()):
        peer = groups.get((problem, seconds, "peer"), {})
        both = [episodes[i]["return"] - peer[i]["return"] for i in episodes if i in peer]
        spent = sum(row["planning"] for row in episodes.values())
        per_step = spent / sum(row["steps"] for row in episodes.values())
        ahead = "" if planner == "peer" else mean([*both])
        print(
            f"| {problem} | {seconds:g} s | {planner} | "
            f"{mean([row['return'] for row in episodes.values()])} | {ahead} | {len(episodes)} "
            f"| {per_step:.3f} |"
        )


def mean(values: list[float]) -> str:
    """A mean with its standard error."""
    if len(values) < 2:
        return " ".join(f"{value:.2f}" for value in values)
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1) / len(values) ** 0.5:.2f}"


def main() -> None:
    """Compute the rows and print their table."""
    parser = argparse.ArgumentParser(description="planning online beside POMCP of pomdp-py")
    parser.add_argument("--problems", nargs="+", choices=("rocks", "tag"), default=["rocks", "tag"])
    parser.add_argument("--seconds", nargs="+", type=float, default=[0.1, 1.0])
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--peer")
    parser.add_argument("--only", nargs="+", choices=PLANNERS)
    add_options(parser, "online.jsonl")
    parser.add_argument("--show", nargs="+", help="files of rows: show their table only")
    given = parser.parse_args()
    if given.show:
        show(merged(given.show).rows)
        return
    planners = given.only or (PLANNERS if given.peer else PLANNERS[:2])
    items = [  # in this order, an interrupted run has equally many episodes of all planners
        (problem, seconds, planner, seed)
        for seconds in given.seconds
        for seed in range(given.episodes)
        for problem in given.problems
        for planner in planners
    ]
    for done, row in computed(trial, items, KEY, TIMINGS, given, peer=given.peer):
        print(done, row.get("error") or f"{row['return']:.2f}", flush=True)
    show(merged([given.out]).rows)


if __name__ == "__main__":
    main()
