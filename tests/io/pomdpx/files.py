"""POMDPX texts for tests: a rover beside a rock, as tables and as diagrams, and random files."""

from __future__ import annotations

from random import Random

HEAD = """<?xml version="1.0" encoding="ISO-8859-1"?>
<pomdpx version="1.0" id="rover">
  <Description>A rover, a rock and an exit.</Description>
  <Discount>0.95</Discount>
  <Variable>
    <StateVar vnamePrev="rover_0" vnameCurr="rover_1" fullyObs="true">
      <NumValues>3</NumValues>
    </StateVar>
    <StateVar vnamePrev="rock_0" vnameCurr="rock_1"><ValueEnum>good bad</ValueEnum></StateVar>
    <ObsVar vname="sensor"><ValueEnum>ogood obad</ValueEnum></ObsVar>
    <ActionVar vname="act"><ValueEnum>west east check sample</ValueEnum></ActionVar>
    <RewardVar vname="gain"/>
  </Variable>
"""


def entries(*pairs: tuple[str, str], table: str = "ProbTable") -> str:
    """A table of entries."""
    return (
        '<Parameter type="TBL">'
        + "".join(
            f"<Entry><Instance>{instance}</Instance><{table}>{numbers}</{table}></Entry>\n"
            for instance, numbers in pairs
        )
        + "</Parameter>"
    )


def function(tag: str, var: str, parents: str, parameter: str) -> str:
    """A <CondProb> or a <Func>."""
    return f"<{tag}><Var>{var}</Var><Parent>{parents}</Parent>\n{parameter}</{tag}>\n"


def section(tag: str, *functions: str) -> str:
    """A section of functions."""
    return f"<{tag}>\n{''.join(functions)}</{tag}>\n"


START = section(
    "InitialStateBelief",
    function("CondProb", "rover_0", "null", entries(("-", "0.0 1.0 0.0"))),
    function("CondProb", "rock_0", "null", entries(("-", "uniform"))),
)
MOVES = section(
    "StateTransitionFunction",
    function(
        "CondProb",
        "rover_1",
        "act rover_0",
        entries(
            ("* s2 s2", "1.0"),
            ("west s0 s2", "1.0"),
            ("west s1 s0", "1.0"),
            ("east s0 s1", "1.0"),
            ("east s1 s2", "1.0"),
            ("check - -", "identity"),
            ("sample s0 s0", "1.0"),
            ("sample s1 s2", "1.0"),
        ),
    ),
    function(
        "CondProb",
        "rock_1",
        "act rover_0 rock_0",
        entries(
            ("* * - -", "identity"),
            ("west * - -", "1.0 0.0 0.0 1.0"),
            ("sample s0 * -", "0.0 1.0"),
        ),
    ),
)
SIGHT = section(
    "ObsFunction",
    function(
        "CondProb",
        "sensor",
        "act rover_1 rock_1",
        entries(
            ("* * * -", "1.0 0.0"),
            ("check s0 - -", "1.0 0.0 0.0 1.0"),
            ("check s1 - -", "0.8 0.2 0.2 0.8"),
            ("check s2 - -", "0.8 0.2 0.2 0.8"),
        ),
    ),
)
GAINS = section(
    "RewardFunction",
    function(
        "Func",
        "gain",
        "act rover_0 rock_0",
        entries(
            ("west s0 *", "-100"),
            ("east s1 *", "10"),
            ("sample s1 *", "-100"),
            ("sample s0 good", "10"),
            ("sample s0 bad", "-10"),
            table="ValueTable",
        ),
    ),
)
ROVER = HEAD + START + MOVES + SIGHT + GAINS + "</pomdpx>\n"


def node(var: str, **edges: str) -> str:
    """A node with an edge for each value."""
    inner = "".join(f'<Edge val="{value}">{rest}</Edge>\n' for value, rest in edges.items())
    return f'<Node var="{var}">\n{inner}</Node>'


def leaf(kind: str, var: str, val: str = "") -> str:
    """A <SubDAG>."""
    return f'<SubDAG type="{kind}" var="{var}"' + (f' val="{val}"/>' if val else "/>")


