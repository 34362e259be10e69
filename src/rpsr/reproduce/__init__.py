"""The paper's evaluation, redone: every number and sentence with a verdict.

`experiment` compares the optimal policies of the three models on any POMDP. `walk_from` follows one
policy step by step on the paper's case study, load/unload. `run.reproduce` does the work for all
domains, `story.Findings` judges it, `writing.write_report` writes it down.
"""

from rpsr.reproduce.case_study import Walk, walk_from
from rpsr.reproduce.one_domain import PAPER_DOMAINS, Experiment, experiment, paper_domain

__all__ = [
    "PAPER_DOMAINS",
    "Experiment",
    "Walk",
    "experiment",
    "paper_domain",
    "walk_from",
]
