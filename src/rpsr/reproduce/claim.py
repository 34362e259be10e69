"""A sentence of the paper with a verdict, and functions for such verdicts."""

from __future__ import annotations

from dataclasses import dataclass

from rpsr.reproduce import paper
from rpsr.reproduce.verdicts import Verdict


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, our finding, and the verdict."""

    where: str
    says: str
    finding: str
    verdict: Verdict


def holds(true: bool) -> Verdict:
    """The verdict on a sentence that is either true or not."""
    return Verdict.AGREES if true else Verdict.DIFFERS


def listed(names: list[str]) -> str:
    """Domains by the names in the paper, as a list in a sentence."""
    shown = [paper.DOMAINS.get(name, name) for name in names]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
