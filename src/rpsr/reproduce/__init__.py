"""The paper's evaluation, redone: every number and sentence with a verdict.

`experiment` compares the optimal policies of the three models on any POMDP. `run.reproduce` does
the work for all domains, `story.Findings` judges it, `writing.write_report` writes it down.
"""

from rpsr.reproduce.experiment import PAPER_DOMAINS, Experiment, experiment, paper_domain

__all__ = ["PAPER_DOMAINS", "Experiment", "experiment", "paper_domain"]
