"""Options that several verbs share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from rpsr.io.allowance import parse_size

if TYPE_CHECKING:
    from rpsr.planning.precision import Relative

STANDARD_STREAM = "<->"  # stands for "-", which the parser would take for an option
STANDARD_STREAMS = (STANDARD_STREAM, "/dev/stdout")


def standard_stream(_type: Any, tokens: Sequence[Token]) -> str:
    """A path as the user typed it; `-` is standard input or output."""
    return standard_streams(_type, tokens)[0]


def standard_streams(_type: Any, tokens: Sequence[Token]) -> list[str]:
    """The same, for an option that may be given several times."""
    return ["-" if token.value in STANDARD_STREAMS else token.value for token in tokens]


def named_file(_type: Any, tokens: Sequence[Token]) -> str:
    """The path of a file, which cannot be a stream."""
    path = standard_stream(_type, tokens)
    if path == "-":
        raise ValueError("read -, expected a name: standard output is not possible here")
    return path


def named_path(_type: Any, tokens: Sequence[Token]) -> Path:
    """The same, as a path."""
    return Path(named_file(_type, tokens))


def size(_type: Any, tokens: Sequence[Token]) -> int:
    """A number of bytes: 2000000000, 2GB, 1.5 GiB."""
    text = tokens[0].value
    number = parse_size(text)
    if number is None or not 1 <= number < 2**63:
        raise ValueError(f"read {text!r}, expected a number of bytes, such as 2000000000 or 2GB")
    return number


def whole(_type: Any, tokens: Sequence[Token]) -> int:
    """A whole number; 1.5 is refused."""
    text = tokens[0].value.strip()
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text) is None:
        raise ValueError(f"read {text!r}, expected a whole number")
    return int(text)


def precision(_type: Any, tokens: Sequence[Token]) -> float | Relative:
    """A precision: 1e-6 in units of reward, or 1% of the value at the start."""
    text = tokens[0].value.strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ValueError(f"read {text!r}, expected a finite number above 0, or a percentage")
    if not text.endswith("%"):
        return number
    from rpsr.planning.precision import Relative

    return Relative(number / 100)


def positive(_type: Any, value: float | None) -> None:
    """Refuse a number that is not finite and above 0."""
    if value is not None and not 0 < value < float("inf"):
        raise ValueError(f"read {value}, expected a finite number above 0")


Source = Annotated[
    str,
    Parameter(
        converter=standard_stream,
        help="A .pomdp or .pomdpx file (plain, gzipped, or - for standard input), a .rpsr file, or "
        "a built-in domain's name such as tiger or loadunload:cells=20.",
    ),
]
Normalize = Annotated[
    bool,
    Parameter(negative="", help="Accept rows of probabilities with any sum and rescale them."),
]
Discount = Annotated[str | None, Parameter(help="Use this discount instead of the source's own.")]
TimeLimit = Annotated[
    float | None,
    Parameter(
        validator=positive,
        help="Time limit in seconds per source; the time to read it does not count.",
    ),
]
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
