"""Laws of interest digests (H1): what matches is within, what covers contains; of every kind, for every filter."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from siftcast.model import Attribute, Filter, Schema
from siftcast.model.expression import (
    Between,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Reference,
    conjunction,
    disjunction,
)
from siftcast.model.like import LikePattern
from siftcast.space.digests import DIGEST_KINDS, InterestDigests, is_within
from siftcast.space.digests.batches import WORD_BITS

START = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = Schema(
    [
        Attribute("whole", "int", (-5, 5), 1),
        Attribute("grid", "float", (0, 1), 0.1),
        Attribute("fine", "float", (0.0, 1.0)),
        Attribute("word", "string", ("ant", "bee", "cat", "dog")),
        Attribute("flag", "bool"),
        Attribute("time", "timestamp", (START, START + timedelta(days=1))),
    ]
)
KINDS = {
    "segments": InterestDigests.of(SCHEMA, bits=64),
    "few segments": InterestDigests.of(SCHEMA, ("word", "whole"), bits=8),
    "wide segments": InterestDigests.of(SCHEMA, bits=128),
    "hashed": InterestDigests.of(SCHEMA, bits=48, kind="hashed"),
    "bloom": InterestDigests.of(SCHEMA, ("whole", "word", "fine"), bits=96, kind="bloom", hashes=3),
    "unbounded": InterestDigests.of(
        Schema([Attribute("whole", "int"), Attribute("word", "string"), Attribute("fine", "float")]),
        bits=24,
        kind="hashed",
    ),
    "unbounded bloom": InterestDigests.of(
        Schema([Attribute("whole", "int"), Attribute("word", "string")]), ("whole", "word"), bits=40, kind="bloom"
    ),
}
POINTS = {
    "whole": [-7, -5, -1, 0, 0.5, 2, 3, 3.5, 5, 6, 2**60, float("inf")],
    "grid": [-1, 0.0, 0.1, 0.15, 0.3, 0.7, 1, 2],
    "fine": [-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 7],
    "word": ["", "ant", "antelope", "bee", "cow", "dog", "zebra"],
    "flag": [True, False],
    "time": [START - timedelta(days=1), START, START + timedelta(hours=5), START + timedelta(days=2)],
}
ODD = [None, float("nan"), "text", 1, True, [1], {"a": 1}]


@st.composite
def leaves(draw):
    name = draw(st.sampled_from(list(POINTS)))
    reference = Reference((name,))
    points = [*POINTS[name], *draw(st.sampled_from([[], [], [], ["stray"], [4]]))]
    point = st.sampled_from(points).map(Literal)
    other = Reference((draw(st.sampled_from(list(POINTS))),))
    return draw(
        st.one_of(
            st.builds(Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), st.just(reference), point),
            st.builds(Between, st.just(reference), point, point, st.booleans()),
            st.builds(In, st.just(reference), st.lists(point, min_size=1, max_size=3).map(tuple), st.booleans()),
            st.builds(IsNull, st.just(reference), st.booleans()),
            st.builds(
                Like,
                st.just(reference),
                st.sampled_from(["a%", "%t", "b_e", "cat", "%"]).map(LikePattern),
                st.booleans(),
            ),
            st.builds(Comparison, st.just("<"), st.just(reference), st.just(other)),
        )
    )


def trees():
    return st.recursive(
        leaves(),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(conjunction),
            st.lists(inner, min_size=2, max_size=3).map(disjunction),
            inner.map(Not),
        ),
        max_leaves=4,
    )


filters = trees().map(Filter.of)
events = st.fixed_dictionaries({}, optional={name: st.sampled_from([*points, *ODD]) for name, points in POINTS.items()})


def test_all_kinds_are_tried():
    assert set(DIGEST_KINDS) <= set(KINDS)


@given(filter_=filters, event=events)
def test_what_a_filter_matches_is_within_its_digest(filter_, event):
    for name, digests in KINDS.items():
        wanted = digests.of_filter(filter_)
        assert is_within(wanted, digests.everything), name
        assert digests.everything < 1 << digests.bits, name
        assert not filter_.matches(event) or is_within(digests.of_event(event), wanted), name


@given(left=filters, right=filters)
def test_a_digest_contains_those_of_what_its_filter_covers(left, right):
    pairs = [(left, right), (left | right, left), (left, left & right), (right | left, right & left)]
    for wide, narrow in pairs:
        if wide.covers(narrow):
            for name, digests in KINDS.items():
                assert is_within(digests.of_filter(narrow), digests.of_filter(wide)), f"{name}: {wide} covers {narrow}"


@settings(max_examples=settings.default.max_examples // 4)
@given(found=st.lists(filters, max_size=4))
def test_many_filters_at_once_get_the_digests_that_each_gets(found):
    for digests in KINDS.values():
        check_batch(digests, found)


TEMPLATES = [
    ("whole > {} AND whole <= {}", "whole"),
    ("whole BETWEEN {} AND {} AND flag = TRUE", "whole"),
    ("grid >= {} AND grid < {} AND word = 'bee'", "grid"),
    ("fine < {} AND fine >= {}", "fine"),
    ("word = {} AND other = {}", "word"),
    ("other > {} AND other < {} AND whole = 3", "whole"),
    ("whole = {} AND flag = FALSE AND whole >= {}", "whole"),
]


@given(template=st.sampled_from(TEMPLATES), data=st.data())
def test_filters_of_one_template_are_mapped_as_one_by_one(template, data):
    text, attribute = template
    finite = [point for point in POINTS[attribute] if point != float("inf")]
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(finite), st.sampled_from(finite)), min_size=8, max_size=12))
    for name in ("segments", "few segments", "wide segments"):
        check_batch(KINDS[name], [Filter.parse(text.format(repr(low), repr(high))) for low, high in pairs])


def check_batch(digests, found):
    rows = digests.of_filters(found).tolist()
    expected = [digests.of_filter(each) for each in found]
    assert [sum(word << WORD_BITS * place for place, word in enumerate(row)) for row in rows] == expected
