"""Steps of matching: code an event's keys, rule out tiles, visit a tile, test the rows that are left.

Kernels read the index through raw addresses kept in one descriptor (the ``PART_*`` constants number its cells),
since Numba needs 0.1 us or more to unpack each array argument while one integer costs almost nothing;
``TileIndex`` owns the arrays and so keeps the addresses valid.

A tile is of one of two kinds (``packing`` chooses and draws both). In a filtered tile a facet is a filter::

    key of dim A -> code 17 (once an event) -> map[17] = line 4 -> 0110 1101 ... --+
    key of dim B -> code 99                 -> map[99] = line 7 -> 1100 1111 ... --+-AND-> rows to test, one by one

In an exact tile a facet knows every end of its intervals, and no row is ever tested::

    key of dim A -> edge search -> bucket 2 -> line 0110 1101 ... --+
    key of dim B -> edge search -> bucket 7 -> line 1100 1111 ... --+-AND-> 0100 1101   who MAY match
                                                                              |
    bucket 2 has <= 7 change points inside: those the key fails --- clear --> 0100 0101   who DOES match

Entries without a facet are loose: they are tested for each row that is left. Every step loops over events or rows
and has no branch that depends on them: with one event at a time, mispredicted branches would cost more than all else.

Numba's disk cache does not notice an edit of this file: see ``SOURCES_DIGEST`` in ``kernels``.
"""

from __future__ import annotations

import numpy as np

from siftcast.matching.compiling import piece

from .lines import (
    LINE_BYTES,
    RECORD_LANES,
    TILE_ROWS,
    above,
    and_lines,
    at_most_mask,
    compare_codes,
    count_bits,
    expand_word,
    inlined,
    lesser,
    lesser_unsigned,
    list_words,
    load_int32,
    load_int64,
    load_line,
    load_uint8,
    load_uint16,
    load_uint32,
    pick_positions,
    prefetch,
    shift_right,
    store_int64,
    store_line,
    store_uint8,
    store_uint16,
    word_mask,
)

PIVOTS = 16  # Edges of a small facet, or the first edges of up to 16 groups.
GROUP = 8  # Edges of a facet's group.
CODE_GROUP = 16  # Edges of a dimension's group.
MAP_LINES = 4  # Cache lines of a filter's map from code to line.
VISITS_MAX = 64  # Events that visit a tile together; their number and a position just fit into 16 bits.
FAILED_BYTES = 2 * 64 * VISITS_MAX + 64
WORDS_BYTES = 16 * 8 * (VISITS_MAX + 1)  # Words of as many lines, and the position of each word's first bit.
WORDS_AT_ONCE = 64
FOUND_BYTES = 4 * 64 * (WORDS_AT_ONCE + 1)  # Rows of so many words.
TESTS_AT_ONCE = 6  # Loose entries of a row tested without a branch.
RECORD_BYTES = 8 + 4 * RECORD_LANES
RECORD_DIMS_MAX = 63  # A record's dimensions are looked up among 64 codes, one of which is neutral.
NEUTRAL_CODE = 1 << 15  # The fine code of the dimension that fills a record: strictly inside its interval.
SUB_MAX = 254  # So that a fine code and the next fit into 16 bits.
SHIFT_LINES = 4  # Cache lines that hold the shift of each code.

BLOCK_EVENTS = 1024  # Events of a batch that are matched together.

# Cells of the descriptor. An address cell holds the first byte of an array, a count cell a number.
(
    PART_TILES,
    PART_TILE_LINES,
    PART_DIMS,
    PART_SUMMARIES,
    PART_CODED,
    PART_CODE_TABLE,
    PART_SUMMARY,
    PART_TILE_BITS,
    PART_TILE_TABLE,
    PART_FACET_TABLE,
    PART_FACETS,
    PART_ROW_BITS,
    PART_LOOSE_BITS,
    PART_LOOSE_BEGIN,
    PART_LOOSE,
    PART_BRIEFS,
    PART_RECORDS,
    PART_VISIT_BYTES,
) = range(18)
PARTS = 18


