"""Pictures of floors from the names of states."""

import numpy as np
import pytest

from rpsr.domains import NAMES, build
from rpsr.envs.floors import floor_of

FLOORS = {
    "4x3": "@ . . +\n. # . -\n. . . .\n",
    "4x4": "@ . . .\n. . . .\n. . . .\n. . . +\n",
    "4x4:rows=1,columns=5": "@ . . . +\n",
    "cheese": "@ . . . .\n. # . # .\n. # + # .\n",
    "hallway": "^ . . . . . . . . . .\n# # . # . # . # + # #\n",
    "loadunload": "@ . . . + loaded\n",
    "rock-sample": ". . . .\n. . . .\n. . . .\n@ . . . bbbb\n",
    "tiger-grid": "^ . + . -\n. . # . .\n",
}


@pytest.mark.parametrize("name", FLOORS)
def test_the_floor_as_the_domain_draws_it(name):
    assert floor_of(build(name)).text(0) == FLOORS[name]


def test_the_goal_that_has_no_place_in_its_name_is_found():
    cheese = build("cheese")
    floor = floor_of(cheese)
    assert floor.places[cheese.states.index("goal")].cell == (2, 2)


def test_every_state_of_a_floor_has_its_own_picture():
    for name in ("hallway", "loadunload", "4x3", "cheese"):
        floor = floor_of(build(name))
        images = {floor.pixels(state).tobytes() for state in range(len(floor.places))}
        assert len(images) == len(floor.places), name


def test_a_heading_is_drawn_to_its_side():
    """The bright wedge of a robot that faces north is above its centre, and so on."""
    hallway = build("hallway")
    floor = floor_of(hallway)
    for heading, (axis, sign) in {"N": (0, -1), "S": (0, 1), "E": (1, 1), "W": (1, -1)}.items():
        image = floor.pixels(hallway.states.index(f"r0c0-{heading}"))[:32, :32]
        bright = np.argwhere((image == 254).all(axis=2))
        assert sign * (bright.mean(axis=0)[axis] - 15.5) > 3


def test_models_without_places_have_no_floor():
    without = {name for name in NAMES if floor_of(build(name)) is None}
    assert {"tiger", "shuttle", "tag", "network"} <= without
    assert without.isdisjoint({"hallway", "hallway2", "4x3", "4x4", "cheese", "tiger-grid"})
