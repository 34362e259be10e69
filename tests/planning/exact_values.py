"""The oracle of bounds: what seeing every state, and doing one thing only, is worth exactly."""

from __future__ import annotations

from fractions import Fraction

from rpsr.models.pomdp import POMDP

Table = list[list[Fraction]]


def solved(matrix: Table, right: list[Fraction]) -> list[Fraction]:
    """The solution of a linear system, by Gauss and Jordan."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = next(k for k in range(i, len(rows)) if rows[k][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k, row in enumerate(rows):
            if k != i and row[i] != 0:
                rows[k] = [x - row[i] * y for x, y in zip(row, rows[i], strict=True)]
    return [row[-1] for row in rows]


class ExactMDP:
    """A POMDP with discount below 1 whose states are seen; rewards (S, A), its own by default."""

    def __init__(self, pomdp: POMDP, rewards: Table | None = None) -> None:
        record, n = pomdp.record, len(pomdp.states)
        assert record.discount is not None
        self.n, self.discount = n, record.discount
        self.rewards = rewards or [list(row) for row in pomdp.exact_rewards()]
        self.moves = [record.transition.fractions(row) for row in range(n * len(pomdp.actions))]
        start = record.start.fractions(0)
        self.start = [start.get(s, Fraction(0)) for s in range(n)]

    def value_of(self, policy: list[int]) -> list[Fraction]:
        """What an action in each state (S,) is worth, (S,)."""
        system = [
            [
                (s == t) - self.discount * self.moves[a * self.n + s].get(t, Fraction(0))
                for t in range(self.n)
            ]
            for s, a in enumerate(policy)
        ]
        return solved(system, [self.rewards[s][a] for s, a in enumerate(policy)])

    def optimum(self) -> list[Fraction]:
        """The value of every state, (S,), by policy iteration."""
        policy = [0] * self.n
        while True:
            values = self.value_of(policy)
            better = [max(range(len(row)), key=self._ahead(s, values)) for s, row in self._rows()]
            gains = [
                self._ahead(s, values)(a) > self._ahead(s, values)(b)
                for s, (a, b) in enumerate(zip(better, policy, strict=True))
            ]
            if not any(gains):
                return values
            policy = [a if g else b for a, b, g in zip(better, policy, gains, strict=True)]

    def _rows(self):
        return enumerate(self.rewards)

    def _ahead(self, s: int, values: list[Fraction]):
        def worth(a: int) -> Fraction:
            moves = self.moves[a * self.n + s]
            return self.rewards[s][a] + self.discount * sum(p * values[t] for t, p in moves.items())

        return worth

    def seen(self) -> Fraction:
        """The value at the start if states are seen."""
        return self._at_start(self.optimum())

    def blind(self) -> Fraction:
        """The value at the start of the best action, taken whatever happens."""
        count = len(self.rewards[0])
        return max(self._at_start(self.value_of([a] * self.n)) for a in range(count))

    def seen_over(self, steps: int) -> Fraction:
        """The value of a horizon at the start if states are seen."""
        values = [Fraction(0)] * self.n
        for _ in range(steps):
            values = [max(map(self._ahead(s, values), range(len(row)))) for s, row in self._rows()]
        return self._at_start(values)

    def blind_over(self, steps: int) -> Fraction:
        """The value of a horizon at the start of the best action, taken at every step."""
        worth: list[Fraction] = []
        for a in range(len(self.rewards[0])):
            values = [Fraction(0)] * self.n
            for _ in range(steps):
                values = [self._ahead(s, values)(a) for s in range(self.n)]
            worth.append(self._at_start(values))
        return max(worth)

    def _at_start(self, values: list[Fraction]) -> Fraction:
        return sum((b * v for b, v in zip(self.start, values, strict=True)), Fraction(0))
