"""Decision diagrams (`<Parameter type="DD">`): the leaves of a diagram as entries.

A `<Node>` tests a variable, its `<Edge>`s lead on by value, and a path ends in a `<Terminal>` or a
`<SubDAG>`: `deterministic` (1 for one value of a variable), `persistent` (1 where a state variable
keeps its value), `uniform` (1/n for each of its n values) or `template`, which stands for the
`<SubDAGTemplate>` of that name. Variables that a path does not test do not matter; values without
an edge have zero.

No variable is tested twice on a path, so that paths are disjoint: templates that contain templates
cannot make more entries than the function has cells, and the memory of entries is limited.
"""

from __future__ import annotations

from rpsr.io.pomdpx.entries import ONE, Collector
from rpsr.io.pomdpx.scope import Kind
from rpsr.io.statements import ANY
from rpsr.io.xml_tree import Document, Element
from rpsr.printable import quoted

_LEAVES = ("Node", "SubDAG", "Terminal")


def read_diagram(document: Document, parameter: Element, collector: Collector) -> None:
    """Collect the leaves of the `<DAG>` of a parameter."""
    document.expect(parameter, "DAG", "SubDAGTemplate")
    templates: dict[str, Element] = {}
    for element in parameter.all("SubDAGTemplate"):
        name = document.attribute(element, "id")
        if name in templates:
            raise document.error(element, f"the template {quoted(name)} is declared twice")
        templates[name] = element
    _Diagram(document, templates, collector).read(document.one(parameter, "DAG"))


class _Diagram:
    def __init__(
        self, document: Document, templates: dict[str, Element], collector: Collector
    ) -> None:
        self.document = document
        self.templates = templates
        self.collector = collector
        self.positions = {axis.identifier: i for i, axis in enumerate(collector.axes)}

    def read(self, dag: Element) -> None:
        """Follow every path: a stack, not recursion, because a file may nest thousands deep."""
        untested = (ANY,) * len(self.collector.axes)
        stack: list[tuple[Element, tuple[int, ...]]] = [(self._content(dag), untested)]
        while stack:
            element, tested = stack.pop()
            if element.tag == "Terminal":
                words = self.collector.numbers.read(self.document, element)
                if len(words) != 1:
                    message = f"<Terminal> has {len(words)} numbers, expected one"
                    raise self.document.error(element, message)
                self.collector.add(element, tested, words[0])
            elif element.tag == "SubDAG" and element.attributes.get("type") != "template":
                self._leaf(element, tested)
            elif element.tag == "SubDAG":
                stack.append((self._template(element), tested))
            else:
                stack += self._edges(element, tested)

    def _content(self, element: Element) -> Element:
        """The only child of an edge, a template or a diagram."""
        self.document.expect(element, *_LEAVES)
        if len(element.children) != 1:
            read = f"<{element.tag}> has {len(element.children)} children"
            raise self.document.error(element, f"{read}, expected one node or terminal")
        return element.children[0]

    def _axis(self, element: Element, tested: tuple[int, ...]) -> int:
        """The axis of an element's variable, which no node before has tested."""
        name = self.document.attribute(element, "var")
        position = self.positions.get(name)
        if position is None:
            expected = f"expected one of {', '.join(self.positions)}"
            raise self.document.error(element, f"var: read {quoted(name)}, {expected}")
        if tested[position] != ANY:
            message = f"the variable {quoted(name)} occurs twice on the path to here, expected once"
            raise self.document.error(element, message)
        return position

    def _value(self, element: Element, position: int) -> int:
        word = self.document.attribute(element, "val")
        axis = self.collector.axes[position]
        value = axis.find(word)
        if value is None:
            message = f"val: read {quoted(word)}, expected a value of {axis.identifier}"
            raise self.document.error(element, message)
        return value

    def _edges(
        self, node: Element, tested: tuple[int, ...]
    ) -> list[tuple[Element, tuple[int, ...]]]:
        self.document.expect(node, "Edge")
        position = self._axis(node, tested)
        seen: dict[int, Element] = {}
        for edge in node.children:
            value = self._value(edge, position)
            if value in seen:
                value_shown = quoted(edge.attributes["val"])
                message = f"a second edge for the value {value_shown}, expected one per value"
                raise self.document.error(edge, message)
            seen[value] = edge
        return [
            (self._content(edge), (*tested[:position], value, *tested[position + 1 :]))
            for value, edge in seen.items()
        ]

    def _template(self, element: Element) -> Element:
        """The diagram behind a reference to a template; chains of references are followed."""
        followed: set[str] = set()
        while element.tag == "SubDAG" and element.attributes.get("type") == "template":
            name = self.document.attribute(element, "idref")
            if name not in self.templates:
                raise self.document.error(element, f"no template {quoted(name)} is declared")
            if name in followed:
                raise self.document.error(element, f"the template {quoted(name)} contains itself")
            followed.add(name)
            element = self._content(self.templates[name])
        return element

    def _leaf(self, element: Element, tested: tuple[int, ...]) -> None:
        """The entries of a `<SubDAG>` other than a template."""
        kind = self.document.attribute(element, "type")
        collector, position = self.collector, self._axis(element, tested)
        axis = collector.axes[position]

        def add(values: dict[int, int], word: int) -> None:
            pattern = tuple(values.get(i, value) for i, value in enumerate(tested))
            collector.add(element, pattern, word)

        if kind == "deterministic":
            add({position: self._value(element, position)}, ONE)
        elif kind == "uniform":
            add({}, collector.numbers.share(axis.size))
        elif kind == "persistent":
            before = next(
                (
                    i
                    for i, other in enumerate(collector.axes)
                    if other.kind is Kind.STATE and other.number == axis.number
                ),
                None,
            )
            if before is None or axis.kind is not Kind.NEXT:
                message = f"'persistent' needs the previous value of {axis.identifier} as a parent"
                raise self.document.error(element, message)
            known = tested[before]
            for value in range(axis.size) if known == ANY else [known]:
                add({position: value, before: value}, ONE)
        else:
            expected = "expected deterministic, persistent, uniform or template"
            raise self.document.error(element, f"type: read {quoted(kind)}, {expected}")
