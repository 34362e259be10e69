"""Random `.pomdp` texts: every statement form, wildcards, overrides, and careless layout."""

from dataclasses import dataclass
from itertools import chain, pairwise

from hypothesis import strategies as st

NAMES = (
    "a",
    "b2",
    "T",
    "R",
    "O",
    "OO",
    "start",
    "uniform",
    "reset",
    "states",
    "left-1",
    "x.y",
    "é",
)
PROBABILITIES = ("0", ".5", "0.25", "1.", "1e-1", "5E-1", "+.75", "0.333333", "1", "0.100", "3e-13")
REWARDS = ("0", "-1", "+3", "- 5", "2.5e1", ".125", "1E-3", "-0", "100", "+ .5")
GAPS = (" ", "  ", "\t", "\n", "\r\n", " # a comment: T : a \n", "\n\n#\n")


@dataclass(frozen=True)
class Text:
    """A file's text, and how it was put together."""

    tokens: tuple[str, ...]
    content: str


@st.composite
def axis(draw: st.DrawFn, most: int) -> tuple[list[str], list[str]]:
    """The tokens that declare one kind of thing, and those that may then stand for one of them."""
    count = draw(st.integers(1, most))
    indices = [str(i) for i in range(count)]
    if draw(st.booleans()):
        return [str(count)], indices
    names = draw(st.lists(st.sampled_from(NAMES), min_size=count, max_size=count, unique=True))
    return names, names + indices


@st.composite
def starts(draw: st.DrawFn, states: list[str], size: int) -> list[str]:
    """A `start` statement of any form, or none."""
    form = draw(st.sampled_from(["none", "uniform", "one", "include", "exclude", "vector"]))
    chosen = draw(st.lists(st.sampled_from(states), min_size=1, max_size=2))
    if form == "exclude" and size <= len(chosen):
        form = "include"
    match form:
        case "none":
            return []
        case "uniform":
            return ["start", ":", "uniform"]
        case "one" if chosen[0] != "uniform" and size > 1:
            return ["start", ":", chosen[0]]
        case "include" | "exclude":
            return ["start", form, ":", *chosen]
        case _:
            cuts = draw(st.lists(st.integers(0, 20), min_size=size - 1, max_size=size - 1))
            ends = [0, *sorted(cuts), 20]
            steps = [f"{(high - low) / 20:.2f}" for low, high in pairwise(ends)]
            return ["start", ":", *steps]


@st.composite
def statement(
    draw: st.DrawFn,
    keyword: str,
    axes: list[tuple[list[str], int]],
    given: st.SearchStrategy[int],
    numbers: tuple[str, ...],
    words: dict[str, tuple[int, ...]],
) -> list[str]:
    """One statement of a table: any form, `*` anywhere.

    axes: for each index, the tokens that may stand for it and the size; given: how many there are;
    words: by keyword, the numbers of indices that it goes with.
    """
    count = draw(given)
    tokens = [keyword]
    for labels, _ in axes[:count]:
        tokens += [":", draw(st.sampled_from(["*", "*", *labels]))]
    fitting = [word for word, counts in words.items() if count in counts]
    if fitting and draw(st.booleans()):
        return [*tokens, draw(st.sampled_from(fitting))]
    needed = 1
    for _, size in axes[count:]:
        needed *= size
    return tokens + [draw(st.sampled_from(numbers)) for _ in range(needed)]


@st.composite
def texts(draw: st.DrawFn) -> Text:
    """A whole file. Its rows may have any sum, zero too; everything else about it is right."""
    states, state = draw(axis(3))
    actions, action = draw(axis(2))
    observations, observation = draw(axis(3))
    S, A, O = (
        (labels, 1 if names == ["1"] else int(names[0]) if names[0].isdigit() else len(names))
        for names, labels in ((states, state), (actions, action), (observations, observation))
    )
    preamble = [
        ["states", ":", *states],
        ["actions", ":", *actions],
        ["observations", ":", *observations],
        draw(st.sampled_from([[], ["discount", ":", "0.95"], ["discount", ":", "1"]])),
        draw(st.sampled_from([[], ["values", ":", "reward"], ["values", ":", "cost"]])),
        draw(starts(state, S[1])),
    ]
    moves = {"uniform": (1, 2), "reset": (1, 2), "identity": (1,)}
    tables = st.one_of(
        statement("T", [A, S, S], st.integers(1, 3), PROBABILITIES, moves),
        statement("O", [A, S, O], st.integers(1, 3), PROBABILITIES, {"uniform": (1, 2)}),
        statement("R", [A, S, S, O], st.integers(2, 4), REWARDS, {}),
    )
    body = draw(st.lists(tables, max_size=8))
    if draw(st.integers(0, 9)):  # most files give every row
        whole = [["T", ":", "*", "uniform"], ["O", ":", "*", "uniform"]]
        body = whole + body
    edge_rows = statement("OO", [A, S, S, O], st.just(3), PROBABILITIES, {"uniform": (3,)})
    last = draw(st.one_of(st.just([]), st.lists(edge_rows, max_size=3)))
    tokens = [*chain(*draw(st.permutations(preamble)), *body, *last)]
    gaps = draw(st.lists(st.sampled_from(GAPS), min_size=8, max_size=8))
    content = "".join(token + gaps[i % len(gaps)] for i, token in enumerate(tokens))
    if draw(st.booleans()):
        content = content.replace(" : ", ":")
    return Text(tuple(tokens), content)
