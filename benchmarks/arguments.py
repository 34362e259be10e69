"""Arguments that several benchmarks have: each is described once."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

CORPUS = os.environ.get("RPSR_CORPUS")
SHARED: dict[str, dict[str, Any]] = {
    "--corpus": {
        "type": Path,
        "default": Path(CORPUS) if CORPUS else None,
        "help": "the folder with model files; by default $RPSR_CORPUS",
    },
    "--model": {"choices": ["pomdp", "rpsr"], "default": "pomdp"},
    "--rl-rpsr": {"type": Path, "help": "a checkout of the authors' code"},
    "--seconds": {"type": float, "default": 5.0, "help": "for each run"},
}


def arguments(
    doc: str | None, *shared: str, required: tuple[str, ...] = ()
) -> argparse.ArgumentParser:
    """A parser with the first line of a benchmark's docstring, and some of the shared options.

    required: those that must be given, unless they have a default.
    """
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    for name in shared:
        described = SHARED[name]
        needed = name in required and described.get("default") is None
        parser.add_argument(name, required=needed, **described)
    return parser