def visit_bytes(facets: int) -> int:
    """Scratch space of a visit when no tile has more facets: failed positions, events left, words, rows, buckets."""
    return FAILED_BYTES + 8 * VISITS_MAX + WORDS_BYTES + FOUND_BYTES + VISITS_MAX * (facets + 1)


@inlined
def row_bytes(dims: int) -> int:
    """Bytes of an event's fine codes, the neutral one included."""
    return (2 * dims + 9) & ~7


@inlined
def part(index: int, cell: int) -> int:
    """A cell of the descriptor whose address is index."""
    return load_int64(index + 8 * cell)


# --- The summary: which tiles an event visits --------------------------------------------------------------


@inlined
def find_code(edges: int, count: int, key: int) -> int:
    """Number of the count sorted edges that are <= key; MISSING is below every edge, hence has code 0.

    Up to 16 edges lie in one block. More lie in groups of 16 behind a block with each group's first edge.
    Unused lanes hold the largest int64 and count only for that key, which the two minimums repair.
    """
    found = count_bits(at_most_mask(edges, key) | at_most_mask(edges + LINE_BYTES, key) << 8)
    if count > PIVOTS:
        group = max(min(found, (count + 15) >> 4), 1) - 1
        place = edges + LINE_BYTES * (2 + 2 * group)
        found = 16 * group + count_bits(at_most_mask(place, key) | at_most_mask(place + LINE_BYTES, key) << 8)
    return min(found, count)


@inlined
def find_sub(edges: int, count: int, code: int, key: int) -> int:
    """The lower half of a fine code: how far the key is above the edge of its code, in steps of a power of two."""
    edge = edges + 8 * (code - 1)
    if count > PIVOTS:
        edge += 8 * PIVOTS
    steps = shift_right(key - load_int64(edge), load_uint8(edges - SHIFT_LINES * LINE_BYTES + code))
    return lesser_unsigned(steps, SUB_MAX)


@piece
def code_keys(index: int, keys: int, codes: int, rows: int) -> None:
    """Write the fine code of each key (uint16, by dimension) and the address of each summary row of the event."""
    table, summary = part(index, PART_CODE_TABLE), part(index, PART_SUMMARY)
    fine = part(index, PART_RECORDS) != 0
    summaries, tile_lines = part(index, PART_SUMMARIES), part(index, PART_TILE_LINES)
    for i in range(part(index, PART_CODED)):
        dim, count = load_int64(table + 32 * i), load_int64(table + 32 * i + 8)
        edges = summary + LINE_BYTES * load_int64(table + 32 * i + 16)
        key = load_int64(keys + 8 * dim)
        code, sub = find_code(edges, count, key), 0
        if fine and code > 0:
            sub = find_sub(edges, count, code, key)
        store_uint16(codes + 2 * dim, code << 8 | sub)
        if i < summaries:
            bits = summary + LINE_BYTES * load_int64(table + 32 * i + 24)
            store_int64(rows + 8 * i, bits + LINE_BYTES * tile_lines * code)
    store_uint16(codes + 2 * part(index, PART_DIMS), NEUTRAL_CODE)


@piece
def list_tiles(index: int, rows: int, words: int, target: int) -> int:
    """Write the tiles (int32) that may hold a match; words is scratch."""
    summaries = part(index, PART_SUMMARIES)
    listed = 0
    for number in range(part(index, PART_TILE_LINES)):
        line = load_line(part(index, PART_TILE_BITS) + LINE_BYTES * number)
        for i in range(summaries):
            line = and_lines(line, load_line(load_int64(rows + 8 * i) + LINE_BYTES * number))
        if word_mask(line) != 0:
            count = list_words(line, TILE_ROWS * number, words, words + LINE_BYTES)
            for i in range(count):
                word, base = load_int64(words + 8 * i), load_int64(words + LINE_BYTES + 8 * i)
                listed += expand_word(word, base, target + 4 * listed)
    return listed


