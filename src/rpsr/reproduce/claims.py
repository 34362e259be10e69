"""The paper's sentences with a number or a comparison, each with our finding and a verdict.

Sentences are in our words; `where` is the section of the paper. The text of our findings is
computed from the results.
"""

from __future__ import annotations

from collections.abc import Iterator

from rpsr.reproduce.claim import Claim
from rpsr.reproduce.claims_models import case_study_claims, domain_claims
from rpsr.reproduce.claims_returns import return_claims
from rpsr.reproduce.run import Reproduction


def claims(all_: Reproduction) -> Iterator[Claim]:
    """Every claim: the case study, then which domains, then returns."""
    yield from case_study_claims(all_)
    yield from domain_claims(all_)
    yield from return_claims(all_)
