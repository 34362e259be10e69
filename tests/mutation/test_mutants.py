"""The mutants that the mutation tester makes."""

import pytest
from tests.mutation.mutants import count, mutant


def mutants(text):
    return [mutant(text, number) for number in range(count(text))]


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("x = a < b", [("a < b", "a <= b")]),
        ("x += 1", [("x += 1", "x -= 1"), ("1", "2")]),
        ("x = a and not b", [("a and (not b)", "a or not b"), ("not b", "+b")]),
        ("x = max(a, 2.0)", [("max(a, 2.0)", "min(a, 2.0)"), ("2.0", "4.0")]),
        ("y = 1 if ok else 2", [("ok", "True"), ("ok", "False"), ("1", "2"), ("2", "3")]),
        ('"""A text of 3 words."""\nx: int = 0', [("0", "1")]),
        ("def f(a: 'x < 3') -> 'b':\n    raise ValueError(f'{a + 1}')", []),
        ("if TYPE_CHECKING:\n    x = 1", []),
    ],
)
def test_the_faults_that_a_text_can_have(text, changes):
    assert [(made.before, made.after) for made in mutants(text)] == changes


def test_a_condition_is_made_to_hold_always_and_never():
    always, never, *_ = mutants("if a < b:\n    x = c")
    assert (always.text, never.text) == ("if True:\n    x = c", "if False:\n    x = c")


def test_a_mutant_has_the_line_of_its_fault_and_changes_nothing_else():
    (made,) = mutants("a = b\n\nc = d + e\n")
    assert (made.line, made.text) == (3, "a = b\nc = d - e")
