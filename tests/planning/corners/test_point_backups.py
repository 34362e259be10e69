"""One-step plans at points, and the points that follow others, against enumeration."""

from itertools import product

import numpy as np

from rpsr.domains import build
from rpsr.kernels import interpreted_first
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.corners.moves import backups
from rpsr.planning.corners.point_backups import backup_points, expand


def test_a_backup_at_a_point_is_the_best_of_all_plans():
    """Each successor matters: the vectors cross inside the simplex."""
    process = corner_process(build("tiger").belief_model())
    values = np.array([[10.0, -5.0], [-5.0, 10.0], [3.0, 3.0]])
    points = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    everything = np.array(list(product(range(3), *[range(3)] * 2)))
    with interpreted_first(True):
        backup = backup_points(process.moves, values, points, np.full(3, -1), 3, 0.0)
        worth = backups(process.moves, everything, values) @ points.T
        mine = backups(process.moves, backup, values) @ points.T
    np.testing.assert_allclose(mine.diagonal(), worth.max(axis=0), rtol=1e-14)


def test_points_are_expanded_breadth_first_up_to_a_limit():
    """Listening to a tiger: 17/20 on either side, and again after that."""
    process = corner_process(build("tiger").belief_model())
    start, anything = process.start[None], np.array([-1])
    with interpreted_first(True):
        grown = expand(process.moves, start, anything, process.observations, 1e-9, 3)
        more = expand(process.moves, start, anything, process.observations, 1e-9, 5)
    np.testing.assert_allclose(grown, [[0.5, 0.5], [0.85, 0.15], [0.15, 0.85]])
    twice = 0.85**2 / (0.85**2 + 0.15**2)
    assert len(more) == 5
    np.testing.assert_allclose(more[3], [twice, 1 - twice])
