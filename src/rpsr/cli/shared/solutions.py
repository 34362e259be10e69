"""How `rpsr solve` shows a solution: as JSON, and as facts for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpsr.learning.plan_choice.plausibility import PlayedOut
    from rpsr.models import LinearModel
    from rpsr.planning import Solution


def as_costs(document: dict[str, Any]) -> dict[str, Any]:
    """Values and bounds of a plan as costs: a lower bound of rewards is an upper bound of costs."""
    lower, upper = document["lower"], document["upper"]
    first = document["first_upper_bound"]
    return {  # 0 - x is never -0
        "value": 0 - document["value"],
        "lower": None if upper is None else 0 - upper,
        "upper": None if lower is None else 0 - lower,
        "first_upper_bound": None,
        "first_lower_bound": None if first is None else _negated(first),
    }


def _negated(first: dict[str, Any]) -> dict[str, Any]:
    """A first upper bound on rewards as a lower bound on costs."""
    beside = [other | {"value": 0 - other["value"]} for other in first["beside"]]
    return first | {"value": 0 - first["value"], "beside": beside}


def solution_document(
    solution: Solution, model: str | None, seed: int | None, played: PlayedOut | None
) -> dict[str, Any]:
    """A solution, by JSON key."""
    return {
        "model": model or _kind(solution.model),
        "name": solution.model.name,
        "dimension": solution.model.dimension,
        "planner": solution.planner,
        "discount": solution.model.discount,
        "horizon": solution.horizon,
        "status": solution.status.name.lower(),
        "message": solution.message,
        "value": solution.value,
        "lower": solution.lower if solution.proven else None,
        "upper": solution.upper,
        "gap": solution.gap,
        "residual": solution.residual,
        "epsilon": solution.epsilon,
        "vectors": len(solution.value_function),
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "compile_seconds": solution.compile_seconds,
        "seed": seed if solution.seed is None else solution.seed,
        "proven_by": solution.extras.get("proven_by"),
        "first_upper_bound": solution.extras.get("first_upper_bound"),
        "compressed": solution.extras.get("compressed"),
        "learned": solution.model.estimator,
        "simulated": None if played is None else played.mean,
    }


def _kind(model: LinearModel) -> str:
    return "pomdp" if model.kind == "belief" else model.kind


def facts_of(solution: Solution, document: dict[str, Any]) -> list[tuple[str, Any]]:
    """A solution for people: names and values, by its document."""
    numbers = {
        "value": f"{document['value']:.12g}",
        "lower": "" if document["lower"] is None else f"{document['lower']:.12g}",
        "upper": "" if document["upper"] is None else f"{document['upper']:.12g}",
        "gap": "" if solution.gap is None else f"{solution.gap:.3g}",
        "status": solution.message,
    }
    proven_by = document["proven_by"]
    if proven_by is not None:
        numbers["proven_by"] = f"lower: {proven_by['lower']}; upper: {proven_by['upper']}"
    for key in ("first_upper_bound", "first_lower_bound"):
        if document.get(key) is not None:
            numbers[key] = _first_bound(document[key])
    learned = document["learned"]
    if learned is not None:
        numbers["learned"] = f"by {learned}: the bounds hold for this model, not for the system"
        if not solution.proven:
            estimate = "the value is the planner's estimate on the learned model"
            numbers["learned"] = f"by {learned}; no bound is proven: {estimate}"
    saved = solution.extras.get("compressed")
    if saved is not None:
        from rpsr.planning.compression import Saved

        numbers["compressed"] = str(Saved(**saved))
    hidden = {"message"} | ({"seed"} if solution.seed is None else set())
    hidden |= set() if solution.compile_seconds else {"compile_seconds"}
    return [
        (key, numbers.get(key, value))
        for key, value in document.items()
        if value is not None and key not in hidden
    ]


def _first_bound(first: dict[str, Any]) -> str:
    """A first bound: `1.188 by the tighter informed bound, after 0.61 s (others: ...)`."""
    beside = ", ".join(f"{other['value']:.4g} by {other['name']}" for other in first["beside"])
    by = f"by the {first['name']} bound"
    line = f"{first['value']:.4g} {by}, after {first['seconds']:.2g} s"
    return f"{line} (others: {beside})" if beside else line
