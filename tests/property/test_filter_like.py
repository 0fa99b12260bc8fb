"""LIKE against an oracle: the regular expression that the standard's words describe."""

import re

from hypothesis import given
from hypothesis import strategies as st

from siftcast.model.intervals import prefix_set
from siftcast.model.like import LikePattern


def oracle(source: str) -> re.Pattern[str]:
    pieces = re.findall(r"\\.|.", source, re.DOTALL)
    translated = {"%": ".*", "_": "."}
    return re.compile("".join(translated.get(piece) or re.escape(piece[-1]) for piece in pieces), re.DOTALL)


sources = st.lists(st.sampled_from(["%", "_", "a", "b", "\\%", "\\_", "\\\\", "\n", "\U0001f600"]), max_size=9).map(
    "".join
)
texts = st.text(st.sampled_from("ab%_\\\n\U0001f600"), max_size=12)


many_wildcards = st.lists(st.sampled_from(["%", "_", "a", "ab", "_b"]), max_size=8).map("".join)


@given(st.tuples(sources, texts) | st.tuples(many_wildcards, st.text("ab", max_size=30)))
def test_pattern_matches_what_its_regular_expression_matches(pair):
    source, text = pair
    assert LikePattern(source).matches(text) is (oracle(source).fullmatch(text) is not None)


@given(sources, texts)
def test_every_match_begins_with_the_prefix_of_its_pattern(source, text):
    pattern = LikePattern(source)
    if pattern.matches(text):
        assert text.startswith(pattern.prefix)
        assert pattern.exact_text in (None, text)
    if pattern.is_prefix:
        assert pattern.matches(text) is text.startswith(pattern.prefix)


edges = st.text(st.sampled_from("ab\0\ud7ff\ue000\uffff\U0010ffff"), max_size=4)


@given(edges, edges, st.booleans())
def test_the_set_of_a_prefix_holds_exactly_the_texts_that_begin_with_it(prefix, text, extended):
    text = prefix + text if extended else text
    ((low, high),) = prefix_set(prefix).ranges
    assert (low <= (0, text, 0) < high) is text.startswith(prefix)
