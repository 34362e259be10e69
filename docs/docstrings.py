"""Parameters in docstrings, which are sentences such as `start (S,): probabilities`, as fields."""

import inspect
import re

# Parameters that mean the same wherever a docstring does not describe them.
RECURRING = {
    "action_names": "The names of actions, in the order of their numbers.",
    "discount": "The discount per step.",
    "episodes": "The number of episodes.",
    "executor": "Where the work runs, any `concurrent.futures.Executor`; by default this process.",
    "level": "The confidence level.",
    "memory_limit": "In bytes.",
    "observation_names": "The names of observations, in the order of their numbers.",
    "path": "The path of the file.",
    "progress": "Receives the progress of long work.",
    "seed": "Random seed; equal seeds give equal results.",
    "steps": "The number of steps of an episode.",
    "time_limit": "In seconds.",
    "workers": "The number of processes.",
}


def with_fields(app, what, name, obj, options, lines):
    """Move the sentences on parameters to a list of fields, for autodoc to add the types."""
    if what not in ("class", "function", "method", "staticmethod", "classmethod"):
        return
    try:
        parameters = inspect.signature(obj).parameters
    except (TypeError, ValueError):
        return
    known = [one for one in parameters if one not in ("self", "cls")]
    if not known:
        return
    word = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
    start = re.compile(rf"(?:^|(?<=[.;] ))((?:{word})(?:(?:, | and )(?:{word}))*)( \([^)]*\))?: ")
    kept, fields = [], []
    for paragraph in "\n".join(lines).split("\n\n"):
        if paragraph.startswith((" ", "- ", ".. ")):
            kept.append(paragraph)
            continue
        text = " ".join(paragraph.split())
        matches = list(start.finditer(text))
        before = text[: matches[0].start()].strip() if matches else paragraph
        kept += [before] if before else []
        for here, after in zip(matches, [*matches[1:], None], strict=False):
            said = text[here.end() : after.start() if after else None].strip()
            shape = (here[2] or "").strip()
            for parameter in re.split(r", | and ", here[1]):
                fields.append(f":param {parameter}: {_described(said, shape)}")
                untyped = parameters[parameter].annotation in ("Any", inspect.Parameter.empty)
                if untyped and (shape or re.search(r"\bas \(|array", said)):
                    fields.append(f":type {parameter}: array")
    described = {field.split(":")[1].removeprefix("param ") for field in fields}
    fields += [
        f":param {parameter}: {RECURRING[parameter]}"
        for parameter in known
        if parameter in RECURRING.keys() - described
    ]
    lines[:] = [*"\n\n".join(kept).split("\n"), "", *fields, ""]


def _described(said, shape):
    said = said[:1].upper() + said[1:]
    said = said if said.endswith(".") else f"{said.rstrip(';,')}."
    return f"Shape {shape}. {said}" if shape else said