def terminal(number: str) -> str:
    """A <Terminal>."""
    return f"<Terminal>{number}</Terminal>"


def diagram(dag: str, **templates: str) -> str:
    """A decision diagram."""
    named = "".join(f'<SubDAGTemplate id="{k}">{v}</SubDAGTemplate>' for k, v in templates.items())
    return f'<Parameter type="DD"><DAG>{dag}</DAG>{named}</Parameter>'


def _sure(value: str) -> str:
    return leaf("deterministic", "rover_1", value)


_ROCK = node(
    "rock_1",
    good=node("sensor", ogood=terminal("0.8"), obad=terminal("0.2")),
    bad=node("sensor", ogood=terminal("0.2"), obad=terminal("0.8")),
)
_TEMPLATE = '<SubDAG type="template" idref="noisy"/>'
_OGOOD = leaf("deterministic", "sensor", "ogood")
_KEPT = leaf("persistent", "rock_1")
DIAGRAMS = (
    HEAD
    + section(
        "InitialStateBelief",
        function(
            "CondProb",
            "rover_0 rock_0",
            "null",
            diagram(node("rover_0", s0=terminal("0.0"), s1=leaf("uniform", "rock_0"))),
        ),
    )
    + section(
        "RewardFunction",
        function(
            "Func",
            "gain",
            "act rover_0 rock_0",
            diagram(
                node(
                    "act",
                    west=node("rover_0", s0=terminal("-100.0"), s1=terminal("0.0")),
                    east=node("rover_0", s1=terminal("10")),
                    sample=node(
                        "rover_0",
                        s0=node("rock_0", good=terminal("10"), bad=terminal("-10")),
                        s1=terminal("-100"),
                    ),
                )
            ),
        ),
    )
    + section(
        "ObsFunction",
        function(
            "CondProb",
            "sensor",
            "act rover_1 rock_1",
            diagram(
                node(
                    "act",
                    west=_OGOOD,
                    east=_OGOOD,
                    sample=_OGOOD,
                    check=node(
                        "rover_1",
                        s0=node("rock_1", good=_OGOOD, bad=leaf("deterministic", "sensor", "obad")),
                        s1=_TEMPLATE,
                        s2=_TEMPLATE,
                    ),
                ),
                noisy=_ROCK,
            ),
        ),
    )
    + section(
        "StateTransitionFunction",
        function(
            "CondProb",
            "rover_1",
            "act rover_0",
            diagram(
                node(
                    "act",
                    west=node("rover_0", s0=_sure("s2"), s1=_sure("s0"), s2=_sure("s2")),
                    east=node("rover_0", s0=_sure("s1"), s1=_sure("s2"), s2=_sure("s2")),
                    check=leaf("persistent", "rover_1"),
                    sample=node("rover_0", s0=_sure("s0"), s1=_sure("s2"), s2=_sure("s2")),
                )
            ),
        ),
        function(
            "CondProb",
            "rock_1",
            "act rover_0 rock_0",
            diagram(
                node(
                    "act",
                    west=_KEPT,
                    east=_KEPT,
                    check=_KEPT,
                    sample=node(
                        "rover_0", s0=leaf("deterministic", "rock_1", "bad"), s1=_KEPT, s2=_KEPT
                    ),
                )
            ),
        ),
    )
    + "</pomdpx>\n"
)

# ---- random files

_ROWS = {
    1: ["1"],
    2: ["0.5 0.5", "1 0", ".25 0.75", "1e-1 0.9"],
    3: ["0.2 .3 0.5", "0 1 0", "0.333333 0.333333 0.333333"],
}


