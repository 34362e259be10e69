"""Built-in problems, written as small parametric generators in exact arithmetic.

`build("tiger")` or `build("loadunload:cells=20")` makes one by name; the generators themselves
live in this package's modules and take the same parameters as keywords.
"""

from rpsr.domains.catalogue import NAMES, build, generator, names, parameters, story
from rpsr.domains.rules import tabulate

__all__ = ["NAMES", "build", "generator", "names", "parameters", "story", "tabulate"]