@piece
def mark_tiles(index: int, rows: int, target: int) -> None:
    """Write a bitmap of the tiles that may hold a match."""
    summaries = part(index, PART_SUMMARIES)
    for number in range(part(index, PART_TILE_LINES)):
        line = load_line(part(index, PART_TILE_BITS) + LINE_BYTES * number)
        for i in range(summaries):
            line = and_lines(line, load_line(load_int64(rows + 8 * i) + LINE_BYTES * number))
        store_line(target + LINE_BYTES * number, line)


# --- One tile ----------------------------------------------------------------------------------------------


@inlined
def visit_tile(
    index: int,
    tile: int,
    keys: int,
    codes: int,
    count: int,
    alive: int,
    lines: int,
    scratch: int,
    fetch: int = 0,
    step: int = 0,
) -> int:
    """Write the lines of one tile for up to VISITS_MAX events whose rows of keys and of codes are listed.

    The lines are exact but for loose entries. Meanwhile memory is fetched into the cache from ``fetch`` on, ``step``
    bytes apart; returns how far that came.
    """
    tile_entry = part(index, PART_TILE_TABLE) + 16 * tile
    first, last = load_int32(tile_entry), load_int32(tile_entry + 16)
    table, facets = part(index, PART_FACET_TABLE), part(index, PART_FACETS)
    rows = and_lines(load_line(alive + LINE_BYTES * tile), load_line(part(index, PART_ROW_BITS) + LINE_BYTES * tile))
    for i in range(count):
        store_line(lines + LINE_BYTES * i, rows)
    if load_int32(tile_entry + 8) != 0:
        visit_exactly(table + 16 * first, table + 16 * last, facets, keys, count, lines, scratch)
    else:
        fetch = visit_filters(table + 16 * first, table + 16 * last, facets, codes, count, lines, fetch, step)
    return fetch


@inlined
def facets_begin(index: int, tile: int) -> int:
    """Address of the first facet of a tile, or of the end."""
    first = load_int32(part(index, PART_TILE_TABLE) + 16 * tile)
    return part(index, PART_FACETS) + LINE_BYTES * load_int32(part(index, PART_FACET_TABLE) + 16 * first + 8)


@inlined
def filter_line(facet: int, column: int, codes: int) -> int:
    """Address of a filter's line for an event; the upper byte of a fine code is the code."""
    line = load_uint8(facet + load_uint8(codes + column + column + 1))
    return facet + LINE_BYTES * (MAP_LINES + line)


@piece
def visit_filters(entry: int, end: int, facets: int, codes: int, count: int, lines: int, fetch: int, step: int) -> int:
    """AND the filters' lines; four facets at a time spare most loads and stores of the result.

    One line is fetched a step: fetched in bursts, they would keep all else waiting.
    """
    while entry + 64 <= end:
        column0, column1 = load_int32(entry), load_int32(entry + 16)
        column2, column3 = load_int32(entry + 32), load_int32(entry + 48)
        facet0, facet1 = facets + LINE_BYTES * load_int32(entry + 8), facets + LINE_BYTES * load_int32(entry + 24)
        facet2, facet3 = facets + LINE_BYTES * load_int32(entry + 40), facets + LINE_BYTES * load_int32(entry + 56)
        for i in range(count):
            prefetch(fetch)
            fetch += step
            place, row = lines + LINE_BYTES * i, load_int64(codes + 8 * i)
            left = and_lines(load_line(filter_line(facet0, column0, row)), load_line(filter_line(facet1, column1, row)))
            right = and_lines(
                load_line(filter_line(facet2, column2, row)), load_line(filter_line(facet3, column3, row))
            )
            store_line(place, and_lines(load_line(place), and_lines(left, right)))
        entry += 64
    while entry < end:
        column, facet = load_int32(entry), facets + LINE_BYTES * load_int32(entry + 8)
        for i in range(count):
            place, row = lines + LINE_BYTES * i, load_int64(codes + 8 * i)
            store_line(place, and_lines(load_line(place), load_line(filter_line(facet, column, row))))
        entry += 16
    return fetch


