"""Small systems for the tests of environments."""

from fractions import Fraction

import gymnasium
from gymnasium.spaces import Discrete

from rpsr import POMDP
from rpsr.domains import tabulate
from rpsr.envs import NamedDiscrete


def stairs(start: dict[int, Fraction | int] | None = None) -> POMDP:
    """Three steps down to an end: 'down' takes one and pays its height, 'stay' pays nothing.

    Nothing is random but, where it is given, the start; so two programs that step it agree exactly.
    """
    return tabulate(
        name="stairs",
        states=[0, 1, 2, 3],
        actions=["down", "stay"],
        observations=["low", "high", "over"],
        start=start or {3: 1},
        transition=lambda s, a: {max(s - 1, 0) if a == "down" else s: 1},
        emission=lambda _a, t: {"over" if t == 0 else "low" if t == 1 else "high": 1},
        reward=lambda s, a, _t, _o: s if a == "down" else 0,
        discount=Fraction(1, 2),
    )


class Machine(gymnasium.Env):
    """It wears, nobody sees how much, and may break down when it runs: that ends the task.

    named: whether its spaces have names.
    """

    def __init__(self, named=True):
        actions, readings = ["run", "repair"], ["good", "bad"]
        self.action_space = NamedDiscrete(actions) if named else Discrete(2)
        self.observation_space = NamedDiscrete(readings) if named else Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._worn, self._day = False, 0
        return 0, {}

    def step(self, action):
        self._day += 1
        broken = bool(action == 0 and self._worn and self.np_random.random() < 0.5)
        paid = 0.0 if broken else -3.0 if action == 1 else 2.0
        self._worn = bool(action == 0 and (self._worn or self.np_random.random() < 0.4))
        reading = int(self._worn == (self.np_random.random() < 0.8))
        return reading, paid, broken, self._day >= 20, {}
