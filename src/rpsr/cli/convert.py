"""`rpsr convert`: from any source to any file format."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from rpsr.cli.shared.completion import any_file, model_or_domain
from rpsr.cli.shared.kinds import Kind, as_kind
from rpsr.cli.shared.objectives import ObjectiveOptions
from rpsr.cli.shared.options import ColumnNames, Discount, Normalize, standard_stream
from rpsr.cli.shared.output import check_policy_name, check_targets, note, wrote


# The arguments are the options of the verb, one each.
def convert(
    source: Annotated[
        str,
        Parameter(
            converter=standard_stream,
            completer=model_or_domain,
            help="A model (.pomdp, .pomdpx, .prism, .drn, .rpsr, a domain's name), a log (.jsonl, "
            ".csv, .parquet), or with --for a policy (.json, .npz, .alpha, .pg, .policy). Text "
            "files may be gzipped. - is standard input: a model file, or a log in JSON lines.",
        ),
    ],
    target: Annotated[
        str,
        Parameter(
            converter=standard_stream,
            completer=any_file,
            help="The file to write. A model: .pomdp, .pomdpx, .drn (also .gz), .rpsr. A policy: "
            ".json, .npz, .alpha, .pg, .policy. A log: .jsonl, .csv, .parquet. Or - for standard "
            "output.",
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
            completer=model_or_domain,
            help="The model (file or domain) that the policy was made for. SOURCE and TARGET are "
            "then policy files.",
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
    objective: ObjectiveOptions | None = None,
    const: Annotated[
        tuple[str, ...],
        Parameter(
            help="A constant of a PRISM or JANI model and its value, such as N=6; may be repeated.",
            negative=(),
        ),
    ] = (),
) -> None:
    """Read a model, a log, or a policy for a model, and write it in another format.

    A .pomdp file is compact and reads back to exactly the same numbers; a .pomdpx file is for the
    SARSOP toolkit, a .drn file for Storm; a .rpsr file stores any model. Logs are .jsonl, .csv or
    .parquet files. A note says which information the new file cannot store. With an objective, such
    as --goal, the POMDP of that task is written, and every other command accepts it.
    """
    from rpsr.cli.convert_log import convert_log, is_log
    from rpsr.cli.shared.opening import load
    from rpsr.errors import InputError
    from rpsr.models import POMDP
    from rpsr.sources import save

    wanted = objective or ObjectiveOptions()
    stated = wanted.objective
    if policy_for is None:
        _refuse_policy(source)
    if plain_names and (policy_for is not None or is_log(source, target)):
        raise InputError("--plain-names is for models, not for logs or policies")
    if policy_for is None and is_log(source, target):
        if (model, normalize, discount, const, stated) != (None, False, None, (), None):
            options = "--model, --normalize, --discount, --const, --goal, --maximise and --minimise"
            raise InputError(f"{options} are for models, not for logs", place=source)
        convert_log(source, target, columns)
        return
    if columns is not None:
        raise InputError("--columns applies only to logs in .csv or .parquet files", place=source)
    check_targets(target)  # the target may be the source, which is read before it is replaced
    constants = _constants(const)
    if policy_for is not None:
        if const or stated is not None:
            option = "--const is" if const else "--goal, --maximise and --minimise are"
            raise InputError(f"{option} for models, not for policies", place=source)
        _convert_policy(source, target, policy_for, normalize, discount)
        return
    loaded = load(source, normalize=normalize, discount=discount, constants=constants)
    loaded = wanted.task(loaded, source, timed=True)
    if isinstance(loaded, POMDP):
        for warning in loaded.warnings:
            note(f"{source}: {warning}")
        loaded = as_kind(loaded, model or "pomdp")
    elif model not in (None, loaded.kind):
        message = f"holds a {loaded.kind} model, expected a POMDP to make a {model} model"
        raise InputError(message, place=source)
    for remark in save(loaded, target, plain_names=plain_names):
        note(f"{target}: {remark}")
    wrote(target)


def _constants(given: tuple[str, ...]) -> dict[str, str]:
    """Constants by name, from NAME=VALUE."""
    from rpsr.errors import InputError

    constants: dict[str, str] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name.isidentifier() and equals and value) or "," in value:
            raise InputError(f"--const: read {text!r}, expected NAME=VALUE, such as N=6")
        constants[name] = value
    return constants


def _convert_policy(
    source: str, target: str, policy_for: str, normalize: bool, discount: str | None
) -> None:
    from rpsr.cli.shared.opening import load
    from rpsr.planning.files.conversion import convert_policy

    check_policy_name(target)
    model = load(policy_for, normalize=normalize, discount=discount)
    for remark in convert_policy(source, target, model):
        note(f"{target}: {remark}")
    wrote(target)


def _refuse_policy(source: str) -> None:
    """A policy file alone does not say which states, actions and observations it is for."""
    from rpsr.errors import InputError
    from rpsr.io.file_kinds import kind_of

    if kind_of(source) == "policy":
        message = "is a policy: add --for MODEL, the model that it was made for"
        raise InputError(message, place=source)