@inlined
def find_bucket(edges: int, count: int, key: int) -> int:
    """As find_code, for the edges of a facet: their groups have 8."""
    found = count_bits(at_most_mask(edges, key) | at_most_mask(edges + LINE_BYTES, key) << 8)
    if count > PIVOTS:
        group = max(min(found, (count + 7) >> 3), 1) - 1
        place = edges + LINE_BYTES * (2 + group)
        found = 8 * group + count_bits(at_most_mask(place, key))
    return min(found, count)


@piece
def visit_exactly(entry: int, end: int, facets: int, keys: int, count: int, lines: int, scratch: int) -> None:
    """AND the line of each event's bucket, facet by facet; list the events with bits left; clear what they fail."""
    failed, kept = scratch, scratch + FAILED_BYTES
    buckets = kept + 8 * VISITS_MAX + WORDS_BYTES + FOUND_BYTES
    for facet in range(entry, end, 16):
        column, edge_count = 8 * load_int32(facet), load_int32(facet + 4)
        edges = facets + LINE_BYTES * load_int32(facet + 8)
        facet_lines = edges + LINE_BYTES * load_int32(facet + 12)
        for i in range(count):
            bucket = find_bucket(edges, edge_count, load_int64(load_int64(keys + 8 * i) + column))
            place = lines + LINE_BYTES * i
            store_line(place, and_lines(load_line(place), load_line(facet_lines + LINE_BYTES * bucket)))
            store_uint8(buckets + i, bucket)
        buckets += VISITS_MAX
    left = 0
    for i in range(count):
        store_int64(kept + 8 * left, i)
        left += min(word_mask(load_line(lines + LINE_BYTES * i)), 1)
    buckets = kept + 8 * VISITS_MAX + WORDS_BYTES + FOUND_BYTES
    for facet in range(entry, end, 16):
        column, edge_count = 8 * load_int32(facet), load_int32(facet + 4)
        values = facets + LINE_BYTES * (load_int32(facet + 8) + load_int32(facet + 12) + edge_count + 1)
        positions = values + LINE_BYTES * (edge_count + 1)
        last = failed
        for at in range(left):
            i = load_int64(kept + 8 * at)
            bucket = load_uint8(buckets + i)
            key = load_int64(load_int64(keys + 8 * i) + column)
            mask = at_most_mask(values + LINE_BYTES * bucket, key) ^ load_uint16(positions + 16 * bucket + 14)
            pick_positions(positions + 16 * bucket, mask, TILE_ROWS * i, last)
            last += 2 * count_bits(mask)
        clear_positions(lines, failed, last)
        buckets += VISITS_MAX


@inlined
def clear_positions(lines: int, begin: int, end: int) -> None:
    """Clear the bits of consecutive lines whose numbers (uint16) stand between two addresses."""
    for at in range(begin, end, 2):
        position = load_uint16(at)
        word = lines + 8 * (position >> 6)
        store_int64(word, load_int64(word) & ~(np.int64(1) << (position & 63)))


# --- Loose entries -----------------------------------------------------------------------------------------


@inlined
def fails(row: int, entry: int, brief: int) -> int:
    """1 if the key is outside the interval of a loose entry, else 0; below its low, the difference wraps around."""
    key = load_int64(row + 8 * (brief >> 16))
    return above(key - load_int64(entry), load_int64(entry + 8))


@inlined
def margin(codes: int, brief: int) -> int:
    """How far the event's code is inside the codes of an entry: negative if outside, zero if that is to be seen."""
    code = load_uint8(codes + 2 * (brief >> 16) + 1)
    return lesser(code - (brief & 255), (brief >> 8 & 255) - code)


