"""Certificates that are false in one place, which one check of the verifier notices.

Scales are 1 or 100, so that the direction of rounding decides. Each certificate is refused, and the
same one with that place put right is accepted.
"""

import json
from fractions import Fraction

import pytest

from rpsr import POMDP, InputError, verify
from rpsr.domains import build

STAYS = [[1.0, 0.0], [0.0, 1.0]]


def chain(transition, rewards, start=None, discount="1/2"):
    """A model of one action and one observation; it starts in its first state."""
    states = range(len(rewards))
    return POMDP.from_arrays(
        [transition],
        [[[1.0] for _ in states]],
        [[reward] for reward in rewards],
        start or [float(s == 0) for s in states],
        discount,
        exact=True,
    )


class Claim:
    """Certificates of one model, in a folder of their own."""

    def __init__(self, folder, pomdp):
        self.pomdp, self.path = pomdp, folder / "c.json"

    def check(self, statement, lines):
        record = self.pomdp.record
        discount = "1" if record.discount is None else str(record.discount)
        kinds = [kind for kind, _ in lines]
        header = {
            "schema": "rpsr.certificate/2",
            "model": {"name": "", "digest": self.pomdp.digest, "discount": discount},
            "lines": {kind: kinds.count(kind) for kind in kinds},
            **statement,
        }
        listed = [header, *({kind: value} for kind, value in lines)]
        self.path.write_text("".join(json.dumps(line) + "\n" for line in listed))
        return verify(self.pomdp, self.path)

    def refused(self, said, *certificate):
        with pytest.raises(InputError) as caught:
            self.check(*certificate)
        assert said in str(caught.value)


# ---- lower bounds


def vector(values, lower, scale):
    """A vector that follows itself, with units of 1 for probabilities and 1/scale for values."""
    scales = {"model": 1, "values": scale, "beliefs": 1}
    return {"scales": scales, "lower": lower}, [("vector", [0, [0], values])]


def test_probabilities_of_vectors_are_not_rounded_up(tmp_path):
    """State b pays 1 and is left never; a moves there with chance 1/4: V(a) = 2/5, V(b) = 2.

    If 3/4 and 1/4 were rounded up to 1, a vector of 9/10 at a would be below its backup.
    """
    claim = Claim(tmp_path, chain([[0.75, 0.25], [0.0, 1.0]], [0.0, 1.0]))
    claim.refused("exceeds its backup", *vector([90, 190], "9/10", 100))
    assert claim.check(*vector([0, 190], 0, 100)).lower == 0
    claim.refused("exceeds its backup", *vector([41, 200], "2/5", 100))
    assert claim.check(*vector([40, 200], "2/5", 100)).lower == Fraction(2, 5)


def test_probabilities_of_vectors_are_not_rounded_down(tmp_path):
    """Each step costs 1: V = -2. If all chances were rounded down to 0, -1 would be its backup."""
    claim = Claim(tmp_path, chain([[0.75, 0.25], [0.25, 0.75]], [-1.0, -1.0]))
    claim.refused("exceeds its backup", *vector([-100, -100], -1, 100))
    assert claim.check(*vector([-200, -200], -2, 100)).lower == -2


def test_rewards_of_vectors_are_not_rounded_up(tmp_path):
    """A step pays 1/4: V = 1/2. In units of 1/2 the reward is half a unit."""
    claim = Claim(tmp_path, chain([[1.0]], [0.25]))
    claim.refused("exceeds its backup", *vector([1], 1, 1))
    assert claim.check(*vector([0], 0, 1)).lower == 0
    assert claim.check(*vector([1], "1/2", 2)).lower == Fraction(1, 2)


# ---- upper bounds


def points(values, upper, scale=1, more=(), start=()):
    """Corners with one number each, then more points."""
    corners = [("point", {"values": [value], "moves": [{}]}) for value in values]
    scales = {"model": 1, "values": scale, "beliefs": 1}
    statement = {"scales": scales, "upper": upper, "floor": 0, "start": list(start)}
    return statement, [*corners, *(("point", point) for point in more)]


