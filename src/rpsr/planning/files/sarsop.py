"""The policy files of the SARSOP toolkit: value functions in XML, suffix `.policy`.

    <Policy version="0.1" type="value" model="...">
    <AlphaVector vectorLength="|Y|" numObsValue="|X|" numVectors="...">
    <Vector action="a" obsValue="x">one number for each y</Vector> ...

X are the joint values of the fully observed state variables and Y those of the others, each in the
order of the model file. A vector counts only where the fully observed variables have its value x.
So a vector over all states becomes |X| vectors, one for each x, without those that another one
dominates. In the other direction, vectors of one action, each for another x, make one vector over
all states: a belief has one x, and only that part of the vector counts.

Files contain neither names nor exact fractions; numbers are written so that they read back.
"""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import LARGEST_VALUE, Floats, Ints
from rpsr.io.variables import Space
from rpsr.io.xml_tree import Document, Element, parse_xml
from rpsr.models.linear import LinearModel
from rpsr.planning.value.coordinates import from_beliefs, to_beliefs
from rpsr.printable import quoted, shortened

RIVALS = 2000  # vectors that each one is compared with; more would make writing slow


def layout(model: LinearModel) -> Ints:
    """(X, Y): the state for each value x of the fully observed variables and y of the others."""
    n_states = model.domain.size
    variables = model.state_variables
    if not any(variable.observed for variable in variables):
        return np.arange(n_states, dtype=np.int64)[None, :]
    space = Space(variables)
    if space.size != n_states:
        raise InputError(
            f"the state variables of the model have {space.size} joint values, expected "
            f"{n_states}, the number of its states"
        )
    states = np.arange(n_states, dtype=np.int64)
    x = space.part(states, [i for i, v in enumerate(variables) if v.observed])
    y = space.part(states, [i for i, v in enumerate(variables) if not v.observed])
    state_at = np.empty((int(x.max()) + 1, int(y.max()) + 1), dtype=np.int64)
    state_at[x, y] = states
    return state_at


def format_policy(model: LinearModel, vectors: Floats, actions: Ints) -> str:
    """The text of a value function (K, n) with its actions (K,)."""
    values, states = to_beliefs(model, vectors), layout(model)
    lines: list[str] = []
    for x, block in enumerate(states):
        part = values[:, block]
        for k in _undominated(part, actions):
            numbers = " ".join(map(repr, part[k].tolist()))
            lines.append(f'<Vector action="{actions[k]}" obsValue="{x}">{numbers} </Vector>\n')
    sizes = f'vectorLength="{states.shape[1]}" numObsValue="{states.shape[0]}"'
    schema = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    name = quoteattr(shortened(model.name))  # SARSOP's reader has room for short tags only
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<Policy version="0.1" type="value" model={name} {schema} '
        'xsi:noNamespaceSchemaLocation="policyx.xsd">\n'
        f'<AlphaVector {sizes} numVectors="{len(lines)}">\n{"".join(lines)}'
        "</AlphaVector> </Policy>\n"
    )


def _undominated(part: Floats, actions: Ints) -> list[int]:
    """Vectors (K, Y) without repetitions and without those below one of the best on average."""
    _, first = np.unique(np.column_stack([part, actions]), axis=0, return_index=True)
    best = np.empty((min(len(first), RIVALS), part.shape[1]))
    kept: list[int] = []
    for k in first[np.argsort(-part[first].mean(axis=1), kind="stable")].tolist():
        if not (best[: len(kept)] >= part[k]).all(axis=1).any():
            best[len(kept) : len(kept) + 1] = part[k]
            kept.append(k)
    return sorted(kept)


def parse_policy(content: bytes, place: str, model: LinearModel) -> tuple[Floats, Ints]:
    """The vectors (K, n) and actions (K,) of a file's content; place: its name in messages."""
    document = parse_xml(content, place)
    if document.root.tag != "Policy":
        read = f"read <{shortened(document.root.tag)}>, expected <Policy>"
        raise document.error(document.root, read)
    if (kind := document.root.attributes.get("type", "value")) != "value":
        raise document.error(document.root, f"type: read {quoted(kind)}, expected 'value'")
    table = document.one(document.root, "AlphaVector")
    document.expect(table, "Vector", "SparseVector")
    states = layout(model)
    flat = len(states) == 1  # no variable is fully observed
    for attribute, size, what in (
        ("numObsValue", states.shape[0], "joint values of the fully observed variables"),
        ("vectorLength", states.shape[1], "states" if flat else "values of the hidden variables"),
    ):
        given = table.attributes.get(attribute, str(size)).strip()
        if given != str(size):
            read = f"{attribute}: read {quoted(given)}, but the model has {size} {what}"
            message = f"the policy is of another model: {read}"
            raise document.error(table, message)
    if not table.children:
        raise document.error(table, "the file has no vectors")
    by_action: dict[int, list[list[Floats]]] = {}  # action -> x -> vectors
    for element in table.children:
        action = _number(document, element, "action", len(model.actions))
        x = _number(document, element, "obsValue", len(states))
        by_x = by_action.setdefault(action, [[] for _ in states])
        by_x[x].append(_vector(document, element, states.shape[1]))
    needed = 8 * states.size * sum(max(map(len, by_x)) for by_x in by_action.values())
    document.allow(needed, "vectors over all states", table)
    values, actions = _over_states(by_action, states)
    return from_beliefs(model, values), actions


def _number(document: Document, element: Element, attribute: str, count: int) -> int:
    text = document.attribute(element, attribute)
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < count):
        message = f"{attribute}: read {quoted(text)}, expected a number from 0 to {count - 1}"
        raise document.error(element, message)
    return int(text)


def _vector(document: Document, element: Element, length: int) -> Floats:
    vector = np.zeros(length)
    if element.tag == "SparseVector":
        document.expect(element, "Entry")
        for entry in element.children:
            words = entry.words()
            at = words[0] if words else ""
            if len(words) != 2 or not at.isdecimal() or len(at) > 12 or int(at) >= length:
                message = f"<Entry>: expected a position from 0 to {length - 1} and a number"
                raise document.error(entry, message)
            vector[int(at)] = _coefficient(document, entry, words, 1)
        return vector
    words = element.words()
    if len(words) != length:
        raise document.error(element, f"read {len(words)} numbers, expected {length} per vector")
    for i in range(length):
        vector[i] = _coefficient(document, element, words, i)
    return vector


def _coefficient(document: Document, element: Element, words: list[str], at: int) -> float:
    try:
        value = float(words[at])
    except ValueError:
        value = float("nan")
    if not abs(value) <= LARGEST_VALUE:
        limits = f"from {-LARGEST_VALUE:.0e} to {LARGEST_VALUE:.0e}"
        raise document.error(element, f"read {quoted(words[at])}, expected a number {limits}", at)
    return value


def _over_states(by_action: dict[int, list[list[Floats]]], states: Ints) -> tuple[Floats, Ints]:
    """Vectors over all states and their actions; where a value x has too few vectors of an action,
    the last one is repeated, and where it has none, the part is below all other vectors there.
    """
    largest = max(float(np.abs(v).max()) for a in by_action.values() for x in a for v in x)
    nowhere = -(3 * largest + 1)
    rows: list[Floats] = []
    actions: list[int] = []
    for action, by_x in sorted(by_action.items()):
        for k in range(max(map(len, by_x))):
            row = np.full(states.size, nowhere)
            for x, vectors in enumerate(by_x):
                if vectors:
                    row[states[x]] = vectors[min(k, len(vectors) - 1)]
            rows.append(row)
            actions.append(action)
    return np.array(rows), np.array(actions, dtype=np.int64)
