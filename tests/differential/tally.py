"""What was checked, what was violated, and how much of each tolerance was needed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True)
class Violation:
    """A check that failed, and how to see it again."""

    check: str
    seed: int
    index: int
    family: str
    plan: str
    said: str

    def __str__(self) -> str:
        again = f"--seed {self.seed} --index {self.index}"
        return f"{self.check}: {self.plan}: {self.said}\n    {self.family}, again by {again}"


@dataclass
class Tally:
    """Counts by check. used: the largest share of a tolerance that was needed; 1 is all of it."""

    models: int = 0
    checked: Counter[str] = field(default_factory=Counter)
    covered: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    used: dict[str, float] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in what another process found."""
        self.models += other.models
        for mine, theirs in (
            (self.checked, other.checked),
            (self.covered, other.covered),
            (self.refused, other.refused),
        ):
            mine.update(theirs)
        for check, share in other.used.items():
            self.used[check] = max(share, self.used.get(check, 0.0))
        self.violations += other.violations

    def table(self) -> str:
        """One line for each check, then what planners refused."""
        broken = Counter(violation.check for violation in self.violations)
        lines = [f"{'check':<34} {'checked':>9} {'violated':>9} {'tolerance used':>15}"]
        for check in sorted(self.checked):
            share = f"{self.used[check]:.3g}" if check in self.used else "exact"
            lines.append(f"{check:<34} {self.checked[check]:>9} {broken[check]:>9} {share:>15}")
        lines.append(f"{self.models} models, {len(self.violations)} violations")
        plans = ", ".join(f"{what} {count}" for what, count in sorted(self.covered.items()))
        lines.append(f"plans: {plans}")
        lines += [f"refused {count} times: {what}" for what, count in self.refused.most_common()]
        return "\n".join(lines)


@dataclass
class Record:
    """The tally of one model: every check names the plan it is about."""

    tally: Tally
    seed: int
    index: int
    family: str
    plan: str = ""

    def at_most(
        self, check: str, low: Fraction, high: Fraction, tolerance: Fraction, said: str
    ) -> None:
        """low <= high + tolerance, exactly."""
        excess = low - high
        if tolerance > 0:
            share = max(float(excess / tolerance), 0.0)
            held = 0.0 if excess > tolerance else share  # a violation is not a use
            self.tally.used[check] = max(held, self.tally.used.get(check, 0.0))
        numbers = f"{float(low)!r} > {float(high)!r} by {float(max(excess, 0)):.3g}"
        if tolerance > 0:
            numbers += f", {float(tolerance):.3g} allowed"
        self.holds(check, excess <= tolerance, f"{said}: {numbers}")

    def holds(self, check: str, held: bool, said: str) -> None:
        """Count a check."""
        self.tally.checked[check] += 1
        if not held:
            self.tally.violations.append(
                Violation(check, self.seed, self.index, self.family, self.plan, said)
            )
