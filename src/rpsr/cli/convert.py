"""`rpsr convert`: from any source to any file form."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from rpsr.cli.options import Discount, Normalize, Source, standard_stream
from rpsr.cli.output import note

Kind = Literal["pomdp", "belief"]


def convert(
    source: Source,
    target: Annotated[
        str,
        Parameter(
            converter=standard_stream,
            help="The file to write: .pomdp, .pomdp.gz, .rpsr, or - for standard output.",
        ),
    ],
    /,
    *,
    model: Annotated[
        Kind | None, Parameter(help="What to write the source as; as what it is by default.")
    ] = None,
    normalize: Normalize = False,
    discount: Discount = None,
) -> None:
    """Read a model and write it in another form.

    A .pomdp target is compact and reads back to the same numbers; a .rpsr target holds any model.
    """
    from rpsr.errors import InputError
    from rpsr.models import POMDP
    from rpsr.sources import load, write

    loaded = load(source, normalize=normalize, discount=discount)
    if isinstance(loaded, POMDP):
        for warning in loaded.warnings:
            note(f"{source}: {warning}")
        if model == "belief":
            loaded = loaded.belief_model()
    elif model not in (None, loaded.kind):
        raise InputError(f"holds a {loaded.kind} model, which has no {model} form", place=source)
    for remark in write(loaded, target):
        note(f"{target}: {remark}")