def test_probabilities_of_points_are_rounded_up(tmp_path):
    """V(a) = 2/5, as above. If 3/4 and 1/4 were rounded down to 0, a would be worth 0."""
    claim = Claim(tmp_path, chain([[0.75, 0.25], [0.0, 1.0]], [0.0, 1.0]))
    claim.refused("the value is too low", *points([0, 200], 0, 100))
    assert claim.check(*points([200, 200], 2, 100)).upper == 2


def test_the_start_is_rounded_up(tmp_path):
    """Each step pays 1: V = 2. The start is (1/2, 1/2), which rounded down has no mass."""
    claim = Claim(tmp_path, chain(STAYS, [1.0, 1.0], [0.5, 0.5]))
    claim.refused("the certificate states 0, but proves only 4", *points([2, 2], 0))
    assert claim.check(*points([2, 2], 4)).upper == 4


def test_rewards_above_the_floor_are_rounded_up(tmp_path):
    """V = 1/2, as above: a reward of half a unit."""
    claim = Claim(tmp_path, chain([[1.0]], [0.25]))
    claim.refused("the value is too low", *points([0], 0))
    assert claim.check(*points([1], 1)).upper == 1


def test_a_belief_names_a_state_once(tmp_path):
    """V = 2. Read as a mapping, this belief is empty and worth 0; read as a list, it covers all."""
    claim = Claim(tmp_path, chain(STAYS, [1.0, 1.0], [0.5, 0.5]))
    twice = {"belief": [[0, 1], [0, 0], [1, 1], [1, 0]], "values": [0], "moves": [[]]}
    claim.refused("a state is named twice", *points([2, 2], 0, more=[twice], start=[[2, 1]]))
    once = {"belief": [[0, 1], [1, 1]], "values": [4], "moves": [[]]}
    assert claim.check(*points([2, 2], 4, more=[once], start=[[2, 1]])).upper == 4


def test_numbers_of_points_are_not_negative(tmp_path):
    """Nothing is ever paid: V = 0. Without a discount, every number equals its own backup."""
    claim = Claim(tmp_path, chain([[1.0]], [0.0], discount=1))
    claim.refused("expected a whole number from 0", *points([-5], -5))
    assert claim.check(*points([0], 0)).upper == 0


# ---- ranks


def rank(kind, members, blocks, basis, inside):
    """A rank by its members; with tests, the reward condition holds if all rewards are inside."""
    line = {
        "kind": kind,
        "rank": len(members),
        "modulus": 101,
        "members": members,
        "blocks": blocks,
        "basis": basis,
        "inside": inside,
    }
    statement = {f"{kind}_rank": len(members)}
    return {**statement, **({"accurate": all(inside)} if kind == "psr" else {})}, [("rank", line)]


EMPTY = [[], None]  # the empty test
REWARD = [[], 0]  # the reward of the first action


def test_states_of_a_block_have_the_same_probabilities(tmp_path):
    """In tiger, listening shows either side in both states: the same outcomes, but not the odds."""
    claim = Claim(tmp_path, build("tiger"))
    alike = rank("psr", [EMPTY], [0, 0], None, [True, False, False])
    claim.refused("are in one block, but have different probabilities", *alike)
    heard = [[[0, 0]], None]
    proof = claim.check(*rank("psr", [EMPTY, heard], [0, 1], None, [True] * 3))
    assert proof.psr_rank == 2


def test_states_of_a_block_have_the_same_rewards_in_an_rpsr(tmp_path):
    """Two states that look alike and pay 0 and 1: rank 1 as a PSR, 2 as an R-PSR."""
    claim = Claim(tmp_path, chain(STAYS, [0.0, 1.0]))
    claim.refused(
        "differ between states of one block", *rank("rpsr", [EMPTY], [0, 0], None, [False])
    )
    assert claim.check(*rank("psr", [EMPTY], [0, 0], None, [False])).psr_rank == 1
    assert claim.check(*rank("rpsr", [EMPTY, REWARD], [0, 1], None, [True])).rpsr_rank == 2


