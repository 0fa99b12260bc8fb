"""Windows of numbers: what was there before is refused, what was overtaken is not."""

from siftcast.security.replays import RUNS_MAX, WINDOW, Replays, Token


def token(number: int, *, publisher: str = "feed", run: bytes = b"run", source: str = "") -> Token:
    return Token(publisher, run, source, number)


def test_an_event_comes_once_in_any_order() -> None:
    replays = Replays()
    assert [replays.admit(token(number)) for number in (3, 1, 2, 5)] == [True] * 4
    assert [replays.admit(token(number)) for number in (1, 2, 3, 4, 5)] == [False, False, False, True, False]


def test_numbers_of_other_publishers_runs_and_sources_are_others() -> None:
    replays = Replays()
    others = [token(1), token(1, publisher="b"), token(1, run=b"b"), token(1, source="b")]
    assert all(map(replays.admit, others))
    assert not any(map(replays.admit, others))


def test_what_is_older_than_the_window_is_refused() -> None:
    replays = Replays()
    assert replays.admit(token(2))
    assert all(replays.admit(token(number)) for number in range(10, 10 + 2 * WINDOW))
    assert not replays.admit(token(1))  # never seen, and too old to tell
    assert not replays.admit(token(2))
    assert not replays.admit(token(9 + WINDOW))
    assert replays.admit(token(10 + 2 * WINDOW))


def test_runs_that_were_silent_for_longest_are_forgotten_first() -> None:
    replays = Replays()
    assert replays.admit(token(1, run=b"busy"))
    for number in range(RUNS_MAX):
        replays.admit(token(1, run=b"%d" % number))
        replays.admit(token(number + 2, run=b"busy"))
    assert not replays.admit(token(1, run=b"busy"))
    assert replays.admit(token(1, run=b"0"))
