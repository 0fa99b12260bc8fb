"""Loading by plan and columns gives the same answers as asking every filter, however filters share templates."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from siftcast.matching import Matcher
from siftcast.model import Filter

numbers = st.one_of(st.integers(-3, 6), st.sampled_from([0.5, -1.25, 2**53, 2**53 + 1, -(2**53) - 1, 2**62]))
moments = st.integers(0, 3).map(lambda days: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=days))
TEMPLATES = [
    "a = {n}", "a > {n} AND a <= {n}", "a BETWEEN {n} AND {n}", "{n} < a AND b >= {n}", "s = {s}",
    "s = {s} AND a < {n}",
    "t > {t}", "t BETWEEN {t} AND {t} AND s = {s}", "a = {n} AND a = {n}", "s = {s} AND s = {s}",
    "a = {n} AND a = {s}",
    "TRUE AND a >= {n}", "a != {n}", "a < -{p}", "s > {s}",
    "a IN ({n}, {n}, {many})", "a NOT IN ({n}, {many})", "a IN ({n}, {many}) AND b NOT IN ({n}, {many})",
    "b IN ({n}, {n}, {n}) AND a IN ({n}, {n}, {many}) AND s LIKE '%x'", "s IN ({s}, {words}) AND a < {n}",
    "s NOT IN ({s}, {words}) OR a IN ({n}, {many})", "NOT (s IN ({s}, {words}) OR b = {n})", "t IN ({t}, {moments})",
]  # fmt: skip
# So many values that a list of them becomes a set of keys, spread among those that events have.
LISTS = {
    "{many}": ", ".join(str(number / 8) for number in range(-80, 80) if number % 8),
    "{words}": ", ".join(f"'it{number:02}'" for number in range(80)),
    "{moments}": ", ".join(f"TIMESTAMP '2024-01-02 {number // 60:02}:{number % 60:02}:01'" for number in range(80)),
}


@st.composite
def texts(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(TEMPLATES))
    for name, values in LISTS.items():
        text = text.replace(name, values)
    while "{" in text:
        text = text.replace("{n}", str(draw(numbers)), 1)
        text = text.replace("{p}", str(draw(st.integers(0, 3))), 1)
        text = text.replace("{s}", draw(st.sampled_from(["'x'", "''", "'it''s'", "'y'"])), 1)
        text = text.replace("{t}", f"TIMESTAMP '{draw(moments):%Y-%m-%d %H:%M:%S}'", 1)
    return text


events = st.fixed_dictionaries(
    {},
    optional={
        "a": st.one_of(numbers, st.just("x"), st.just(True)),
        "b": numbers,
        "s": st.sampled_from(["x", "", "it's", "y", "z"]),
        "t": moments,
    },
)


@given(st.lists(texts(), min_size=1, max_size=80), st.lists(events, min_size=1, max_size=6))
def test_filters_loaded_together_match_as_each_does_alone(
    filters: list[str], happened: list[dict[str, object]]
) -> None:
    matcher = Matcher("tiles")
    matcher.add_many((str(number), text) for number, text in enumerate(filters))
    for event in happened:
        expected = [str(number) for number, text in enumerate(filters) if Filter.parse(text).matches(event)]
        assert matcher.match(event) == expected
        assert matcher.match_any(event) == bool(expected)
