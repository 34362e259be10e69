"""Saving and loading policies and plans, in any format: native, `.alpha`, `.pg`, `.policy`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rpsr.errors import InputError
from rpsr.io.file_kinds import expect_kind
from rpsr.io.files import packed, path_text, place_of, read_content, write_bytes
from rpsr.models.as_model import as_linear, wrong_type
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.files.classic import parse_alpha, parse_pg, write_alpha, write_pg
from rpsr.planning.files.native import (
    ARCHIVE,
    Stored,
    StoredVectors,
    parse_native,
    unconnected,
    write_native,
)
from rpsr.planning.files.sarsop import format_policy, parse_policy
from rpsr.planning.solution import Solution
from rpsr.planning.value.controllers import (
    ControllerPolicy,
    FiniteStateController,
    extract_controller,
)
from rpsr.planning.value.policies import AlphaPolicy
from rpsr.planning.value.trees import PolicyTree, TreePolicy

FORMS = ("alpha", "pg", "policy")  # of other programs
AnyStored = Stored | Solution | AlphaPolicy | ControllerPolicy | TreePolicy


def save_policy(
    policy: AnyStored, path: str | Path, model: POMDP | LinearModel | None = None
) -> None:
    """Write a plan or a policy, completely or not at all, in the format of the suffix.

    `.alpha`, `.policy` (of SARSOP): the vectors and actions of a value function. `.pg`: a
    controller. Any other suffix: the native format, with the policy tree of a finite-horizon plan,
    the controller of a plan without a discount, or else the value function. It is JSON, or an
    archive of arrays for `.npz`, and for a large value function unless the suffix is `.json`. With
    `.gz` after the suffix, the file is compressed.
    model: the model that the policy was made for; required for controllers and trees, which do not
    know theirs.
    """
    form = classic_form(path_text(path, "path"))
    if isinstance(policy, Solution) and (form == "pg" or policy.undiscounted):
        check_holds_trees(path_text(path, "path"), policy.horizon)
        policy, model = extract_controller(policy), policy.model
    policy, own = _storable(policy)
    if model is None and own is None:
        raise InputError(
            f"model: missing; {policy} does not contain its model, so pass it as `model`"
        )
    linear = as_linear(own if model is None else model)
    if isinstance(policy, StoredVectors):
        size = policy.value_function.held.shape[1]
        if size != linear.dimension:
            fit = f"a model of dimension {size}, the dimension of the vectors"
            raise InputError(f"model: read {linear}, expected {fit}")
    name = path_text(path, "path")
    match classic_form(name), policy:
        case None, _:
            write_native(policy, linear, name)
        case "alpha", StoredVectors(vectors=vectors, actions=actions):
            write_alpha(linear, vectors, actions, name)
        case "policy", StoredVectors(vectors=vectors, actions=actions):
            write_bytes(name, packed(format_policy(linear, vectors, actions).encode(), name))
        case "pg", FiniteStateController():
            write_pg(policy, name)
        case form, PolicyTree():
            check_holds_trees(name)
        case "pg", StoredVectors():
            raise InputError(
                f"a .pg file cannot store a {policy.title()}, which does not contain the vector "
                "that follows each observation; write the .pg file when planning: "
                f"`rpsr solve ... -o {name}`",
                place=name,
            )
        case form, _:
            raise InputError(
                f"a .{form} file cannot store a {policy.title()}; use a .json or a .pg file",
                place=name,
            )


def classic_form(name: str) -> str | None:
    """The format of another program that a file name asks for, "alpha", "pg", "policy" or None."""
    bare = name.lower().removesuffix(".gz")
    return next((form for form in FORMS if bare.endswith("." + form)), None)


def check_holds_trees(name: str, horizon: int | None = 1) -> None:
    """Refuse a finite-horizon plan for the format of another program, which has no trees."""
    form = classic_form(name)
    if form is not None and horizon is not None:
        raise InputError(
            f"a .{form} file cannot store a finite-horizon plan, which is a tree; use a .json file",
            place=name,
        )


def _storable(policy: Any) -> tuple[Stored, LinearModel | None]:
    """The part of a plan or a policy that a file stores, and its model, if known."""
    match policy:
        case Solution(horizon=None, model=model):
            ahead = model.estimator is not None
            value_function = policy.value_function
            return StoredVectors(model, value_function, policy.epsilon, look_ahead=ahead), model
        case Solution():
            return PolicyTree.of(policy), policy.model
        case StoredVectors():
            return policy, policy.model
        case AlphaPolicy(model=model, vectors=vectors, actions=actions):
            if actions is None:
                raise InputError(
                    "policy: a look-ahead policy has no actions for its vectors; save the Solution "
                    "that it was made from"
                )
            value_function = unconnected(vectors, actions, model)
            return StoredVectors(model, value_function, policy.epsilon), model
        case ControllerPolicy():
            return policy.controller, None
        case TreePolicy():
            return policy.tree, None
        case FiniteStateController() | PolicyTree():
            return policy, None
        case _:
            raise wrong_type(
                policy, "policy", "a plan, a controller, a policy tree, or the policy of one"
            )


def load_policy(path: str | Path, model: POMDP | LinearModel) -> Stored:
    """Read a policy for a model from a native, an `.alpha`, a `.pg` or a `.policy` file.

    The suffix determines the format; for other suffixes, the content does. In a native file, names
    must be the model's, in the model's order; the other formats contain no names.
    """
    linear, path = as_linear(model), path_text(path, "path")
    expect_kind(path, "policy")
    place, stored = place_of(path), read_content(path)
    content = stored.text
    match _form(path, content):
        case "alpha" | "policy" as form:
            parse = parse_alpha if form == "alpha" else parse_policy
            vectors, actions = parse(content, place, linear)
            value_function = unconnected(vectors, actions, linear)
            return StoredVectors(linear, value_function)
        case "pg":
            return parse_pg(content, place, linear)
        case _:
            return parse_native(content, place, linear, stored.size)


def _form(path: str, content: bytes) -> str:
    """The format of a policy file: one of `FORMS` or "native"."""
    form = classic_form(path)
    if form is not None:
        return form
    if content.lstrip().startswith(b"<"):
        return "policy"
    words = content.lstrip().partition(b"\n")[0].split()
    if (
        content.startswith(ARCHIVE)
        or path.lower().endswith(".json")
        or not words
        or not words[0].isdigit()
    ):
        return "native"
    return "alpha" if len(words) == 1 else "pg"
