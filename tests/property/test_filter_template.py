"""The template cache is invisible: whatever was parsed before, a text means what a fresh parser reads."""

from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from siftcast.model import Filter, FilterError, sql
from siftcast.model.errors import FilterLimitError
from siftcast.model.limits import FilterLimits
from siftcast.model.template_cache import TemplateCache


class NoCache(TemplateCache):
    """Everything takes the full way."""

    def find(self, text, parse):
        return None


# Characters that could make the split and the lexer disagree, or the array of literals mean something else.
PIECES = ["a", "\\", '"', '","', '",', ',"', "[", "]", "{", ":", ",", "''", "\\'", "\\\\", "\\n", "\\%", "\\u0041", "%"]
ODD_PIECES = ["_", "`", "é", "1", "", " ", "\U0001f600", "\ud800", "\n", "\t", "\x7f", " AND b = 5", "TIMESTAMP"]
INTEGERS = [
    "0",
    "1",
    "-1",
    "+7",
    "- 1",
    "007",
    "-0",
    "123456789012345678",
    "1234567890123456789",
    "9223372036854775808",
]
FLOATS = ["1.", ".5", "-.5", "1.50", "0.0", "-0.0", "1e5", "1E-5", "2.5e+3", "1e400", "0.30000000000000004"]
LONG_FLOATS = ["0.123456789012345678", "123456789012345678.123456789012345678", "0.1234567890123456789"]
NO_NUMBERS = ["1_000", "5x", "1.2.3", "1e", "--1"]
MOMENTS = ["2024-05-01", "2024-05-01 10:30:00Z", "2024-05-01T10:30:00+02:00", "2024-13-01", "x", ""]

pieces = st.sampled_from(PIECES + ODD_PIECES)
string_texts = st.lists(pieces, max_size=5).map(lambda parts: "'" + "".join(parts) + "'")
decimals = st.decimals(-(10**18), 10**18, allow_nan=False, allow_infinity=False)
number_texts = st.one_of(
    st.sampled_from(INTEGERS + FLOATS + LONG_FLOATS + NO_NUMBERS), decimals.map(lambda number: format(number, "f"))
)
moment_texts = st.sampled_from(MOMENTS).map(lambda text: f"TIMESTAMP '{text}'")
literal_texts = st.one_of(
    string_texts, number_texts, moment_texts, st.sampled_from(["NULL", "TRUE", "b", "`it's`", "''"])
)
skeletons = st.sampled_from(
    [
        ("a = ", ""),
        ("a = ", " AND b < ", " AND c > ", ""),
        ("a IN (", ", ", ", ", ")"),
        ("a NOT IN (", ",", ")"),
        ("a BETWEEN ", " AND ", ""),
        ("NOT (a.b >= ", " OR ", " = c)"),
        ("a LIKE ", " OR b NOT LIKE ", ""),
        ("", " < ", ""),
        ("`a` = ", " AND b != ", ""),
        ("a<", " and b>", ""),
    ]
)


def filled(skeleton, literals):
    return "".join(text + literal for text, literal in zip(skeleton, [*literals, ""], strict=True))


def outcome(text):
    """The tree of a text, or the error it raises."""
    try:
        return Filter.parse(text).expression
    except FilterError as error:
        return type(error), str(error)


@given(skeletons, st.data())
def test_parsing_after_texts_of_the_same_form_equals_parsing_afresh(skeleton, data):
    gaps = len(skeleton) - 1
    fillings = [data.draw(st.lists(literal_texts, min_size=gaps, max_size=gaps)) for _ in range(4)]
    texts = [filled(skeleton, filling) for filling in fillings]
    afresh = []
    for text in texts:
        with patch.object(sql, "_cache", NoCache()):
            afresh.append(outcome(text))
    with patch.object(sql, "_cache", TemplateCache()):
        assert [outcome(text) for text in texts] == afresh
        assert [outcome(text) for text in texts] == afresh


simple_strings = st.text(st.sampled_from("ab ,[]{}:%_`é\U0001f600-1"), max_size=6).map(lambda text: f"'{text}'")
plain_numbers = st.integers(0, 10**18 - 1).map(str)
plain_decimals = st.from_regex(
    r"(0|[1-9][0-9]{0,17})\.[0-9]{1,18}", fullmatch=True, alphabet=st.characters(codec="ascii")
)


