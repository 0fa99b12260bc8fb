"""Explanations: the verdicts, and the words a person reads."""

from datetime import datetime

import pytest

from siftcast.model import Event, Filter


def test_explanation_is_a_tree_of_marks_and_reasons():
    filter_ = Filter.parse("symbol = 'IBM' AND (price < 95 OR NOT urgent)")
    explanation = filter_.explain({"symbol": "IBM", "price": 96.5})
    assert str(explanation) == (
        "? all of   (unknown)\n"
        "├─ ✓ symbol = 'IBM'   (symbol is 'IBM')\n"
        "└─ ? any of   (unknown)\n"
        "   ├─ ✗ price < 95   (price is 96.5)\n"
        "   └─ ? not   (unknown)\n"
        "      └─ ? urgent   (urgent is missing or null: unknown)"
    )
    assert [part.verdict for part in explanation.parts] == [True, None]


@pytest.mark.parametrize(
    ("text", "attributes", "verdict", "because"),
    [
        ("a = 1", {"a": "x"}, None, "a is 'x': cannot be compared, so unknown"),
        ("a = 1", {"a": float("nan")}, None, "a is NaN: cannot be compared, so unknown"),
        ("a = 1", {"a": [1]}, None, "a is of type list: cannot be compared, so unknown"),
        ("a > 1", {"a": float("inf")}, True, "a is inf"),
        ("a > 1", {"a": 10**5_000}, True, "a is an integer of 16,610 bits"),
        ("a = 'x'", {"a": "y" * 500}, False, "a is '" + "y" * 58 + "…"),
        ("a.b < c", {"a": {"b": 1}, "c": 2}, True, "a.b is 1, c is 2"),
        (
            "a > TIMESTAMP '2024-05-01 00:00:00Z'",
            {"a": datetime(2024, 5, 2)},
            True,
            "a is TIMESTAMP '2024-05-02 00:00:00Z'",
        ),
        ("a IS NULL", {}, True, "a is missing or null"),
        ("TRUE", {}, True, ""),
        ("NULL", {}, None, ""),
    ],
)
def test_reason_says_what_the_event_held(text, attributes, verdict, because):
    for event in (attributes, Event(attributes)):
        explanation = Filter.parse(text).explain(event)
        assert explanation.verdict is verdict
        assert explanation.because == because
        assert explanation.text == text
