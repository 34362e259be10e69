"""`rpsr convert`: from any source to any file format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from rpsr.cli.completion import any_file
from rpsr.cli.options import ColumnNames, Discount, Normalize, Source, standard_stream
from rpsr.cli.output import check_policy_name, check_targets, note, wrote

if TYPE_CHECKING:
    from rpsr.models import POMDP, LinearModel

Kind = Literal["pomdp", "belief", "psr", "rpsr", "ra-psr"]


def as_kind(pomdp: POMDP, kind: Kind) -> POMDP | LinearModel:
    """A POMDP as a model of another kind."""
    from rpsr.predictive import psr, reward_aware_psr, rpsr

    match kind:
        case "pomdp":
            return pomdp
        case "belief":
            return pomdp.belief_model()
        case "psr":
            return psr(pomdp)
        case "rpsr":
            return rpsr(pomdp)
        case "ra-psr":
            return reward_aware_psr(pomdp)


def convert(
    source: Source,
    target: Annotated[
        str,
        Parameter(
            converter=standard_stream,
            completer=any_file,
            help="The file to write. A model: .pomdp, .pomdpx (also .gz), .rpsr. A policy: .json, "
            ".alpha, .pg, .policy. A log: .jsonl, .csv, .parquet. Or - for standard output.",
        ),
    ],
    /,
    *,
    model: Annotated[
        Kind | None, Parameter(help="The kind of model to write; by default that of the source.")
    ] = None,
    policy_for: Annotated[
        str | None,
        Parameter(
            name="--for",
            help="The source of the model that a policy is for. SOURCE and TARGET are then "
            "policy files.",
        ),
    ] = None,
    plain_names: Annotated[
        bool,
        Parameter(
            negative="",
            help="Name states s0, s1, ..., actions a0, ... and observations o0, ..., which every "
            "program reads.",
        ),
    ] = False,
    normalize: Normalize = False,
    discount: Discount = None,
    columns: ColumnNames = None,
) -> None:
    """Read a model, a log, or a policy for a model, and write it in another format.

    A .pomdp file is compact and reads back to the same numbers; a .pomdpx file is for the SARSOP
    toolkit; a .rpsr file holds any model. Logs are .jsonl, .csv or .parquet files, and --columns
    names the columns of those that are read. What the new file cannot hold is reported.
    """
    from rpsr.cli.convert_log import convert_log, is_log
    from rpsr.errors import InputError
    from rpsr.models import POMDP
    from rpsr.sources import load, save

    if plain_names and (policy_for is not None or is_log(source, target)):
        raise InputError("--plain-names is for models")
    if is_log(source, target):
        if (model, normalize, discount) != (None, False, None):
            raise InputError("--model, --normalize and --discount are for models, not for logs")
        convert_log(source, target, columns)
        return
    if columns is not None:
        raise InputError("--columns is for logs, .csv or .parquet", place=source)
    check_targets(target)  # the target may be the source, which is read before it is replaced
    if policy_for is not None:
        _convert_policy(source, target, policy_for, normalize, discount)
        return
    _refuse_policy(source)
    loaded = load(source, normalize=normalize, discount=discount)
    if isinstance(loaded, POMDP):
        for warning in loaded.warnings:
            note(f"{source}: {warning}")
        loaded = as_kind(loaded, model or "pomdp")
    elif model not in (None, loaded.kind):
        raise InputError(f"a {loaded.kind} model cannot become a {model} model", place=source)
    for remark in save(loaded, target, plain_names=plain_names):
        note(f"{target}: {remark}")
    wrote(target)


def _convert_policy(
    source: str, target: str, policy_for: str, normalize: bool, discount: str | None
) -> None:
    from rpsr.planning.files.conversion import convert_policy
    from rpsr.sources import load

    check_policy_name(target)
    model = load(policy_for, normalize=normalize, discount=discount)
    for remark in convert_policy(source, target, model):
        note(f"{target}: {remark}")
    wrote(target)


def _refuse_policy(source: str) -> None:
    """A policy file alone does not say which states, actions and observations it is for."""
    from rpsr.errors import InputError
    from rpsr.planning.files.policies import classic_form

    if classic_form(source) is not None or source.lower().endswith(".json"):
        message = "is a policy; --for SOURCE names the model it is for"
        raise InputError(message, place=source)