def test_a_span_is_closed_under_every_operator(tmp_path):
    """States that show themselves, 0 or 1: the empty test alone does not span their outcomes."""
    shows = [[[1.0, 0.0], [0.0, 1.0]]]
    claim = Claim(
        tmp_path, POMDP.from_arrays([STAYS], shows, [[0.0], [1.0]], None, 0.9, exact=True)
    )
    only_ones = rank("psr", [EMPTY], [0, 1], [["1", "1"]], [False])
    claim.refused("out of the span", *only_ones)
    seen = [[[0, 0]], None]
    assert claim.check(*rank("psr", [EMPTY, seen], [0, 1], None, [True])).psr_rank == 2


def test_a_span_contains_the_empty_test(tmp_path):
    """An empty basis is closed under every operator."""
    claim = Claim(tmp_path, chain([[1.0]], [1.0]))
    claim.refused(
        "does not contain all of the constant vector 1", *rank("psr", [], [0], [], [False])
    )
    assert claim.check(*rank("psr", [EMPTY], [0], None, [True])).psr_rank == 1


def test_the_span_of_an_rpsr_contains_every_reward(tmp_path):
    """The basis of the PSR's span, which is closed, stated to be that of the R-PSR."""
    claim = Claim(tmp_path, chain(STAYS, [0.0, 1.0]))
    ones = ([EMPTY], [0, 1], [["1", "1"]], [False])
    claim.refused("constant vector 1 and the rewards of every action", *rank("rpsr", *ones))
    assert claim.check(*rank("psr", *ones)).accurate is False


def test_members_of_a_psr_are_tests(tmp_path):
    """The reward is independent of the empty test, but no outcome of a test."""
    claim = Claim(tmp_path, chain(STAYS, [0.0, 1.0]))
    both = ([EMPTY, REWARD], [0, 1], None, [True])
    claim.refused("read an action after a test, expected null", *rank("psr", *both))
    assert claim.check(*rank("rpsr", *both)).rpsr_rank == 2


def test_a_pivot_that_has_no_inverse_proves_nothing(tmp_path):
    """Modulo 4, twice the vector (0, 2) is 0: another modulus is needed to prove rank 2."""
    claim = Claim(tmp_path, chain(STAYS, [0.0, 2.0]))
    statement, [(_, line)] = rank("rpsr", [EMPTY, REWARD], [0, 1], None, [True])
    by_four = [("rank", {**line, "modulus": 4})]
    claim.refused("of the members before it, modulo 4", statement, by_four)
    assert claim.check(statement, [("rank", line)]).rpsr_rank == 2


# ---- controllers


def repeating(value):
    """A controller that always takes the only action, from the only state."""
    line = {"actions": [0], "successors": [[0]], "first": 0, "values": [[value]]}
    return {"controller_value": value}, [("controller", line)]


@pytest.mark.parametrize("value", ["1", "3"])
def test_a_value_is_neither_below_nor_above_its_equation(tmp_path, value):
    """Each step pays 1: V = 2. Of 1 the equation makes 3/2, of 3 it makes 5/2."""
    claim = Claim(tmp_path, chain([[1.0]], [1.0]))
    claim.refused("the value of node 0 at", *repeating(value))
    assert claim.check(*repeating("2")).controller_value == 2


def test_without_a_discount_an_equation_has_many_solutions(tmp_path):
    """Nothing is ever paid: V = 0, but every number satisfies v = 0 + v."""
    claim = Claim(tmp_path, chain([[1.0]], [0.0], discount=1))
    claim.refused("expected a discount below 1", *repeating("5"))
