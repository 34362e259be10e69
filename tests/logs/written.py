"""Logs as files that tests write, and when two logs are the same."""

import json

import numpy as np

from rpsr.logs import Trajectories

GOOD = {
    "actions": ["right", "left"],
    "observations": ["dark", "light"],
    "rewards": [0, 1.5],
    "propensities": [0.5, 0.25],
    "terminated": True,
}


def write(path, *episodes):
    path.write_text("".join(json.dumps(e) + "\n" for e in episodes))
    return path


def same(a: Trajectories, b: Trajectories) -> bool:
    def equal(x, y):
        return (x is None and y is None) or (
            x is not None and y is not None and np.array_equal(x, y)
        )

    names = (a.action_names, a.observation_names) == (b.action_names, b.observation_names)
    columns = ("actions", "observations", "rewards", "propensities", "offsets", "terminated")
    columns += ("truncated", "states")
    return names and all(equal(getattr(a, c), getattr(b, c)) for c in columns)
