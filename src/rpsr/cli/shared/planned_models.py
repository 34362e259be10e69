"""The model that `rpsr solve` plans on: the POMDP, a task, its PSR or R-PSR, or a smaller one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rpsr.cli.shared.kinds import as_kind
from rpsr.cli.shared.objectives import ObjectiveOptions
from rpsr.cli.shared.output import note

if TYPE_CHECKING:
    from rpsr.models import POMDP, LinearModel
    from rpsr.planning.compression import Compressed

Kind = Literal["pomdp", "psr", "rpsr", "ra-psr"]


@dataclass(frozen=True)
class Wanted:
    """The options that say what to plan on.

    timed: whether the task ends after the objective's number of steps.
    """

    source: str
    normalize: bool
    discount: str | None
    objective: ObjectiveOptions
    timed: bool = False

    def model(self) -> POMDP | LinearModel:
        """The model, or the task of the objective on it."""
        from rpsr.cli.shared.opening import load

        loaded = load(self.source, normalize=self.normalize, discount=self.discount)
        return self.objective.task(loaded, self.source, timed=self.timed)


def planned_model(wanted: Wanted, kind: Kind | None) -> LinearModel:
    """The model to plan on, of the kind that was asked for."""
    from rpsr.errors import InputError
    from rpsr.models import POMDP

    loaded, source = wanted.model(), wanted.source
    if not isinstance(loaded, POMDP):
        if kind is not None and kind != loaded.kind:
            raise InputError(
                f"holds a {loaded.kind} model, expected a POMDP for --model {kind}", place=source
            )
        return loaded
    for warning in loaded.warnings:
        note(f"{source}: {warning}")
    model = as_kind(loaded, "belief" if kind in (None, "pomdp") else kind)
    assert not isinstance(model, POMDP), "a POMDP is planned on as its belief model"
    return model


def compressed_model(wanted: Wanted, kind: Kind | None) -> Compressed:
    """The POMDP to plan on, made smaller."""
    from rpsr.errors import InputError
    from rpsr.models import POMDP
    from rpsr.planning.compression import compress

    loaded, source = wanted.model(), wanted.source
    if not isinstance(loaded, POMDP) or kind not in (None, "pomdp"):
        what = kind or getattr(loaded, "kind", "pomdp")
        raise InputError(
            f"--compress needs a POMDP, not a {what} model: leave out --compress", place=source
        )
    for warning in loaded.warnings:
        note(f"{source}: {warning}")
    return compress(loaded)
