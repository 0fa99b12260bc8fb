"""Bad filters: each error names the place, shows it and says what would have been accepted."""

import pytest

from siftcast.model import Filter, FilterSyntaxError, FilterTypeError

# text, line, column, a word of the problem, a word of what was expected
BAD_TEXTS = [
    ("", 1, 1, "empty", "comparison"),
    ("  \n ", 2, 2, "empty", "comparison"),
    ("a =", 1, 4, "end of the filter", "attribute or a value"),
    ("a = \n\n  ", 3, 3, "end of the filter", "attribute or a value"),
    ("= 1", 1, 1, "'='", "attribute"),
    ("a = 1 b = 2", 1, 7, "'b' is one too many", "AND, OR"),
    ("a = 1 AND", 1, 10, "end of the filter", "NOT or ("),
    ("a = 1 AND\nAND b = 2", 2, 1, "'AND'", "attribute"),
    ("OR a = 1", 1, 1, "'OR'", "attribute"),
    ("(a = 1", 1, 7, "end of the filter", "closing parenthesis"),
    ("a = 1)", 1, 6, "')' is one too many", "end of the filter"),
    ("()", 1, 2, "')'", "attribute"),
    ("a = (1)", 1, 5, "'('", "value"),
    ("a = 1 = 2", 1, 7, "'=' is one too many", "AND"),
    ("a < b < c", 1, 7, "'<' is one too many", "AND"),
    ("5", 1, 2, "neither true nor false", "comparison"),
    ("'abc' OR a = 1", 1, 7, "neither true nor false", "comparison"),
    ("a = 'abc", 1, 5, "never ends", "closing '"),
    ("a = 1 AND\n  b = 'it's'", 2, 12, "never ends", "closing '"),
    ('a = "abc"', 1, 5, "double quotes", "'…'"),
    ("`a = 1", 1, 1, "never ends", "`"),
    ("`` = 1", 1, 1, "empty", "`"),
    ("größe = 1", 1, 3, "'ö'", "backquotes"),
    ("a = 5x", 1, 5, "neither a number nor a name", "space"),
    ("1st = 5", 1, 1, "neither a number nor a name", "backquotes"),
    ("a ; b", 1, 3, "';'", ""),
    ("a = 1\0", 1, 6, "U+0000", ""),
    ("a BETWEEN 1", 1, 12, "end of the filter", "AND and the upper end"),
    ("a BETWEEN 1 OR 2", 1, 13, "'OR'", "AND"),
    ("a BETWEEN AND 2", 1, 11, "'AND'", "lower end"),
    ("a IN 1", 1, 6, "'1'", "list of values"),
    ("a IN ()", 1, 7, "')'", "a value"),
    ("a IN (1, b)", 1, 10, "not attributes", "a value"),
    ("a IN (1 2)", 1, 9, "'2'", "comma or )"),
    ("a IN (1,", 1, 9, "end of the filter", "a value"),
    ("a LIKE b", 1, 8, "LIKE needs a pattern", "string"),
    ("a LIKE 5", 1, 8, "LIKE needs a pattern", "string"),
    (r"a LIKE 'x\\y'", 1, 8, "backslash", ""),
    (r"a LIKE 'x\\'", 1, 8, "backslash", ""),
    ("a IS 5", 1, 6, "'5'", "NULL"),
    ("a IS NOT TRUE", 1, 10, "'TRUE'", "NULL"),
    ("a NOT = 5", 1, 7, "'=' after NOT", "BETWEEN, IN or LIKE"),
    ("a `=` 5", 1, 3, "one too many", "AND"),
    ("a. = 5", 1, 4, "cannot follow a dot", "name"),
    ("a.in = 5", 1, 3, "cannot follow a dot", "`in`"),
    ("a = - b", 1, 5, "arithmetic is not supported", "value"),
    ("a = 9223372036854775808", 1, 5, "64 bits", ""),
    ("a = -9223372036854775809", 1, 6, "64 bits", ""),
    ("a = " + "9" * 5_000, 1, 5, "64 bits", ""),
    ("a = 1e400", 1, 5, "too large", ""),
    ("a = TIMESTAMP '2024-02-30'", 1, 15, "day", ""),
    ("a = TIMESTAMP 'yesterday'", 1, 15, "looks like 2024-05-01", ""),
    ("a = TIMESTAMP '2024-W01-1'", 1, 15, "looks like 2024-05-01", ""),
    ("a = TIMESTAMP '2024-05-01x10:30'", 1, 15, "looks like 2024-05-01", ""),
    ("a = TIMESTAMP '9999-12-31 23:59:59-01:00'", 1, 15, "out of range", ""),
    (r"a = '\U00110000'", 1, 5, "no character", ""),
]


