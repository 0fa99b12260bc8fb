"""The size of a batch follows time and pairs, and stays within its bounds."""

from siftcast.matching.batch_rows import BatchRows


def sizes(*calls):
    """The sizes after calls with so many pairs for each event and seconds for each event."""
    rows, found = BatchRows(), []
    for pairs, seconds in calls:
        rows.adapt(rows.count, int(rows.count * pairs), rows.count * seconds)
        found.append(rows.count)
    return found


def test_a_fast_engine_soon_gets_large_batches_and_no_larger_ones():
    assert sizes(*[(0, 1e-9)] * 4)[-2:] == [65_536, 65_536]


def test_a_slow_engine_gets_calls_of_a_fifth_of_a_second():
    assert sizes(*[(0, 0.01)] * 8)[-1] == 20


def test_events_that_match_everything_come_one_by_one():
    assert sizes((1_000_000, 1e-9), (10_000_000, 1e-9)) == [4, 1]


def test_after_a_dense_stretch_batches_grow_again():
    assert sizes((4_000_000, 1e-9), (0, 1e-9), (0, 1e-9)) == [1, 8, 64]
