"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, Token

STANDARD_STREAM = "<->"  # stands for "-", which the parser would take for an option
STANDARD_STREAMS = (STANDARD_STREAM, "/dev/stdout")


def standard_stream(_type: Any, tokens: Sequence[Token]) -> str:
    """A path as the user wrote it: `-` is standard input or output."""
    return standard_streams(_type, tokens)[0]


def standard_streams(_type: Any, tokens: Sequence[Token]) -> list[str]:
    """The same, for an option that may be given several times."""
    return ["-" if token.value in STANDARD_STREAMS else token.value for token in tokens]


def named_file(_type: Any, tokens: Sequence[Token]) -> str:
    """A path that must be a name: what is kept there cannot be a stream."""
    path = standard_stream(_type, tokens)
    if path == "-":
        raise ValueError("read -, expected a name: it is not written to standard output")
    return path


def named_path(_type: Any, tokens: Sequence[Token]) -> Path:
    """The same, as a path."""
    return Path(named_file(_type, tokens))


Source = Annotated[
    str,
    Parameter(
        converter=standard_stream,
        help="A .pomdp file (plain, gzipped, or - for standard input), a native .rpsr file, or a "
        "built-in domain's name such as tiger or loadunload:cells=20.",
    ),
]
Normalize = Annotated[
    bool,
    Parameter(negative="", help="Accept rows of probabilities of any sum and rescale them."),
]
Discount = Annotated[str | None, Parameter(help="Use this discount instead of the source's own.")]
Json = Annotated[
    bool, Parameter(name="--json", negative="", help="Print one JSON document on standard output.")
]
Output = Annotated[
    str,
    Parameter(
        name=["--output", "-o"],
        converter=standard_stream,
        help="The file to write, or - for standard output.",
    ),
]
