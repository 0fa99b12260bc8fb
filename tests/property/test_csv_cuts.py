"""A file of CSV is cut between rows, never inside quotes, and the rows of a block are all of it."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from siftcast.files.text_blocks import cut_csv, split_csv

TEXTS = st.lists(st.sampled_from(['"', '""', ",", "\n", "\r\n", "a", '"b"', ',"c",', '\n"d\ne"\n']), max_size=12).map(
    lambda parts: "".join(parts).encode()
)


def row_ends(data):
    """Where rows end, character by character: a quote opens at the start of a field, a doubled one closes none."""
    inside, at_start, ends, place = False, True, [], 0
    while place < len(data):
        each = data[place : place + 1]
        if inside and data[place : place + 2] == b'""':
            place += 1
        elif inside:
            inside = each != b'"'
        elif each == b'"' and at_start:
            inside = True
        elif each == b"\n":
            ends.append(place + 1)
        at_start = not inside and each in b",\n\r"
        place += 1
    return ends


@given(TEXTS)
def test_the_cut_is_behind_the_last_row_that_has_ended(data):
    assert cut_csv(data) == max(row_ends(data), default=0)


@given(TEXTS)
def test_rows_are_split_where_they_end(data):
    whole = data[: cut_csv(data)]
    starts = [0, *row_ends(whole)]
    assert split_csv(whole) == [whole[start : end - 1] for start, end in pairwise(starts)]
