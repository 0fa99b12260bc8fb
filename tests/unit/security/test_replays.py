"""Windows of numbers: what was there before is refused, what was overtaken is not."""

from siftcast.security.replays import RUNS_MAX, WINDOW, Replays, Run

RUN: Run = ("feed", b"run", "")


def test_an_event_comes_once_in_any_order() -> None:
    replays = Replays()
    assert [replays.admit(RUN, number) for number in (3, 1, 2, 5)] == [True] * 4
    assert [replays.admit(RUN, number) for number in (1, 2, 3, 4, 5)] == [False, False, False, True, False]


def test_numbers_of_other_publishers_runs_and_sources_are_others() -> None:
    replays = Replays()
    others: list[Run] = [RUN, ("b", b"run", ""), ("feed", b"b", ""), ("feed", b"run", "b")]
    assert all(replays.admit(run, 1) for run in others)
    assert not any(replays.admit(run, 1) for run in others)


def test_what_is_older_than_the_window_is_refused() -> None:
    replays = Replays()
    assert replays.admit(RUN, 2)
    assert all(replays.admit(RUN, number) for number in range(10, 10 + 2 * WINDOW))
    assert not replays.admit(RUN, 1)  # never seen, and too old to tell
    assert not replays.admit(RUN, 2)
    assert not replays.admit(RUN, 9 + WINDOW)
    assert replays.admit(RUN, 10 + 2 * WINDOW)


def test_runs_that_were_silent_for_longest_are_forgotten_first() -> None:
    replays = Replays()
    busy, others = ("feed", b"busy", ""), [("feed", b"%d" % number, "") for number in range(RUNS_MAX)]
    assert replays.admit(busy, 1)
    for number, other in enumerate(others):
        replays.admit(other, 1)
        replays.admit(busy, number + 2)
    assert not replays.admit(busy, 1)
    assert replays.admit(others[0], 1)
