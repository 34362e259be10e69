"""Reader of POMDPX, the XML format of the SARSOP toolkit: a factored file becomes a flat POMDP.

States, actions and observations are the joint values of the file's variables. A fully observed
state variable becomes part of the observation: after an action, the agent observes its new value
beside the values of the observation variables. Which variables are fully observed stays in
`Record.state_variables`.

Reference: POMDPX file format, version 1.0, of the SARSOP toolkit; S. C. W. Ong, S. W. Png, D. Hsu
and W. S. Lee, Planning under uncertainty for robotic tasks with mixed observability, 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from rpsr.io.pomdpx.entries import Numbers
from rpsr.io.pomdpx.factors import Factor, ParentValues, Product, join, read_factor, rows_of
from rpsr.io.pomdpx.parameters import Table, read_parameter
from rpsr.io.pomdpx.rewards import read_rewards
from rpsr.io.pomdpx.scope import NO_PARENT, Axis, Kind, Scope, read_scope
from rpsr.io.records import Dynamics, Ints, Record, Rows
from rpsr.io.tokens import parse_decimal
from rpsr.io.variables import Space, Variable
from rpsr.io.weights import rescaling_warning
from rpsr.io.xml_tree import Document, Element, parse_xml
from rpsr.printable import quoted

OUTCOME_BYTES = 64  # of memory per transition or observation that is possible
_PARENTS = {  # what the functions of each section may depend on
    "InitialStateBelief": (Kind.STATE,),
    "StateTransitionFunction": (Kind.ACTION, Kind.STATE, Kind.NEXT),
    "ObsFunction": (Kind.ACTION, Kind.NEXT),
    "RewardFunction": (Kind.ACTION, Kind.STATE, Kind.NEXT, Kind.OBSERVATION),
}
_TARGETS = {
    "InitialStateBelief": Kind.STATE,
    "StateTransitionFunction": Kind.NEXT,
    "ObsFunction": Kind.OBSERVATION,
    "RewardFunction": Kind.REWARD,
}
_PRODUCTS = {"StateTransitionFunction": "transitions", "ObsFunction": "observations"}
_OTHERS = ("Description", "Discount", "Variable", "TerminalStateRewardFunction")


def parse_pomdpx(
    text: bytes, *, place: str, name: str, normalize: bool = False, size: int | None = None
) -> Record:
    """Read a POMDPX text. `normalize` accepts rows of any positive sum and rescales them.

    size: bytes of the file itself, if the text was compressed.
    """
    return _Reader(parse_xml(text, place, size), normalize).read(name)


class _Reader:
    """One pass over one file: variables, functions, then their products."""

    def __init__(self, document: Document, normalize: bool) -> None:
        root = document.root
        if root.tag != "pomdpx":
            raise document.error(root, f"read <{quoted(root.tag)[1:-1]}>, expected <pomdpx>")
        document.expect(root, *_PARENTS, *_OTHERS)
        self.document = document
        self.normalize = normalize
        self.discount = _discount(document)
        self.scope: Scope = read_scope(document)
        self.numbers = Numbers()
        self._check_size()
        self.states = np.arange(self.scope.states.size, dtype=np.int64)
        self.digits = [self.scope.states.digit(self.states, i) for i in range(len(self._variables))]
        self.tables = {section: self._tables(section) for section in _PARENTS}
        for section in _PARENTS:
            if section != "RewardFunction":
                self.tables[section] = self._ordered(section)
        self.deviations: list[float] = []  # of the rows that were rescaled

    @property
    def _variables(self) -> tuple[Variable, ...]:
        return self.scope.states.variables

    def read(self, name: str) -> Record:
        scope = self.scope
        start, transition, emission = self._start(), self._transition(), self._emission()
        process = Dynamics(transition, emission, False)
        tables = self.tables["RewardFunction"]
        return Record(
            name=name,
            states=scope.names(scope.states),
            actions=scope.names(scope.actions),
            observations=scope.names(scope.observations),
            discount=self.discount,
            start=start,
            transition=transition,
            emission=emission,
            emission_by_edge=False,
            rewards=read_rewards(self.document, tables, scope, self.numbers, process),
            resets=np.zeros((scope.actions.size, scope.states.size), dtype=np.bool_),
            warnings=self._warnings(start),
            state_variables=self._variables,
        )

    # ---- functions

    def _check_size(self) -> None:
        """Refuse what cannot fit before anything of that size is allocated."""
        scope, at = self.scope, self.document.one(self.document.root, "Variable")
        for space, what in (
            (scope.states, "states"),
            (scope.actions, "actions"),
            (scope.observations, "observations"),
        ):
            self.document.allow(space.name_bytes(), f"{space.size:,} {what}", at)
        rows = scope.states.size * scope.actions.size
        self.document.allow(2 * OUTCOME_BYTES * rows, f"{rows:,} pairs of state and action", at)

    def _tables(self, section: str) -> list[Table]:
        sections = self.document.root.all(section)
        if len(sections) > 1:
            raise self.document.error(sections[1], f"a second <{section}>, expected one")
        function = "Func" if section == "RewardFunction" else "CondProb"
        if not sections:
            return []
        self.document.expect(sections[0], function)
        tables = [self._table(section, element) for element in sections[0].children]
        seen: set[str] = set()
        for element in sections[0].children:
            for name in self.document.one(element, "Var").words():
                if name in seen:
                    message = f"a second function of {quoted(name)}, expected one"
                    raise self.document.error(element, message)
                seen.add(name)
        return tables

    def _table(self, section: str, function: Element) -> Table:
        self.document.expect(function, "Var", "Parent", "Parameter")
        own = self._axes(self.document.one(function, "Var"), (_TARGETS[section],))
        if not own:
            raise self.document.error(function, "<Var> is empty, expected a variable")
        if section == "RewardFunction":
            if len(own) > 1:
                message = f"<Var> has {len(own)} reward variables, expected one"
                raise self.document.error(function, message)
            own = ()
        parent = self.document.one(function, "Parent")
        words = parent.words()
        parents = () if words in ([], [NO_PARENT]) else self._axes(parent, _PARENTS[section])
        if len({axis.identifier for axis in parents + own}) < len(parents + own):
            raise self.document.error(function, "a variable occurs twice in <Var> and <Parent>")
        return read_parameter(self.document, function, parents + own, len(own), self.numbers)

    def _axes(self, element: Element, kinds: tuple[Kind, ...]) -> tuple[Axis, ...]:
        axes: list[Axis] = []
        for number, word in enumerate(element.words()):
            axis = self.scope.axes.get(word)
            if axis is None or axis.kind not in kinds:
                read = "which is not declared" if axis is None else f"{axis.kind.value}"
                expected = " or ".join(kind.value for kind in kinds)
                message = f"<{element.tag}>: read {quoted(word)}, {read}, expected {expected}"
                raise self.document.error(element, message, number)
            axes.append(axis)
        return tuple(axes)

    def _ordered(self, section: str) -> list[Table]:
        """The tables of a section, one for each variable, each after those its parents are from."""
        kind, tables = _TARGETS[section], self.tables[section]
        given = {axis.identifier for table in tables for axis in _targets(table)}
        needed = [axis for axis in self.scope.axes.values() if axis.kind is kind]
        if missing := [axis for axis in needed if axis.identifier not in given]:
            without = section == "InitialStateBelief" and not tables
            if without and all(axis.variable.observed for axis in missing):
                return []
            at = (self.document.root.all(section) or [self.document.root])[0]
            message = f"<{section}> has no function of {missing[0].identifier}, expected one"
            raise self.document.error(at, message)
        ordered: list[Table] = []
        done: set[str] = set()
        waiting = tables
        while waiting:
            blocked: list[Table] = []
            for table in waiting:
                if all(p.kind is not kind or p.identifier in done for p in table.parents):
                    ordered.append(table)
                    done |= {axis.identifier for axis in _targets(table)}
                else:
                    blocked.append(table)
            if len(blocked) == len(waiting):
                message = f"the variables of <{section}> are parents of each other in a cycle"
                raise self.document.error(waiting[0].function, message)
            waiting = blocked
        return ordered

    def _factors(self, section: str, action: int) -> list[Factor]:
        """The factors of a section under one joint action."""
        factors: list[Factor] = []
        for table in self.tables[section]:
            reduced = table.at(action, self.scope.actions)
            factors.append(read_factor(self.document, reduced, self.numbers, self.normalize))
            self.deviations += factors[-1].sums.deviations()
        return factors

    # ---- products

    def _start(self) -> Rows:
        factors, space = self._factors("InitialStateBelief", 0), self.scope.states
        if not factors:  # all variables are fully observed, and the file gives no start
            chances = np.full(space.size, 1 / space.size)
            ones, unprinted = np.ones(space.size, dtype=np.int64), np.array([-1])
            everywhere = np.array([0, space.size])
            return Rows(space.size, everywhere, self.states, chances, ones, unprinted)

        def values(axis: Axis, row: Ints, column: Ints) -> Ints:
            return self.digits[axis.number][column]

        allow, first = self._allowing("start states"), np.zeros(1, dtype=np.int64)
        return rows_of([join(factors, space, first, values, allow)], space.size)

    def _transition(self) -> Rows:
        nowhere = np.zeros(self.scope.states.size, dtype=np.int64)

        def values(axis: Axis, row: Ints, column: Ints) -> Ints:
            return self.digits[axis.number][row if axis.kind is Kind.STATE else column]

        space = self.scope.states
        return self._by_action("StateTransitionFunction", space, nowhere, values, space.size)

    def _emission(self) -> Rows:
        def values(axis: Axis, row: Ints, column: Ints) -> Ints:
            return self.digits[axis.number][row]

        # The fully observed part varies most slowly; the sensors come after it.
        space, scope = self.scope.sensors, self.scope
        seen = scope.states.part(self.states, scope.observed) * space.size
        return self._by_action("ObsFunction", space, seen, values, scope.observations.size)

    def _by_action(
        self, section: str, space: Space, first: Ints, values: ParentValues, width: int
    ) -> Rows:
        """Rows a * S + s: the product of a section's factors, action by action."""
        allow, products, had = self._allowing(_PRODUCTS[section]), list[Product](), 0
        for action in range(self.scope.actions.size):
            factors = self._factors(section, action)
            product = join(factors, space, first, values, lambda more, had=had: allow(had + more))
            products.append(product)
            had += len(product.columns)
        return rows_of(products, width)

    def _allowing(self, what: str) -> Callable[[int], None]:
        """Refuses more entries of a product than a file of this size may have."""

        def allow(entries: int) -> None:
            cause = f"at least {entries:,} {what}"
            self.document.allow(OUTCOME_BYTES * entries, cause, self.document.root)

        return allow

    # ---- warnings

    def _warnings(self, start: Rows) -> tuple[str, ...]:
        scope, warnings = self.scope, list(rescaling_warning(self.deviations))
        if not self.tables["InitialStateBelief"]:
            warnings.append("the file has no <InitialStateBelief>: a uniform start was assumed")
        seen = scope.states.part(start.indices, scope.observed)
        if len(np.unique(seen)) > 1:
            warnings.append(
                "the fully observed variables are random at the start: SARSOP observes them before "
                "the first action, this POMDP only after it"
            )
        if scope.ignored or self.document.root.all("TerminalStateRewardFunction"):
            warnings.append("rewards of terminal states were ignored, as SARSOP ignores them")
        return tuple(warnings)


def _targets(table: Table) -> tuple[Axis, ...]:
    return table.axes[len(table.parents) :]


def _discount(document: Document) -> Fraction:
    element = document.one(document.root, "Discount")
    text = element.text.strip()
    decimal = parse_decimal(text.encode("utf-8", "replace"))
    discount = None if decimal is None else Fraction(decimal[0], 10 ** decimal[1])
    if discount is None or not 0 <= discount <= 1:
        message = f"<Discount>: read {quoted(text)}, expected a number in [0, 1]"
        raise document.error(element, message, 0)
    return discount