@given(*[st.tuples(simple_strings, plain_numbers, plain_decimals)] * 2)
@example(("'a'", "1", "0.1"), ("''", "0", "123456789012345678.123456789012345678"))
def test_ordinary_texts_of_one_form_share_a_template_and_read_their_own_literals(first, second):
    form = "a = {} AND b < -{} AND c BETWEEN -1 AND {}"
    with patch.object(sql, "_cache", TemplateCache()):
        one, other = Filter.parse(form.format(*first)), Filter.parse(form.format(*second))
    assert one.template is other.template
    assert other.values == [second[0][1:-1], -int(second[1]), -1, float(second[2])]


@given(st.lists(literal_texts, min_size=1, max_size=3))
def test_a_form_seen_with_strings_does_not_swallow_a_number_between_double_quotes(others):
    with patch.object(sql, "_cache", TemplateCache()):
        for literal in ["'p'", *others]:
            outcome(f"a = {literal} AND b = {literal} AND c = {literal}")
        found = Filter.parse("""a = 'x",' AND b = 5 AND c = ',"z'""")
    assert found.values == ['x",', 5, ',"z']


# Terms whose beginnings and ends could be mistaken for those of others once they are joined.
TERMS = [
    "a = {}",
    "b<{}",
    "NOT c >= {}",
    "NOT NOT a = {}",
    "d BETWEEN {} AND {}",
    "d NOT BETWEEN - {} AND +{}",
    "d BETWEEN a AND {}",
    "d BETWEEN {} AND b",
    "{} < a",
    "{} = {}",
    "a IN ({}, {})",
    "a LIKE {}",
    "a IS NOT NULL",
    "flag",
    "TRUE",
    "timestamp > {}",
    "at > TIMESTAMP {}",
    "at BETWEEN TIMESTAMP {} AND TIMESTAMP {}",
    "(a = {}",
    "b = {})",
    "(a = {})",
    "(a = {} AND {} < b)",
    "NOT (a = {} OR b = {})",
    "c = {}",
    "not = {}",
    "timestamp = {}",
    "TIMESTAMP = {}",
    "größe = {}",
    "c .d = {}",
    "a.b = {}",
    "c = c",
    "d = a",
    "c IN ({}, {})",
    "d NOT LIKE {}",
    "c IS NULL",
    "c BETWEEN {} AND {}",
    "`x AND y` = {}",
    "`x",
    "y`",
    "a = {} b",
    "a = \x01",
    "a = {}\x02",
    "",
]
joints = st.sampled_from([" AND ", " OR ", " and ", "\n Or\t", " AND NOT ", " AND(", ") OR ", " ANDY "])
plain_literals = st.sampled_from(["1", "2.5", "'x'", "'2024-05-01'", "'a AND b'", "0", "1e5", "'it''s'", "007", "x"])


@st.composite
def joined_terms(draw):
    terms = draw(st.lists(st.sampled_from(TERMS), min_size=1, max_size=5))
    text = terms[0] + "".join(draw(joints) + term for term in terms[1:])
    return text.format(*[draw(plain_literals) for _ in range(text.count("{}"))])


@given(st.lists(joined_terms(), min_size=1, max_size=6))
@example(["a = 1 AND b<2 OR NOT c >= 'x'", "b<3 OR a = 4 AND b<5", "a = 1 AND b<2"])
def test_filters_put_together_from_known_terms_equal_those_the_parser_reads_whole(texts):
    with patch.object(sql, "_cache", NoCache()):
        afresh = [outcome(text) for text in texts]
    with patch.object(sql, "_cache", TemplateCache()):
        assert [outcome(text) for text in texts] == afresh
        assert [outcome(text) for text in texts] == afresh


def test_limits_hold_for_filters_put_together_from_known_terms():
    Filter.parse("limited_a = 1 AND limited_b = 2 AND NOT NOT limited_c = 3")
    with pytest.raises(FilterLimitError):
        Filter.parse("limited_b = 2 AND limited_a = 1", limits=FilterLimits(terms_max=1))
    with pytest.raises(FilterLimitError):
        Filter.parse("NOT NOT limited_c = 2 AND limited_a = 1", limits=FilterLimits(depth_max=1))


def test_long_lists_of_ever_new_forms_fill_no_cache():
    cache = TemplateCache()
    with patch.object(sql, "_cache", cache):
        for number in range(700):
            values = ", ".join(str(place if number >> place % 10 & 1 else place + 0.5) for place in range(80))
            Filter.parse(f"a IN ({values}) AND b > {number}")
    assert cache._terms
    assert len(cache._long_terms) <= 512
    assert all(term is None or term.form.holes <= 64 for term in [*cache._terms.values(), *cache._shapes.values()])
