"""Writer of POMDPX, for the SARSOP toolkit: files that read back as the same arrays and names.

The file has one state, one action, one observation and one reward variable. Rows are written with
`-`, or by their entries if they are sparse; `*` stands for rows that do not depend on the action or
the state. SARSOP's own reader knows `identity`, and `uniform` only for the start, so nothing else
is used. `write_pomdpx` returns notes on what the format does not hold; a model that it cannot
express is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from rpsr.errors import InputError
from rpsr.io.decimals import number
from rpsr.io.files import packed, write_bytes
from rpsr.io.records import Record, Rows
from rpsr.io.reward_lines import reward_patterns
from rpsr.io.row_texts import (
    is_uniform,
    lost_decimals,
    lost_descriptions,
    row_texts,
    unwritable,
)
from rpsr.io.xml_tree import parse_xml

DENSE_SHARE = 0.3  # an entry of its own takes more text than a number in a row
BEFORE, AFTER, ACTION, SENSOR, REWARD = "state_0", "state_1", "action", "observation", "reward"


def write_pomdpx(record: Record, path: str | Path) -> tuple[str, ...]:
    """Write a POMDPX file, completely or not at all; returns notes on losses.

    A name ending in `.gz` is compressed; `-` is standard output.
    """
    content = format_pomdpx(record).encode()
    write_bytes(path, packed(content, path))
    return tuple(_notes(record))


def format_pomdpx(record: Record) -> str:
    """The text of a POMDPX file."""
    if record.emission_by_edge:
        raise InputError(
            "observations depend on the state before the action, which POMDPX cannot express; "
            "write a .pomdp or .rpsr file"
        )
    if record.discount is None:
        raise InputError("the model has no discount, which POMDPX requires (--discount gives one)")
    return "".join(line + "\n" for line in _lines(record))


def _notes(record: Record) -> Iterator[str]:
    yield from lost_decimals(record)
    yield from lost_descriptions(record)
    if record.discount == 1:
        yield "the discount is 1, but the format's definition and SARSOP require less than 1"
    if record.resets.any():
        yield f"resets were written as ordinary rows of transitions: {int(record.resets.sum())}"
    if len(record.state_variables) > 1 or any(v.observed for v in record.state_variables):
        seen = [v.name for v in record.state_variables if v.observed]
        which = f" (fully observed: {', '.join(seen)})" if seen else ""
        count = len(record.state_variables)
        yield f"{count} state variables{which} were written as one variable, not fully observed"


def _lines(record: Record) -> Iterator[str]:
    assert record.discount is not None
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    schema = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    at = 'xsi:noNamespaceSchemaLocation="pomdpx.xsd"'
    yield f'<pomdpx version="1.0" id={quoteattr(record.name)} {schema} {at}>'
    yield f"<Discount>{number(record.discount)}</Discount>"
    yield "<Variable>"
    yield f'<StateVar vnamePrev="{BEFORE}" vnameCurr="{AFTER}" fullyObs="false">'
    yield f"{_names(record.states, 'states')}</StateVar>"
    yield f'<ObsVar vname="{SENSOR}">{_names(record.observations, "observations")}</ObsVar>'
    yield f'<ActionVar vname="{ACTION}">{_names(record.actions, "actions")}</ActionVar>'
    yield f'<RewardVar vname="{REWARD}"/>'
    yield "</Variable>"
    start = "uniform" if is_uniform(record.start, 0) else _full(record.start, 0)
    yield from _function("InitialStateBelief", "CondProb", BEFORE, "null", [("-", start)])
    for section, own, parent, rows in (
        ("StateTransitionFunction", AFTER, BEFORE, record.transition),
        ("ObsFunction", SENSOR, AFTER, record.emission),
    ):
        entries = _table(record, rows)
        yield from _function(section, "CondProb", own, f"{ACTION} {parent}", entries)
    patterns = list(reward_patterns(record))
    used = [i for i in range(4) if i == 0 or any(cell[i] != "*" for cell, _ in patterns)]
    parents = " ".join((ACTION, BEFORE, AFTER, SENSOR)[i] for i in used)
    rewards = ((" ".join(cell[i] for i in used), text) for cell, text in patterns)
    yield from _function("RewardFunction", "Func", REWARD, parents, rewards)
    yield "</pomdpx>"


def _function(
    section: str, tag: str, own: str, parents: str, entries: Iterable[tuple[str, str]]
) -> Iterator[str]:
    table = "ValueTable" if tag == "Func" else "ProbTable"
    yield f"<{section}><{tag}><Var>{own}</Var><Parent>{parents}</Parent><Parameter>"
    for instance, numbers in entries:
        yield f"<Entry><Instance>{escape(instance)}</Instance><{table}>{numbers}</{table}></Entry>"
    yield f"</Parameter></{tag}></{section}>"


def _names(names: tuple[str, ...], kind: str) -> str:
    """The values of a variable; refuses names that do not read back."""
    text = f"<ValueEnum>{' '.join(map(escape, names))}</ValueEnum>"
    try:
        read = parse_xml(text.encode(), kind).root.words()
    except (UnicodeEncodeError, InputError):  # a lone surrogate, a control character
        read = []
    if read != list(names) or not {"*", "-"}.isdisjoint(names):
        for name in names:
            if name.split() != [name] or name in ("*", "-") or not name.isprintable():
                raise unwritable(kind, name)
        raise InputError(f"{kind}: a name cannot be written in this format")
    return text


def _table(record: Record, rows: Rows) -> Iterator[tuple[str, str]]:
    """Rows a * S + s as entries, shared between actions or states where all of them agree."""
    n_states = len(record.states)
    columns = record.states if rows is record.transition else record.observations
    blocks = [
        tuple(_row(rows, a * n_states + s) for s in range(n_states))
        for a in range(len(record.actions))
    ]
    shared = len(set(blocks)) == 1
    for action, block in zip(("*",) if shared else record.actions, blocks, strict=False):
        if block == tuple(((s,), ("1",)) for s in range(n_states)) and rows.width == n_states:
            yield f"{action} - -", "identity"
            continue
        alike = len(set(block)) == 1
        for state, (places, texts) in zip(("*",) if alike else record.states, block, strict=False):
            if len(places) > DENSE_SHARE * rows.width:
                yield f"{action} {state} -", _filled(places, texts, rows.width)
            else:
                for place, text in zip(places, texts, strict=True):
                    yield f"{action} {state} {columns[place]}", text


def _row(rows: Rows, row: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    columns = rows.indices[rows.indptr[row] : rows.indptr[row + 1]].tolist()
    return tuple(columns), tuple(row_texts(rows, row))


def _full(rows: Rows, row: int) -> str:
    return _filled(*_row(rows, row), rows.width)


def _filled(columns: tuple[int, ...], texts: tuple[str, ...], width: int) -> str:
    """A row with its zeros."""
    line = ["0"] * width
    for column, text in zip(columns, texts, strict=True):
        line[column] = text
    return " ".join(line)
