"""A model whose value is decided by a rare observation."""

from fractions import Fraction

from rpsr.domains import tabulate


def lottery(rare):
    """Every step shows nothing, except that with a small probability a jackpot begins.

    It pays 1000 / rare at every step from then on, and is seen. The discount is 1/2.
    """
    return tabulate(
        name="lottery",
        states=("poor", "rich"),
        actions=("wait",),
        observations=("nothing", "jackpot"),
        start={"poor": 1},
        transition=lambda state, _: (
            {"poor": 1 - rare, "rich": rare} if state == "poor" else {"rich": 1}
        ),
        emission=lambda _, state: {"nothing" if state == "poor" else "jackpot": 1},
        reward=lambda state, *_: 1000 / rare if state == "rich" else 0,
        discount=Fraction(1, 2),
    )


def value_of_lottery(rare):
    """V = (rare J + (1 - rare) V) / 2, with J = 2000 / rare the value of the jackpot."""
    return 1000 / (1 - (1 - rare) / 2)
