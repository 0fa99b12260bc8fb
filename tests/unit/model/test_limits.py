"""How large a filter may be: exactly at the limit it is read, one beyond it is refused by type."""

import pytest

from siftcast.model import Filter, FilterLimitError, FilterLimits, FilterSyntaxError

WIDE_OPEN = FilterLimits(length_max=10**8)


def nested(depth: int) -> str:
    return "(" * depth + "a = 1" + ")" * depth


@pytest.mark.parametrize(
    ("fits", "exceeds", "what", "limits"),
    [
        ("a = 12", "a = 123", "length", FilterLimits(length_max=6)),
        (nested(64), nested(65), "nesting", FilterLimits()),
        ("NOT " * 64 + "a", "NOT " * 65 + "a", "nesting", FilterLimits()),
        (nested(150), nested(151), "nesting", FilterLimits(depth_max=150)),
        ("NOT (a OR b)", "NOT (a OR NOT b)", "nesting", FilterLimits(depth_max=2)),
        ("a = 1 OR b", "a = 1 OR b OR c", "terms", FilterLimits(terms_max=2)),
        ("a IN (1, 2)", "a IN (1, 2, 3)", "terms", FilterLimits(terms_max=3)),
    ],
)
def test_limit_is_the_last_size_that_is_read(fits, exceeds, what, limits):
    assert Filter.parse(fits, limits=limits).matches({"a": True, "b": True}) in (True, False)
    with pytest.raises(FilterLimitError) as caught:
        Filter.parse(exceeds, limits=limits)
    assert caught.value.what == what
    assert caught.value.found > caught.value.limit


@pytest.mark.parametrize(
    ("text", "what", "limits"),
    [
        ("a = 1 OR " * 1_200_000, "length", FilterLimits()),
        ("(" * 100_000, "length", FilterLimits()),
        ("(" * 100_000, "nesting", WIDE_OPEN),
        (nested(100_000), "nesting", WIDE_OPEN),
        ("NOT " * 100_000 + "a", "nesting", WIDE_OPEN),
        (" OR ".join(["a"] * 1_000_000), "terms", WIDE_OPEN),
        ("a IN (" + ",".join("7" * 1_000_000) + ")", "terms", WIDE_OPEN),
        ("a IN (" + ",".join("7" * 30_000) + ")", "terms", FilterLimits()),
    ],
    ids=["10 MB", "parens", "parens long", "closed parens", "nots", "terms", "values", "values in length"],
)
def test_hostile_size_is_a_limit_error_and_never_a_recursion_error(text, what, limits):
    with pytest.raises(FilterLimitError) as caught:
        Filter.parse(text, limits=limits)
    assert caught.value.what == what


@pytest.mark.parametrize(
    ("tight", "what"), [(FilterLimits(depth_max=1), "nesting"), (FilterLimits(terms_max=1), "terms")]
)
def test_limits_hold_for_texts_whose_template_is_cached(tight, what):
    text = "NOT (cached_limit = {0} AND cached_limit < {0})"
    Filter.parse(text.format(1))
    with pytest.raises(FilterLimitError) as caught:
        Filter.parse(text.format(2), limits=tight)
    assert caught.value.what == what


def test_filters_of_the_greatest_size_work_throughout():
    wide = Filter.parse(" AND ".join(f"a{n}={n}" for n in range(4_096)))
    assert wide.matches({f"a{n}": n for n in range(4_096)})
    assert not wide.matches({f"a{n}": n + 1 for n in range(4_096)})
    text = "a = 0"
    for level in range(149):
        text = f"({text}) {'OR' if level % 2 else 'AND'} b{level} = 1"
    limits = FilterLimits(depth_max=150)
    deep = Filter.parse(text, limits=limits)
    assert Filter.parse(str(deep), limits=limits) == deep
    assert deep.matches({"b147": 1, "b148": 1})
    assert not deep.matches({"b146": 1, "b148": 1})
    assert deep.covers(deep)
    assert deep.overlaps(~deep)
    assert deep.explain({}).verdict is None


@pytest.mark.parametrize("wrong", [{"length_max": 0}, {"depth_max": -1}, {"terms_max": 0}, {"depth_max": 151}])
def test_limits_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=r"must be positive|at most 150"):
        FilterLimits(**wrong)


@pytest.mark.parametrize("blank", [" ", "\n", "\u2003"])
def test_blanks_by_the_ten_thousand_are_read_over_and_end(blank):
    blanks = blank * 30_000
    assert Filter.parse(f"a = 1{blanks}AND{blanks}b BETWEEN 1 AND 2").matches({"a": 1, "b": 2})
    with pytest.raises(FilterSyntaxError):
        Filter.parse(f"a = 1 AND b = 2{blanks}{blanks}x")