@inlined
def least_margin(briefs: int, first: int, end: int, codes: int, tests: int) -> int:
    """Negative if the event fails a loose entry, zero if keys must tell; the first tests are read even if absent."""
    least = 256
    for i in range(first, first + tests):
        least = lesser(least, margin(codes, load_uint32(briefs + 4 * i)) + ((end - 1 - i) >> 63 & 512))
    for i in range(first + tests, end):
        least = lesser(least, margin(codes, load_uint32(briefs + 4 * i)))
    return least


@inlined
def fails_any(loose: int, briefs: int, first: int, end: int, row: int) -> int:
    """1 if a key is outside the interval of a loose entry, else 0."""
    wrong = 0
    for i in range(first, end):
        wrong |= fails(row, loose + 16 * i, load_uint32(briefs + 4 * i))
    return wrong


@inlined
def tile_records(index: int, tile: int) -> int:
    """Address of the records of a tile; zero if there are none."""
    records = part(index, PART_RECORDS)
    return records + RECORD_BYTES * TILE_ROWS * tile if records != 0 else 0


@inlined
def in_doubt(verdict: int) -> bool:
    """Whether compare_codes leaves a doubt; one test for both certain outcomes, which no branch could predict."""
    return (verdict - (1 << 16)) & -verdict < 0


@inlined
def settle(index: int, place: int, row: int) -> int:
    """1 if a key is outside the interval of a loose entry of the row whose begin is at place, else 0."""
    first, end = load_int32(place), load_int32(place + 4)
    return fails_any(part(index, PART_LOOSE), part(index, PART_BRIEFS), first, end, row)


@inlined
def row_fails(index: int, tile: int, position: int, row: int, codes: int) -> int:
    """1 if an event fails a loose entry of a row, else 0."""
    place = part(index, PART_LOOSE_BEGIN) + 4 * (TILE_ROWS * tile + position)
    if part(index, PART_RECORDS) != 0:
        verdict = compare_codes(codes, tile_records(index, tile) + RECORD_BYTES * position)
        if not in_doubt(verdict):
            return lesser(verdict, 1)
    else:
        tests = load_int32(part(index, PART_TILE_TABLE) + 16 * tile + 4)
        least = least_margin(part(index, PART_BRIEFS), load_int32(place), load_int32(place + 4), codes, tests)
        if least != 0:
            return least >> 63 & 1
    return settle(index, place, row)


@piece
def clear_failing(index: int, tile: int, keys: int, codes: int, count: int, lines: int, scratch: int) -> None:
    """Clear the rows that fail a loose entry: list those that are left, test them, clear."""
    loose_bits = load_line(part(index, PART_LOOSE_BITS) + LINE_BYTES * tile)
    words = scratch + FAILED_BYTES + 8 * VISITS_MAX
    bases, found = words + WORDS_BYTES // 2, words + WORDS_BYTES
    listed = 0
    for i in range(count):
        line = and_lines(load_line(lines + LINE_BYTES * i), loose_bits)
        listed += list_words(line, TILE_ROWS * i, words + 8 * listed, bases + 8 * listed)
    for first in range(0, listed, WORDS_AT_ONCE):
        candidates = 0
        for i in range(first, min(first + WORDS_AT_ONCE, listed)):
            candidates += expand_word(load_int64(words + 8 * i), load_int64(bases + 8 * i), found + 4 * candidates)
        end = scratch
        for i in range(candidates):
            candidate = load_int32(found + 4 * i)
            row, code = load_int64(keys + 8 * (candidate >> 9)), load_int64(codes + 8 * (candidate >> 9))
            store_uint16(end, candidate)
            end += 2 * row_fails(index, tile, candidate & (TILE_ROWS - 1), row, code)
        clear_positions(lines, scratch, end)
