"""Options that several verbs share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from rpsr.cli.shared.completion import any_file, model_or_domain
from rpsr.io.allowance import parse_size

if TYPE_CHECKING:
    from rpsr.planning.precision import Relative
    from rpsr.shards import Shard

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
        raise ValueError("read -, expected the name of a file: this cannot be standard output")
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


def at_least(least: int) -> Callable[[Any, int | None], None]:
    """A validator of whole numbers."""

    def check(_type: Any, value: int | None) -> None:
        if value is not None and value < least:
            raise ValueError(f"read {value}, expected a whole number of at least {least}")

    return check


def between(words: str, low: float, high: float) -> Callable[[Any, float | None], None]:
    """A validator of numbers from `low` to `high`, both allowed; words: what was expected."""

    def check(_type: Any, value: float | None) -> None:
        if value is not None and not low <= value <= high:
            raise ValueError(f"read {value}, expected {words}")

    return check


def shard(_type: Any, tokens: Sequence[Token]) -> Shard:
    """A part of the work, I/N."""
    from rpsr.shards import Shard

    return Shard.parsed(tokens[0].value)


def column_names(_type: Any, tokens: Sequence[Token]) -> dict[str, str]:
    """Names of columns by their roles, from `role=name` with commas between."""
    from rpsr.logs.columns import ROLES, wrong_role

    columns: dict[str, str] = {}
    for pair in tokens[0].value.split(","):
        role, equals, name = map(str.strip, pair.partition("="))
        if not (role and equals and name):
            expected = f"expected ROLE=NAME, where ROLE is one of {', '.join(ROLES)}"
            raise ValueError(f"read {pair.strip()!r}, {expected}")
        if role not in ROLES:
            raise ValueError(f"read {pair.strip()!r}, {wrong_role(role, name)}")
        if role in columns:
            raise ValueError(f"read the role {role} twice, expected it once")
        columns[role] = name
    return columns


ColumnNames = Annotated[
    dict[str, str] | None,
    Parameter(
        converter=column_names,
        n_tokens=1,
        accepts_keys=False,
        help="Columns of CSV and Parquet files whose names differ from the usual ones, as "
        "ROLE=NAME: episode=patient,action=drug,observation=test,reward=gain. The other roles are "
        "step, propensity, terminated, truncated and state.",
    ),
]
Source = Annotated[
    str,
    Parameter(
        converter=standard_stream,
        completer=model_or_domain,
        help="A .pomdp, .pomdpx, .prism or .drn file (plain, gzipped, or - for standard input), a "
        ".rpsr file, or a built-in domain's name such as tiger or loadunload:cells=20.",
    ),
]
Normalize = Annotated[
    bool,
    Parameter(negative="", help="Rescale rows of probabilities whose sum is not 1."),
]
Discount = Annotated[str | None, Parameter(help="Use this discount instead of the source's own.")]
LookAhead = Annotated[
    bool,
    Parameter(
        negative="",
        help="Choose actions by one-step look-ahead with the policy file's alpha vectors, not by "
        "the action stored with the best vector.",
    ),
]
Seed = Annotated[
    int,
    Parameter(
        converter=whole,
        validator=at_least(0),
        help="Random seed; equal seeds give equal output.",
    ),
]
Workers = Annotated[
    int, Parameter(converter=whole, validator=at_least(1), help="Number of threads.")
]
Jobs = Annotated[
    int | None,
    Parameter(
        converter=whole,
        validator=at_least(1),
        help="Number of processes on this machine; results do not depend on it.",
    ),
]
Scheduler = Annotated[
    str | None,
    Parameter(help="Run on the workers of the Dask scheduler at this address, tcp://HOST:PORT."),
]
SchedulerFile = Annotated[
    Path | None,
    Parameter(help="Run on the workers of the Dask scheduler that wrote its address to this file."),
]
ShardOption = Annotated[
    Any,
    Parameter(
        converter=shard,
        n_tokens=1,
        help="Do only part I of N parts of the work, such as 2/5; `rpsr merge` merges the rows of "
        "all parts.",
    ),
]
Certificate = Annotated[
    Path | None,
    Parameter(
        converter=named_path,
        help="Write a proof to this file (also .gz), which 'rpsr verify' checks in exact "
        "arithmetic.",
    ),
]
TimeLimit = Annotated[
    float | None,
    Parameter(
        validator=positive,
        help="Time limit per source, in seconds, without the time to read the source.",
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
        completer=any_file,
        help="The file to write, or - for standard output.",
    ),
]
