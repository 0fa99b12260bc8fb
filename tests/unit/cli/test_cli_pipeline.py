"""The pipeline: order, overlap, errors of each stage, and interruption."""

import threading
from itertools import count

import pytest

from siftcast.interfaces.cli.pipeline import Pipeline


def test_items_arrive_complete_and_in_order():
    taken = []
    Pipeline(lambda: iter(range(100)), lambda n: (n, -n), taken.append).run()
    assert taken == [each for n in range(100) for each in (n, -n)]


def test_stages_overlap():
    """Every stage waits for the next one to have begun, which only threads can satisfy."""
    reached = threading.Event()

    def source():
        yield 1
        assert reached.wait(10)
        yield 2

    taken = []

    def sink(item):
        taken.append(item)
        reached.set()

    Pipeline(source, lambda item: [item], sink).run()
    assert taken == [1, 2]


def test_error_of_the_source_comes_after_what_was_read_is_written():
    def source():
        yield from range(50)
        raise ValueError("the file ends here")

    taken = []
    with pytest.raises(ValueError, match="ends here"):
        Pipeline(source, lambda n: [n], taken.append).run()
    assert taken == list(range(50))


def test_error_of_the_transform_stops_an_endless_source():
    def transform(n):
        if n == 20:
            raise ValueError("twenty")
        return [n]

    taken = []
    with pytest.raises(ValueError, match="twenty"):
        Pipeline(lambda: count(), transform, taken.append).run()
    assert taken == list(range(20))


def test_error_of_the_sink_stops_an_endless_source():
    def sink(n):
        if n == 20:
            raise OSError(28, "full")

    with pytest.raises(OSError, match="full"):
        Pipeline(lambda: count(), lambda n: [n], sink).run()


def test_interruption_stops_reading_and_writes_what_was_matched():
    taken = []

    def tick():
        if len(taken) > 10:
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        Pipeline(lambda: count(), lambda n: [n], taken.append).run(tick)
    assert taken == list(range(len(taken)))
    assert threading.active_count() == before


def test_profile_names_the_stage_that_is_busy():
    pause = threading.Event()

    def slow(n):
        pause.wait(0.01)
        return [n]

    profile = Pipeline(lambda: iter(range(20)), slow, lambda n: None).run()
    assert profile.limiting == "matching"
    assert profile.share("matching") > profile.share("reading")
