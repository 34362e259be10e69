"""Policies from one file format to another, with notes on what is lost.

Any format becomes any other where it can express the policy. A controller becomes a value function
by the values of its nodes: whoever acts by the best of them earns at least as much as the
controller. A value function from a file does not know its successors and does not become a
controller, and only the native format stores trees: those are errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rpsr.io.files import path_text
from rpsr.models.as_model import as_linear
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.files.native import Stored, StoredVectors, unconnected
from rpsr.planning.files.policies import classic_form, load_policy, save_policy
from rpsr.planning.value.controllers import FiniteStateController


def convert_policy(
    source: str | Path, target: str | Path, model: POMDP | LinearModel
) -> tuple[str, ...]:
    """Read a policy for a model and write it in the format of the target's suffix.

    Returns notes on what the new file does not hold.
    """
    linear, form = as_linear(model), classic_form(path_text(target, "target"))
    stored = load_policy(source, linear)
    written = stored
    if isinstance(stored, FiniteStateController) and form in ("alpha", "policy"):
        value_function = unconnected(stored.vectors(linear), stored.actions, linear)
        written = StoredVectors(linear, value_function, made_for={"kind": linear.kind})
    save_policy(written, target, linear)
    return tuple(_notes(stored, form))


def _notes(stored: Stored, form: str | None) -> Iterator[str]:
    if form is None:
        return
    yield f"a .{form} file has no names: states, actions and observations are numbers"
    if isinstance(stored, FiniteStateController):
        if form != "pg":
            yield (
                "the vectors in the file are the values of the controller's nodes; the policy that "
                "acts by the best vector has at least the value of the controller"
            )
        elif stored.successors.min() < 0:
            yield (
                "the format has no restarts; where the controller restarts, the file moves to its "
                "first node"
            )
    if isinstance(stored, StoredVectors):
        if stored.epsilon is not None:
            yield (
                f"a .{form} file has no proven error bound, so the policy's epsilon "
                f"({stored.epsilon:.3g}) is lost"
            )
        if stored.look_ahead:
            yield (
                "the policy looks one step ahead with its vectors; the policy in the file takes "
                "the action of the best vector instead"
            )
