"""Cover tables: summaries that are set at once and cleared late, known filters, and who is to pass on what."""

import pytest

from siftcast.model import Event, Filter
from siftcast.overlays.protocols.homed import HomedSettings
from siftcast.overlays.protocols.homed.cover_table import Contact, CoverTable, Split


def split_with(rank=0, side=0, *digests, now=0.0):
    split = Split(100 + rank, rank, rank << 8 | rank, side, now)
    for number, digest in enumerate(digests):
        split.contacts[(rank * 10 + number, 1)] = Contact((rank * 10 + number, 1), digest)
    split.count = len(digests)
    split.refresh()
    return split


def table_of(sides, **settings):
    table = CoverTable(HomedSettings(**settings))
    for rank, side in enumerate(sides):
        table.add(split_with(rank, side, 1 << rank))
    return table


def test_a_bit_that_is_not_reported_any_more_lingers_for_one_to_two_rounds():
    split = split_with(0, 0, 0b01)
    split.widen(0b10)
    contact = next(iter(split.contacts.values()))
    contact.summary = 0b01
    split.refresh()
    assert split.fresh == 0b01
    assert split.summary == 0b11
    split.age(100.0, 50.0)
    split.age(100.0, 100.0)
    assert split.summary == 0b11
    split.age(100.0, 200.0)
    assert split.summary == 0b01


def test_what_only_a_report_says_was_not_told_to_all():
    split = split_with(0, 0, 0b01)
    assert not split.is_told(0b01)
    split.widen(0b01)
    assert split.is_told(0b01)
    next(iter(split.contacts.values())).summary = 0b111
    split.refresh()
    assert split.summary == 0b111
    assert not split.is_told(0b100), "the printed rule would tell nobody else"


def test_filters_count_only_if_all_are_known_and_none_is_void():
    split = split_with(0, 0, 0b1)
    low, high = Filter.parse("x < 5"), Filter.parse("x > 5")
    split.take_filters(2, {(1, 1): (1, low)})
    assert split.filters is None
    split.take_filters(2, {(1, 1): (1, low), (2, 1): (3, high)})
    assert not split.may_want(Event({"x": 5}), 0b1)
    assert split.may_want(Event({"x": 7}), 0b1)
    assert not split.may_want(Event({"x": 7}), 0b10)
    split.floors[(1, 1)] = (2, 0.0)
    split.take_filters(2, {(1, 1): (1, low), (2, 1): (3, high)})
    assert split.may_want(Event({"x": 5}), 0b1), "a stale filter keeps nothing away"


def test_the_contact_that_wants_an_event_is_chosen_and_of_those_the_nearest():
    split = split_with(0, 0, 0b01, 0b11, 0b11)
    far, near, nearest = split.contacts.values()
    far.cost_ms, near.cost_ms, nearest.cost_ms = 1.0, 5.0, 3.0
    assert split.choose(0b10) is nearest
    assert split.choose(0b01) is far
    nearest.missed = 1
    assert split.choose(0b10) is near


def test_in_a_binary_table_each_split_beyond_a_rank_is_a_target():
    table = table_of([0, 1, 0, 1])
    assert [(target.via.rank, target.low, target.high) for target in table.targets(-1, -1)] == [
        (0, 0, 0),
        (1, 1, 1),
        (2, 2, 2),
        (3, 3, 3),
    ]
    assert [target.via.rank for target in table.targets(1, 1)] == [2, 3]


def test_in_a_chain_the_nearest_of_each_direction_passes_on_along_its_row():
    table = table_of([1, 0, 1, 0], arity_bits=3, layout="neighbours")
    found = {
        target.via.rank: (target.low, target.high, [each.rank for each in target.covered])
        for target in table.targets(-1, -1)
    }
    assert found == {
        2: (-1, 2, [0, 2]),  # smaller: ranks 0 and 2, where this place is on side 1
        1: (1, 0, [1]),
        3: (3, 2, [3]),
    }
    assert [table.is_near(split) for split in table.splits] == [False, True, True, True]


def test_the_side_of_a_place_is_what_lies_beyond_its_later_splits_and_itself():
    table = table_of([0, 0, 0])
    first, second, third = table.splits
    assert table.side(third, 0b1000) == (0b1000, 1)
    assert table.side(first, 0b1000) == (0b1110, 3)
    assert [(split.rank, summary) for split, summary, _ in table.sides(0b1000)] == [
        (2, 0b1000),
        (1, 0b1100),
        (0, 0b1110),
    ]
    assert table.get(second.id) is second
    table.drop(second)
    assert table.side(first, 0b1000) == (0b1100, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"contacts": 0}, {"arity_bits": 5}, {"layout": "ring"}, {"duplicates": "forbid"}, {"piggyback": -1},
        {"positions": 0}, {"drift": 2.0}, {"heartbeat_ms": 0.0}, {"forget_ms": float("inf")},
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match="|".join([*wrong, "split|row|layout|duplicates|positions"])):
        HomedSettings(**wrong)
