"""LIKE by example, exhaustively on short texts, and on input made to be slow."""

import re
from itertools import product

import pytest

from siftcast.model import Filter
from siftcast.model.like import LikePattern


def words(alphabet: str, length_max: int) -> list[str]:
    return ["".join(word) for length in range(length_max + 1) for word in product(alphabet, repeat=length)]


def test_every_short_pattern_agrees_with_its_regular_expression_on_every_short_text():
    texts = words("ab", 5)
    for source in words("a%_", 5):
        oracle = re.compile(source.replace("%", ".*").replace("_", "."))
        pattern = LikePattern(source)
        expected = [text for text in texts if oracle.fullmatch(text)]
        assert [text for text in texts if pattern.matches(text)] == expected, source


@pytest.mark.parametrize(
    ("literal", "text", "matches"),
    [
        (r"'100\%'", "100%", True),
        (r"'100\%'", "100x", False),
        (r"'100\\%'", "100%", True),
        (r"'a\_b'", "a_b", True),
        (r"'a\_b'", "axb", False),
        (r"'a\\\\b'", "a\\b", True),
        ("'it''s%'", "it's me", True),
        ("'%'", "", True),
        ("''", "", True),
        ("''", "a", False),
        ("'a%'", "line\nbreak", False),
        ("'line%break'", "line\nbreak", True),
        ("'line_break'", "line\nbreak", True),
        ("'A%'", "abc", False),
        ("'.*'", "abc", False),
    ],
)
def test_escapes_and_plain_characters(literal, text, matches):
    assert Filter.parse(f"a LIKE {literal}").matches({"a": text}) is matches
    assert Filter.parse(f"a NOT LIKE {literal}").matches({"a": text}) is not matches


@pytest.mark.parametrize("source", ["\\", "a\\", "\\a", "%\\x%"])
def test_backslash_before_anything_else_is_refused(source):
    with pytest.raises(ValueError, match="backslash"):
        LikePattern(source)


@pytest.mark.parametrize(
    "pattern",
    ["%a" * 20_000 + "%b", "%_a" * 15_000 + "%b", "%" + "a_" * 25_000 + "b%", "%" * 60_000 + "b", "_" * 50_000 + "%b"],
    ids=["many segments", "many wild segments", "one long wild segment", "many percents", "many underscores"],
)
def test_adversarial_pattern_on_a_long_text_comes_to_an_end(pattern):
    filter_ = Filter.parse(f"a LIKE '{pattern}'")
    assert not filter_.matches({"a": "a" * 200_000})
    assert filter_.matches({"a": "a" * 200_000 + "b"})


@pytest.mark.parametrize(
    ("source", "exact_text", "is_prefix", "prefix"),
    [
        ("abc", "abc", False, "abc"),
        ("abc%", None, True, "abc"),
        ("abc%%", None, True, "abc"),
        ("%", None, True, ""),
        ("a_c%", None, False, "a"),
        ("a%c", None, False, "a"),
        ("a\\%%", None, True, "a%"),
        ("_", None, False, ""),
        ("", "", False, ""),
    ],
)
def test_shape_of_a_pattern_is_known(source, exact_text, is_prefix, prefix):
    pattern = LikePattern(source)
    assert (pattern.exact_text, pattern.is_prefix, pattern.prefix) == (exact_text, is_prefix, prefix)
