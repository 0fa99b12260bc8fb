"""Three truth values: SQL's tables, and what a NULL does to each operator."""

from itertools import product

import pytest

from siftcast.model import Filter

VALUES = {"TRUE": True, "FALSE": False, "NULL": None}
AND = {
    (True, True): True, (True, False): False, (True, None): None,
    (False, False): False, (False, None): False, (None, None): None,
}  # fmt: skip
OR = {
    (True, True): True, (True, False): True, (True, None): True,
    (False, False): False, (False, None): None, (None, None): None,
}  # fmt: skip


@pytest.mark.parametrize(("left", "right"), list(product(VALUES, repeat=2)))
@pytest.mark.parametrize(("word", "table"), [("AND", AND), ("OR", OR)], ids=["AND", "OR"])
def test_connective_follows_its_truth_table(left, right, word, table):
    pair = VALUES[left], VALUES[right]
    expected = table[pair] if pair in table else table[pair[::-1]]
    by_literals = Filter.parse(f"{left} {word} {right}")
    by_attributes = Filter.parse(f"a {word} b")
    event = dict(zip("ab", pair, strict=True))
    assert by_literals.expression.evaluate({}) is expected
    assert by_attributes.expression.evaluate(event) is expected
    assert by_attributes.matches(event) is (expected is True)
    assert (~by_attributes).matches(event) is (expected is False)


@pytest.mark.parametrize(("text", "truth"), [("NOT TRUE", False), ("NOT FALSE", True), ("NOT NULL", None)])
def test_not_follows_its_truth_table(text, truth):
    assert Filter.parse(text).expression.evaluate({}) is truth


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("a = NULL", None),
        ("a != NULL", None),
        ("NULL = NULL", None),
        ("missing = 1", None),
        ("missing = missing", None),
        ("a IN (1, NULL)", True),
        ("a IN (2, NULL)", None),
        ("a NOT IN (1, NULL)", False),
        ("a NOT IN (2, NULL)", None),
        ("missing IN (1)", None),
        ("missing NOT IN (1)", None),
        ("a BETWEEN NULL AND 5", None),
        ("a BETWEEN NULL AND 0", False),
        ("a NOT BETWEEN NULL AND 0", True),
        ("a BETWEEN 2 AND NULL", False),
        ("missing LIKE '%'", None),
        ("missing NOT LIKE '%'", None),
        ("missing IS NULL", True),
        ("missing IS NOT NULL", False),
        ("NULL IS NULL", True),
        ("1 IS NULL", False),
        ("missing", None),
        ("NOT missing", None),
        ("a", None),
    ],
)
def test_null_makes_an_operator_unknown_unless_the_rest_decides(text, truth):
    filter_ = Filter.parse(text)
    assert filter_.expression.evaluate({"a": 1}) is truth
    assert filter_.matches({"a": 1}) is (truth is True)
    assert (~filter_).matches({"a": 1}) is (truth is False)