def random_file(seed: int) -> str:
    """A small file with random variables, parents, wildcards, keywords and overrides."""
    rng = Random(seed)
    names = {
        kind: [f"{kind}{i}" for i in range(rng.randint(least, most))]
        for kind, least, most in (("x", 1, 3), ("act", 1, 2), ("see", 0, 2), ("gain", 1, 2))
    }
    size = {n: rng.randint(1, 3) for kind in ("x", "act", "see") for n in names[kind]}
    observed = {name: rng.random() < 0.4 for name in names["x"]}
    letters = {"x": "s", "act": "a", "see": "o"}

    def values(name: str) -> list[str]:
        letter = letters[name.rstrip("0123456789")]
        return [f"{letter}{i}" for i in range(size[name])]

    def declared(name: str) -> str:
        if rng.random() < 0.5:
            return f"<NumValues>{size[name]}</NumValues>"
        return f"<ValueEnum> {' '.join(values(name))}\n</ValueEnum>"

    text = "<pomdpx version='1.0'><Discount>.9</Discount><Variable>\n"
    for name in names["x"]:
        full = ' fullyObs="true"' if observed[name] else ""
        names_of = f'vnamePrev="{name}_0" vnameCurr="{name}_1"'
        text += f"<StateVar {names_of}{full}>{declared(name)}</StateVar>\n"
    for kind, tag in (("act", "ActionVar"), ("see", "ObsVar")):
        for name in names[kind]:
            text += f'<{tag} vname="{name}">{declared(name)}</{tag}>\n'
    text += "".join(f'<RewardVar vname="{name}"/>' for name in names["gain"]) + "</Variable>\n"

    base = {f"{n}_{t}": n for n in names["x"] for t in (0, 1)} | {
        n: n for kind in ("act", "see") for n in names[kind]
    }

    def pick(candidates: list[str]) -> list[str]:
        chosen = [c for c in candidates if rng.random() < 0.6]
        rng.shuffle(chosen)
        return chosen

    def row(n: int) -> str:
        return rng.choice(_ROWS[n])

    def conditional(own: str, parents: list[str]) -> str:
        n = size[base[own]]
        pairs = [(" ".join(["*"] * len(parents) + ["-"]), row(n))]
        for _ in range(rng.randint(0, 3)):
            words = [rng.choice(["*", *values(base[p])]) for p in parents]
            like = [i for i, p in enumerate(parents) if size[base[p]] == n]
            if like and rng.random() < 0.4:
                words[rng.choice(like)] = "-"
                pairs.append((" ".join([*words, "-"]), "identity"))
            elif parents and rng.random() < 0.3:
                words[rng.randrange(len(parents))] = "-"
                rows = 1
                for word, p in zip(words, parents, strict=True):
                    rows *= size[base[p]] if word == "-" else 1
                pairs.append((" ".join([*words, "-"]), " ".join(row(n) for _ in range(rows))))
            elif rng.random() < 0.3:
                pairs.append((" ".join([*words, rng.choice("*-")]), "uniform"))
            else:
                pairs.append((" ".join([*words, "-"]), row(n)))
        return function("CondProb", own, " ".join(parents) or "null", entries(*pairs))

    before = [f"{n}_0" for n in names["x"]]
    after = [f"{n}_1" for n in names["x"]]
    free = [n for n in after if observed[base[n]]]  # may be parents of the others
    start, moves = [], []
    for name in names["x"]:
        seen = [] if observed[name] else [f"{base[n]}_0" for n in free]
        start.append(conditional(f"{name}_0", pick(seen)))
        now = [] if observed[name] else free
        moves.append(conditional(f"{name}_1", pick(names["act"] + before + now)))
    emissions = [conditional(name, pick(names["act"] + after)) for name in names["see"]]
    gains = []
    for name in names["gain"]:
        parents = pick(names["act"] + before + (after + names["see"] if rng.random() < 0.6 else []))
        pairs = []
        for _ in range(rng.randint(0, 4)):
            words = [rng.choice(["*", *values(base[p])]) for p in parents]
            count = 1
            if parents and rng.random() < 0.4:
                at = rng.randrange(len(parents))
                words[at], count = "-", size[base[parents[at]]]
            numbers = [rng.choice(["0", "-1", "2.5", "1e1", ".125"]) for _ in range(count)]
            if parents:
                pairs.append((" ".join(words), " ".join(numbers)))
        gains.append(
            function("Func", name, " ".join(parents) or "null", entries(*pairs, table="ValueTable"))
        )
    for functions in (start, moves):
        rng.shuffle(functions)
    text += section("InitialStateBelief", *start) + section("StateTransitionFunction", *moves)
    text += section("ObsFunction", *emissions) if emissions else ""
    return text + section("RewardFunction", *gains) + "</pomdpx>"
