"""Runs with wildcards are found where a plain loop finds them, by whichever way they are looked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model.like import LikePattern, Segment
from siftcast.model.wild_search import WildSearch

MANY = "".join(chr(0x4E00 + number) for number in range(300))  # more characters than one digit can number
alphabets = st.sampled_from(["ab", "a\ud800\udc00\U0001f600", MANY])


@st.composite
def searches(draw):
    """A run with wildcards and a text, in half of all cases one that holds the run."""
    alphabet = draw(alphabets)
    text = draw(st.text(st.sampled_from(alphabet), max_size=60))
    run = [one if draw(st.booleans()) else None for one in draw(st.text(st.sampled_from(alphabet), max_size=6))]
    if draw(st.booleans()):
        fitting = "".join(one or draw(st.sampled_from(alphabet)) for one in run)
        place = draw(st.integers(0, len(text)))
        text = text[:place] + fitting + text[place:]
    return tuple(run), text


def first_end(run, text, start=0):
    places = range(start, len(text) - len(run) + 1)
    fits = (all(one in (None, text[place + at]) for at, one in enumerate(run)) for place in places)
    return next((place + len(run) for place, fit in zip(places, fits, strict=True) if fit), -1)


@given(searches(), st.integers(0, 5))
def test_a_run_is_found_where_a_loop_finds_it(case, start):
    run, text = case
    start = min(start, len(text))
    assert WildSearch(len(run), Segment(run).parts).find(text, start, len(text)) == first_end(run, text, start)


@pytest.mark.parametrize("way", ["_by_bits", "_by_transforms"])
@given(case=searches())
def test_both_ways_to_look_at_a_window_find_the_first_place(way, case):
    run, text = case
    search = WildSearch(len(run), Segment(run).parts)
    if any(run) and len(run) <= len(text):
        found = getattr(search, way)(text)
        assert (found + len(run) if found >= 0 else -1) == first_end(run, text)


@pytest.mark.parametrize("many", [3, 60], ids=["by bits", "by transforms"])
@given(place=st.integers(0, 9_000))
def test_a_run_is_found_in_whichever_window_it_begins(many, place):
    # The text is full of near misses, so that single tries are used up before the place is reached.
    run = "_a" * many * (1 if many < 60 else 40) + MANY[: many * 5]
    body = "a" * (2 * len(run))
    text = "a" * place + body[: len(run) - 5 * many] + MANY[: many * 5] + body
    assert LikePattern(f"%{run}%a").matches(text)
    assert not LikePattern(f"%{run}b%a").matches(text)
