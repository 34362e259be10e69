"""The paper's evaluation, redone: every number and sentence with a verdict.

`run.reproduce` does the work, `story.Findings` judges it, `writing.write_report` writes it down.
"""
