"""A sentence of the paper with a verdict on it, and the words such verdicts share."""

from __future__ import annotations

from dataclasses import dataclass

from rpsr.reproduce import paper
from rpsr.reproduce.verdicts import Verdict


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, what we find, and the verdict."""

    where: str
    says: str
    found: str
    verdict: Verdict


def holds(true: bool) -> Verdict:
    """The verdict on a sentence that is either true or not."""
    return Verdict.AGREES if true else Verdict.DIFFERS


def listed(names: list[str]) -> str:
    """Domains by the names that the paper prints, as a sentence lists them."""
    shown = [paper.DOMAINS.get(name, name) for name in names]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
