"""The order of a simulation's agenda, beside a plain sort."""

from hypothesis import given
from hypothesis import strategies as st

from siftcast.runtimes.sim.agenda import Agenda

delays = st.sampled_from([0.0, 0.25, 0.999, 1.0, 2.5, 17.0]) | st.floats(0, 1e6) | st.just(float("inf"))


@given(st.lists(delays, max_size=30), st.lists(st.lists(delays, max_size=3), max_size=60))
def test_what_is_next_is_the_earliest_and_of_equals_the_first_put_there(first, later):
    """Entries are put there in the beginning and again while others are taken out, never for the past."""
    agenda, expected, now = Agenda(), [], 0.0

    def put(delay):
        number = agenda.push(now + delay, len(expected), "item")
        expected.append((now + delay, number))

    for delay in first:
        put(delay)
    for more in later:
        entry = next(agenda.due(float("inf")), None)
        assert (entry is None) == (not expected)
        if entry is not None:
            earliest = min(expected)
            assert entry[:2] == earliest
            expected.remove(earliest)
            now = entry[0] if entry[0] < float("inf") else now
        for delay in more:
            put(delay)


@given(st.lists(st.floats(0, 50), min_size=1, max_size=30), st.floats(0, 60))
def test_nothing_is_taken_out_after_the_limit_and_all_of_it_later(times, limit):
    agenda = Agenda()
    for time in times:
        agenda.push(time, 0, None)
    assert [entry[0] for entry in agenda.due(limit)] == sorted(time for time in times if time <= limit)
    agenda.push(limit, 1, None)
    assert [entry[0] for entry in agenda.due(float("inf"))] == sorted(
        [limit, *(time for time in times if time > limit)]
    )


@given(st.lists(st.floats(0, 9), max_size=9), st.floats(0, 9))
def test_many_entries_at_once_are_as_many_single_ones(latencies, now):
    at_once, singly = Agenda(), Agenda()
    at_once.push_all(now, latencies.__getitem__, range(len(latencies)), "item")
    for node, latency in enumerate(latencies):
        singly.push(now + latency, node, "item")
    assert list(at_once.due(99.0)) == list(singly.due(99.0))
