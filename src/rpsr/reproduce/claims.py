"""The paper's sentences that hold a number or a comparison, each with what we find and a verdict.

Sentences are told in our words; `where` says where they stand in the paper. What is said of our
results is computed from them.
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
