"""`rpsr info`: the facts about a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rpsr.cli.shared.options import Discount, Json, Normalize, Source
from rpsr.cli.shared.output import note, print_facts, print_json

if TYPE_CHECKING:
    from rpsr.models import POMDP, LinearModel


def info(
    source: Source,
    /,
    *,
    normalize: Normalize = False,
    discount: Discount = None,
    json: Json = False,
) -> None:
    """Show the facts about a model: sizes, discount, rewards, and warnings of the reader."""
    from rpsr.cli.shared.opening import load
    from rpsr.models import POMDP

    model = load(source, normalize=normalize, discount=discount)
    facts = pomdp_facts(model) if isinstance(model, POMDP) else linear_facts(model)
    facts |= builtin_facts(source)
    if json:
        print_json("info", source, facts)
        return
    for warning in facts["warnings"]:
        note(f"{source}: {warning}")
    print_facts(_for_people(facts))


def builtin_facts(source: str) -> dict[str, Any]:
    """The facts about a built-in domain: its story and its parameters with their defaults."""
    from pathlib import Path

    from rpsr.domains import NAMES, parameters, story

    name = source.partition(":")[0]
    if name not in NAMES or Path(source).is_file():
        return {}
    return {"story": story(name), "parameters": parameters(name)}


def pomdp_facts(pomdp: POMDP) -> dict[str, Any]:
    """The facts about a POMDP, by JSON key."""
    from rpsr.planning.admitted import admitted_objectives

    values = pomdp.outcomes.reward
    return {
        "model": "pomdp",
        "name": pomdp.name,
        "states": len(pomdp.states),
        "actions": len(pomdp.actions),
        "observations": len(pomdp.observations),
        "discount": pomdp.discount,
        "nonzeros": {
            "transition": len(pomdp.record.transition.indices),
            "observation": len(pomdp.record.emission.indices),
        },
        "reward_range": [float(values.min()), float(values.max())],
        "start_states": len(pomdp.record.start.indices),
        "absorbing_states": int(pomdp.absorbing.sum()),
        "reset_rows": int(pomdp.resets.sum()),
        "observations_depend_on": "(s, a, s')" if pomdp.record.emission_by_edge else "(a, s')",
        "exact": pomdp.exact,
        "state_variables": [
            {"name": v.name, "values": v.size, "fully_observed": v.observed}
            for v in pomdp.state_variables
        ],
        "labels": {name: len(states) for name, states in pomdp.labels.items()},
        "objectives": admitted_objectives(pomdp),
        "digest": pomdp.digest,
        "names": {
            "states": pomdp.states,
            "actions": pomdp.actions,
            "observations": pomdp.observations,
        },
        "warnings": list(pomdp.warnings),
    }


def linear_facts(model: LinearModel) -> dict[str, Any]:
    """The facts about a linear model, by JSON key; it has no states."""
    return {
        "model": model.kind,
        "name": model.name,
        "states": None,
        "dimension": model.dimension,
        "actions": len(model.actions),
        "observations": len(model.observations),
        "discount": model.discount,
        "nonzeros": {"transition": None, "observation": None},
        "reward_range": None,
        "domain": type(model.domain).__name__.lower(),
        "core": list(model.core),
        "provenance": model.origin(),
        "warnings": [],
    }


def _for_people(facts: dict[str, Any]) -> list[tuple[str, Any]]:
    shown: list[tuple[str, Any]] = []
    for key, value in facts.items():
        if key in ("warnings", "digest"):
            continue
        if key == "discount" and value is None:
            shown.append(("discount", "none given"))
        elif value in (None, [], {}):
            continue
        elif key == "names":
            shown += [(f"names of {kind}", _some(names)) for kind, names in value.items()]
        elif key == "objectives":
            shown.append(("objectives", "; ".join(_admitted(*pair) for pair in value.items())))
        elif key == "state_variables":
            shown.append(("state variables", _variables(value)))
        elif key == "labels":
            shown.append(("labels", _some(tuple(f"{name} ({n})" for name, n in value.items()))))
        elif key == "parameters":
            shown.append(("parameters", ", ".join(f"{k}={v}" for k, v in value.items())))
        elif key == "nonzeros":
            if value["transition"] is not None:
                text = f"{value['transition']} transition, {value['observation']} observation"
                shown.append(("nonzero probabilities", text))
        elif key == "reward_range":
            shown.append(("rewards", f"{value[0]:g} to {value[1]:g}"))
        elif key == "domain":
            shown.append(("valid states", value))
        elif key == "provenance":
            shown.append((key, ", ".join(f"{k}={v}" for k, v in value.items())))
        elif key == "reset_rows":
            shown.append(("declared reset rows", value))
        else:
            shown.append((key.replace("_", " "), value))
    return shown


def _admitted(measure: str, reason: str | None) -> str:
    names = {"probability": "probability of a goal", "reward": "sum of rewards"}
    name = names.get(measure, "sum of costs" if measure == "cost" else measure)
    return name if reason is None else f"no {name} ({reason})"


def _variables(variables: list[dict[str, Any]]) -> str:
    shown = [
        f"{v['name']} ({v['values']}{', fully observed' if v['fully_observed'] else ''})"
        for v in variables
    ]
    return _some(tuple(shown))


def _some(names: tuple[str, ...], most: int = 12) -> str:
    listed = ", ".join(names[:most])
    return listed if len(names) <= most else f"{listed}, ... ({len(names) - most} more)"