@pytest.mark.parametrize(("text", "line", "column", "problem", "expected"), BAD_TEXTS, ids=lambda part: str(part)[:30])
def test_error_names_the_place_the_problem_and_what_was_expected(text, line, column, problem, expected):
    with pytest.raises(FilterSyntaxError) as caught:
        Filter.parse(text)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert problem in error.problem
    assert expected in error.expected
    assert str(error).startswith(f"line {line}, column {column}: ")


@pytest.mark.parametrize("text", [text for text, *_ in BAD_TEXTS if len(text) < 90], ids=lambda text: text[:30])
def test_caret_stands_under_the_column_of_the_shown_line(text):
    with pytest.raises(FilterSyntaxError) as caught:
        Filter.parse(text)
    _, shown, caret = str(caught.value).split("\n")
    line = text.split("\n")[caught.value.line - 1]
    assert shown.replace("·", "\0") == f"  {line}"
    assert caret == " " * (2 + caught.value.column - 1) + "^"


def test_long_line_is_cut_around_the_error_and_the_caret_still_points_at_it():
    text = "a = 1 AND " * 50 + "b ; c" + " AND a = 1" * 50
    with pytest.raises(FilterSyntaxError) as caught:
        Filter.parse(text)
    _, shown, caret = str(caught.value).split("\n")
    assert caught.value.column == 503
    assert shown[len(caret) - 1] == ";"
    assert shown.startswith("  …")
    assert shown.endswith("…")
    assert len(shown) <= 110


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 = 'a'", "a number and a string"),
        ("TRUE = 1", "a boolean and a number"),
        ("a BETWEEN 1 AND 'b'", "a number and a string"),
        ("a IN (1, 'b')", "a number and a string"),
        ("a = 1 OR\n  b NOT IN (TIMESTAMP '2024-05-01', TRUE)", "a boolean and a timestamp"),
        ("5 LIKE 'a%'", "a number and a string"),
    ],
)
def test_literals_of_unlike_kinds_in_one_test_are_a_type_error_with_its_place(text, words):
    with pytest.raises(FilterTypeError) as caught:
        Filter.parse(text)
    assert words in str(caught.value)
    line = text.count("\n") + 1
    assert str(caught.value).startswith(f"line {line}, column {3 if line == 2 else 1}: ")


@pytest.mark.parametrize(
    "text",
    ["a = " + "1" * 60_000 + "x", "a = '" + "\\'" * 30_000, "`" * 60_001, "a = 0." + "1" * 60_000 + "e", '"' * 60_000],
    ids=["digits", "escaped quotes", "backquotes", "fraction", "double quotes"],
)
def test_unreadable_text_of_the_greatest_length_is_refused_without_rescanning_it(text):
    with pytest.raises(FilterSyntaxError) as caught:
        Filter.parse(text)
    assert caught.value.column in (1, 5, 7, 60_001)


def test_error_after_a_template_was_cached_is_the_same_as_before():
    with pytest.raises(FilterSyntaxError) as first:
        Filter.parse("cached_name = TIMESTAMP '2024-99-01'")
    Filter.parse("cached_name = TIMESTAMP '2024-05-01'")
    with pytest.raises(FilterSyntaxError) as second:
        Filter.parse("cached_name = TIMESTAMP '2024-99-01'")
    assert str(first.value) == str(second.value)
