"""What tests of planners share: progress that nobody watches, and planning in one line."""

from rpsr.planning.exact import ValueIteration


def ignore(row):
    """No progress."""


def vi(model, **options):
    """Exact value iteration."""
    return ValueIteration(**options).solve(model, ignore)
