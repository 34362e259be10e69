"""A paint shop: parts that may be flawed, and paint that hides the evidence."""

from fractions import Fraction
from typing import NamedTuple

from rpsr.domains.chances import Number, evenly, lottery, probability
from rpsr.domains.rules import tabulate
from rpsr.models import POMDP


class _Part(NamedTuple):
    flawed: bool
    painted: bool

    @property
    def blemished(self) -> bool:
        """A flaw is visible as a blemish until it is painted over."""
        return self.flawed and not self.painted


def paint(
    *,
    coverage: Number = Fraction(9, 10),
    accuracy: Number = Fraction(3, 4),
    discount: Number = Fraction(19, 20),
) -> POMDP:
    """Parts are to be painted and shipped if sound, rejected if flawed, and paint hides flaws.

    Half of the parts are flawed, and a flaw causes a blemish. Inspecting reports a blemish (BL) or
    none (NBL), and is wrong with probability 1/4. Painting succeeds with probability 9/10; it
    covers the blemish, but the flaw remains, and no inspection finds it any more. Shipping and
    rejecting bring in the next part. Only an inspection ever reports a blemish.

    Shipping pays 1 for a part that is sound and painted, and costs 1 for any other. Rejecting pays
    1 for a part with a visible blemish and costs 1 for a sound one; rejecting a flawed part that
    has been painted over has reward 0.

    A state is named by flawed (FL), blemished (BL) and painted (PA), each with an N in front if
    not.

    Args:
        coverage: the probability that painting succeeds.
        accuracy: the probability that an inspection is correct.
        discount: the discount factor.

    References:
        N. Kushmerick, S. Hanks and D. S. Weld, "An algorithm for probabilistic planning",
        Artificial Intelligence 76, 1995. D. Draper, S. Hanks and D. S. Weld, "Probabilistic
        planning with information gathering and contingent execution", AIPS 1994.

    """
    takes = probability("coverage", coverage)
    eyesight = probability("accuracy", accuracy)
    sound, sound_painted = _Part(flawed=False, painted=False), _Part(flawed=False, painted=True)
    covered_up, blemished = _Part(flawed=True, painted=True), _Part(flawed=True, painted=False)

    def work(part: _Part, action: str) -> dict[_Part, Fraction]:
        match action:
            case "paint":
                return lottery([(part._replace(painted=True), takes), (part, 1 - takes)])
            case "inspect":
                return {part: Fraction(1)}
            case _:
                return evenly((sound, blemished))

    def see(action: str, part: _Part) -> dict[str, Fraction]:
        if action != "inspect":
            return {"NBL": Fraction(1)}
        chance = eyesight if part.blemished else 1 - eyesight
        return lottery([("BL", chance), ("NBL", 1 - chance)])

    def reward(part: _Part, action: str, _next: _Part, _seen: str) -> int:
        match action:
            case "ship":
                return 1 if part == sound_painted else -1
            case "reject":
                return {sound: -1, sound_painted: -1, covered_up: 0, blemished: 1}[part]
            case _:
                return 0

    def name(part: _Part) -> str:
        marks = (("FL", part.flawed), ("BL", part.blemished), ("PA", part.painted))
        return "-".join(mark if holds else f"N{mark}" for mark, holds in marks)

    return tabulate(
        name="paint",
        states=(sound, sound_painted, covered_up, blemished),
        actions=("paint", "inspect", "ship", "reject"),
        observations=("NBL", "BL"),
        start=evenly((sound, blemished)),
        transition=work,
        emission=see,
        reward=reward,
        discount=probability("discount", discount),
        state_name=name,
    )
