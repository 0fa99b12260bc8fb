"""Numba kernels of the tile index: 512-bit lines on raw addresses.

Everything that touches an event lives in this one file, because Numba's disk cache notices an edit only in
the file of the cached function: an intrinsic in another file could be changed and the stale machine code
would still run. Kernels read the index through raw addresses kept in one descriptor (the ``PART_*``
constants number its cells), since Numba needs 0.1 us or more to unpack each array argument while one
integer costs almost nothing; ``TileIndex`` owns the arrays and so keeps the addresses valid.

How one event meets one tile, for two slots (a slot is what a tile knows about one dimension)::

    key of dim A -> edge search -> bucket 2 -> line 0110 1101 ... --+
    key of dim B -> edge search -> bucket 7 -> line 1100 1111 ... --+-AND-> 0100 1101   who MAY match
                                                                              |
    bucket 2 has <= 7 change points inside: those the key fails --- clear --> 0100 0101   who DOES match

A batch runs in three passes over a block of events, so that every buffer stays small and no hit is moved
twice: (1) event by event, AND the summary rows into the list of surviving tiles; (2) tile by tile, while
its slots sit in the cache, write each pair's exact line to the place the pair has in event order; (3) event
by event, expand lines into positions, which therefore leave in the order the caller wants.

Where the CPU has AVX-512 VBMI2 three steps use its compress instruction (through the portable LLVM
intrinsic); elsewhere loops over set bits replace them. ``COMPRESSES`` tells which; ``NUMBA_CPU_NAME=generic``
forces the loops. Rejected: compress-store of 32-bit positions, which Zen 4 microcodes, and regrouping hits
after a tile-major expansion, which moves each hit twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic as untyped_intrinsic
from numba.extending import models, register_model

F = TypeVar("F", bound=Callable[..., Any])

TILE_ROWS = 512
LINE_BYTES = 64
PIVOTS = 16  # Edges of a small slot, or the first edges of up to 16 groups of 8.
BLOCK_EVENTS = 1024
VISITS_MAX = 64  # Events that visit a tile together; their number and a position just fit into 16 bits.
LOOSE_WORDS = 64  # Words of lines whose rows are tested for loose entries at a time.
FAILED_BYTES = 2 * 64 * LOOSE_WORDS + 64
CHUNK_LINES = 64  # Lines whose words are listed before they are expanded: 8 KiB, a part of the L1 cache.
NEAR_BYTES = VISITS_MAX * (8 + LINE_BYTES)  # Key rows and lines of the events that visit a tile together.
WORDS_BYTES = 2 * LINE_BYTES * (CHUNK_LINES + 1)

# Cells of the descriptor. An address cell holds the first byte of an array, a count cell a number.
(
    PART_TILES,
    PART_TILE_LINES,
    PART_SUMMARIES,
    PART_SUMMARY_TABLE,
    PART_SUMMARY,
    PART_TILE_BITS,
    PART_SLOT_BEGIN,
    PART_SLOT_TABLE,
    PART_SLOTS,
    PART_ROW_BITS,
    PART_LOOSE_BITS,
    PART_LOOSE_BEGIN,
    PART_LOOSE,
    PART_DIMS,
    PART_VISIT_BYTES,
) = range(15)
PARTS = 15


def visit_bytes(slots: int) -> int:
    """Scratch space of visit_tile when no tile has more slots: failed positions, events left, buckets,
    words and rows to test."""
    found_bytes = 4 * 64 * (LOOSE_WORDS + 1)
    return FAILED_BYTES + LINE_BYTES * (slots + 9) + WORDS_BYTES + found_bytes


def _host_compresses() -> bool:
    """Whether generated code may use vpcompressb/w and 512-bit registers: only if Numba targets this host."""
    target = numba.config.CPU_NAME
    features = llvm.get_host_cpu_features()
    wanted = ("avx512f", "avx512bw", "avx512vl", "avx512vbmi2")
    return (not target or target == llvm.get_host_cpu_name()) and all(features.get(name) for name in wanted)


COMPRESSES: bool = _host_compresses()


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's intrinsic decorator; a kernel calls the result without the typing context."""
    return cast("Callable[..., Any]", untyped_intrinsic(function))


def kernel(function: F) -> F:
    """Compile once, keep the machine code on disk, and let other threads run meanwhile."""
    return cast("F", numba.njit(cache=True, nogil=True, boundscheck=False)(function))


def inlined(function: F) -> F:
    """A piece of a kernel; inlined early, so vectors stay in registers across the call."""
    return cast("F", numba.njit(inline="always")(function))


# --- Intrinsics: loads, stores and 512-bit operations ------------------------------------------------------

BIT, BYTE, SHORT, INT, LONG = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
LINE_IR = ir.VectorType(LONG, 8)
BYTES_IR = ir.VectorType(BYTE, 64)
SHORTS_IR = ir.VectorType(SHORT, 8)
INTS_IR = ir.VectorType(INT, 16)
int64 = types.int64


class LineType(types.Type):  # type: ignore[misc]
    """Numba type of a 512-bit line held in a register."""

    def __init__(self) -> None:
        super().__init__(name="line512")


@register_model(LineType)  # type: ignore[untyped-decorator]
class LineModel(models.PrimitiveModel):  # type: ignore[misc]
    """A line is eight 64-bit words to LLVM."""

    def __init__(self, manager: Any, line_type: LineType) -> None:
        super().__init__(manager, line_type, LINE_IR)


line512 = LineType()


def _function(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    known = builder.module.globals.get(name)
    return known or ir.Function(builder.module, ir.FunctionType(result, arguments), name)


def _load(builder: Any, address: Any, kind: Any) -> Any:
    # Alignment is promised to the element only: an unaligned load of aligned data costs nothing.
    found = builder.load(builder.inttoptr(address, kind.as_pointer()))
    found.align = getattr(kind, "element", kind).width // 8
    return found


def _store(builder: Any, value: Any, address: Any, kind: Any) -> None:
    stored = builder.store(value, builder.inttoptr(address, kind.as_pointer()))
    stored.align = getattr(kind, "element", kind).width // 8


def _splat(builder: Any, value: Any, kind: Any) -> Any:
    undefined = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(undefined, value, ir.Constant(INT, 0))
    everywhere = ir.Constant(ir.VectorType(INT, kind.count), [0] * kind.count)
    return builder.shuffle_vector(one, undefined, everywhere)


def _compress(builder: Any, value: Any, mask: Any, kind: Any) -> Any:
    """Move the lanes selected by mask to the front; what follows them is undefined."""
    name = f"llvm.experimental.vector.compress.v{kind.count}i{kind.element.width}"
    compress = _function(builder, name, kind, [kind, ir.VectorType(BIT, kind.count), kind])
    return builder.call(compress, [value, mask, ir.Constant(kind, ir.Undefined)])


def _loader(kind: Any, extend: str) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = _load(builder, args[0], kind)
        return value if kind.width == 64 else getattr(builder, extend)(value, LONG)

    return int64(int64), generate


def _storer(kind: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = args[1] if kind.width == 64 else builder.trunc(args[1], kind)
        _store(builder, value, args[0], kind)
        return context.get_dummy_value()

    return types.none(int64, int64), generate


@intrinsic
def load_int64(typing: Any, address: Any) -> Any:
    return _loader(LONG, "sext")


@intrinsic
def load_int32(typing: Any, address: Any) -> Any:
    return _loader(INT, "sext")


@intrinsic
def load_uint8(typing: Any, address: Any) -> Any:
    return _loader(BYTE, "zext")


@intrinsic
def load_uint16(typing: Any, address: Any) -> Any:
    return _loader(SHORT, "zext")


@intrinsic
def store_int64(typing: Any, address: Any, value: Any) -> Any:
    return _storer(LONG)


@intrinsic
def store_int32(typing: Any, address: Any, value: Any) -> Any:
    return _storer(INT)


@intrinsic
def store_uint8(typing: Any, address: Any, value: Any) -> Any:
    return _storer(BYTE)


@intrinsic
def store_uint16(typing: Any, address: Any, value: Any) -> Any:
    return _storer(SHORT)


@intrinsic
def load_line(typing: Any, address: Any) -> Any:
    return line512(int64), lambda context, builder, signature, args: _load(builder, args[0], LINE_IR)


@intrinsic
def store_line(typing: Any, address: Any, line: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _store(builder, args[1], args[0], LINE_IR)
        return context.get_dummy_value()

    return types.none(int64, line512), generate


@intrinsic
def and_lines(typing: Any, left: Any, right: Any) -> Any:
    return line512(line512, line512), lambda context, builder, signature, args: builder.and_(*args)


@intrinsic
def word_mask(typing: Any, line: Any) -> Any:
    """Eight bits, one for each word of the line that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        set_words = builder.icmp_unsigned("!=", args[0], ir.Constant(LINE_IR, [0] * 8))
        return builder.zext(builder.bitcast(set_words, BYTE), LONG)

    return int64(line512), generate


@intrinsic
def at_most_mask(typing: Any, address: Any, key: Any) -> Any:
    """Eight bits, one for each of the eight int64 at address that is <= key."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values, keys = _load(builder, args[0], LINE_IR), _splat(builder, args[1], LINE_IR)
        passed = builder.icmp_signed("<=", values, keys)
        return builder.zext(builder.bitcast(passed, BYTE), LONG)

    return int64(int64, int64), generate


@intrinsic
def count_bits(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.call(_function(builder, "llvm.ctpop.i64", LONG, [LONG]), [args[0]])

    return int64(int64), generate


@intrinsic
def count_line(typing: Any, line: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counts = builder.call(_function(builder, "llvm.ctpop.v8i64", LINE_IR, [LINE_IR]), [args[0]])
        return builder.call(_function(builder, "llvm.vector.reduce.add.v8i64", LONG, [LINE_IR]), [counts])

    return int64(line512), generate


@intrinsic
def lowest_bit(typing: Any, word: Any) -> Any:
    """Number of the lowest set bit; word must not be zero."""
    return int64(int64), lambda context, builder, signature, args: builder.cttz(args[0], ir.Constant(BIT, 1))


@intrinsic
def prefetch(typing: Any, address: Any) -> Any:
    """Ask for a cache line in L2; an address outside the process is harmless."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], BYTE.as_pointer())
        ask = _function(builder, "llvm.prefetch.p0", ir.VoidType(), [BYTE.as_pointer(), INT, INT, INT])
        builder.call(ask, [pointer, ir.Constant(INT, 0), ir.Constant(INT, 2), ir.Constant(INT, 1)])
        return context.get_dummy_value()

    return types.none(int64), generate


# --- The three steps that differ with and without a compress instruction -----------------------------------

if COMPRESSES:

    @intrinsic
    def pick_positions(typing: Any, positions: Any, mask: Any, base: Any, target: Any) -> Any:
        """Write base + those uint16 of eight whose mask bit is set; eight lanes are overwritten."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            lanes = builder.bitcast(builder.trunc(args[1], BYTE), ir.VectorType(BIT, 8))
            start = _splat(builder, builder.trunc(args[2], SHORT), SHORTS_IR)
            moved = builder.add(_load(builder, args[0], SHORTS_IR), start)
            _store(builder, _compress(builder, moved, lanes, SHORTS_IR), args[3], SHORTS_IR)
            return context.get_dummy_value()

        return types.none(int64, int64, int64, int64), generate

    @intrinsic
    def list_words(typing: Any, line: Any, base: Any, words: Any, bases: Any) -> Any:
        """Write the non-zero words of a line and the position of their bit 0; eight lanes are overwritten."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            line, base, words, bases = args
            lanes = builder.icmp_unsigned("!=", line, ir.Constant(LINE_IR, [0] * 8))
            offsets = ir.Constant(LINE_IR, [64 * i for i in range(8)])
            starts = builder.add(_splat(builder, base, LINE_IR), offsets)
            _store(builder, _compress(builder, line, lanes, LINE_IR), words, LINE_IR)
            _store(builder, _compress(builder, starts, lanes, LINE_IR), bases, LINE_IR)
            mask = builder.zext(builder.bitcast(lanes, BYTE), LONG)
            return builder.call(_function(builder, "llvm.ctpop.i64", LONG, [LONG]), [mask])

        return int64(line512, int64, int64, int64), generate

    def _expander(parts: tuple[int, ...]) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            word, base, target = args
            lanes = builder.bitcast(word, ir.VectorType(BIT, 64))
            found = _compress(builder, ir.Constant(BYTES_IR, list(range(64))), lanes, BYTES_IR)
            start = _splat(builder, builder.trunc(base, INT), INTS_IR)
            for part in parts:
                chosen = ir.Constant(INTS_IR, [16 * part + lane for lane in range(16)])
                quarter = builder.shuffle_vector(found, ir.Constant(BYTES_IR, ir.Undefined), chosen)
                place = builder.add(target, ir.Constant(LONG, LINE_BYTES * part))
                _store(builder, builder.add(builder.zext(quarter, INTS_IR), start), place, INTS_IR)
            return context.get_dummy_value()

        return types.none(int64, int64, int64), generate

    @intrinsic
    def expand_first(typing: Any, word: Any, base: Any, target: Any) -> Any:
        """Write base + number of each of the first 16 set bits as int32; 16 lanes are overwritten."""
        return _expander((0,))

    @intrinsic
    def expand_rest(typing: Any, word: Any, base: Any, target: Any) -> Any:
        """Write what expand_first leaves out; 48 further lanes are overwritten."""
        return _expander((1, 2, 3))

    @inlined
    def expand_word(word: int, base: int, target: int) -> int:
        """Write base + number of each set bit as int32, return the count; 64 lanes may be overwritten."""
        count = count_bits(word)
        expand_first(word, base, target)
        if count > 16:
            expand_rest(word, base, target)
        return count

else:

    @inlined
    def pick_positions(positions: int, mask: int, base: int, target: int) -> None:
        while mask != 0:
            store_uint16(target, base + load_uint16(positions + 2 * lowest_bit(mask)))
            target += 2
            mask &= mask - 1

    @inlined
    def list_words(line: Any, base: int, words: int, bases: int) -> int:
        store_line(words, line)
        mask = word_mask(line)
        count = 0
        while mask != 0:
            # The list is compacted in place: a word never moves to a place that is still to be read.
            number = lowest_bit(mask)
            store_int64(words + 8 * count, load_int64(words + 8 * number))
            store_int64(bases + 8 * count, base + 64 * number)
            count += 1
            mask &= mask - 1
        return count

    @inlined
    def expand_word(word: int, base: int, target: int) -> int:
        count = count_bits(word)
        while word != 0:
            store_int32(target, base + lowest_bit(word))
            target += 4
            word &= word - 1
        return count


# --- One event against the summary and against one tile ----------------------------------------------------


@inlined
def address_of(array: Any) -> int:
    """Signed, because Numba turns the sum of a signed and an unsigned integer into a float."""
    return np.int64(array.ctypes.data)  # type: ignore[return-value]


@inlined
def part(index: int, cell: int) -> int:
    """A cell of the descriptor whose address is index."""
    return load_int64(index + 8 * cell)


@inlined
def find_bucket(edges: int, count: int, key: int) -> int:
    """Number of the count sorted edges that are <= key; MISSING is below every edge, hence in bucket 0.

    Up to 16 edges lie in one block. More lie in groups of 8 behind a block with each group's first edge.
    Unused lanes hold the largest int64 and count only for that key, which the two minimums repair.
    """
    found = count_bits(at_most_mask(edges, key) | at_most_mask(edges + LINE_BYTES, key) << 8)
    if count > PIVOTS:
        group = max(min(found, (count + 7) >> 3), 1) - 1
        place = edges + LINE_BYTES * (2 + group)
        found = 8 * group + count_bits(at_most_mask(place, key))
    return min(found, count)


@inlined
def list_tiles(index: int, keys: int, rows: int, words: int, target: int) -> int:
    """Write the tiles (int32) that may hold a match; rows and words are scratch."""
    summaries = part(index, PART_SUMMARIES)
    table = part(index, PART_SUMMARY_TABLE)
    summary = part(index, PART_SUMMARY)
    tile_lines = part(index, PART_TILE_LINES)
    for i in range(summaries):
        entry = table + 24 * i
        edges = summary + LINE_BYTES * load_int64(entry + 16)
        count = load_int64(entry + 8)
        bucket = find_bucket(edges, count, load_int64(keys + 8 * load_int64(entry)))
        edge_lines = edge_line_count(count)
        store_int64(rows + 8 * i, edges + LINE_BYTES * (edge_lines + bucket * tile_lines))
    listed = 0
    for number in range(tile_lines):
        line = load_line(part(index, PART_TILE_BITS) + LINE_BYTES * number)
        for i in range(summaries):
            line = and_lines(line, load_line(load_int64(rows + 8 * i) + LINE_BYTES * number))
        if word_mask(line) != 0:
            count = list_words(line, TILE_ROWS * number, words, words + LINE_BYTES)
            for i in range(count):
                word, base = load_int64(words + 8 * i), load_int64(words + LINE_BYTES + 8 * i)
                listed += expand_word(word, base, target + 4 * listed)
    return listed


@inlined
def edge_line_count(count: int) -> int:
    """Cache lines taken by count edges."""
    return 2 if count <= PIVOTS else 2 + ((count + 7) >> 3)


@inlined
def visit_tile(index: int, tile: int, keys: int, count: int, alive: int, lines: int, scratch: int) -> None:
    """Write the exact lines of one tile for up to VISITS_MAX events whose key rows are listed at keys.

    Every step loops over the events and has no branch that depends on them: with one event at a time, two
    mispredicted branches a visit cost more than all else. Step 1 ANDs, slot by slot, the line of each event's
    bucket; step 2 lists the events with bits left; step 3 clears, slot by slot, the bits of the change points
    that these events fail; step 4 tests the rows that are left for loose entries.
    """
    first = load_int32(part(index, PART_SLOT_BEGIN) + 4 * tile)
    last = load_int32(part(index, PART_SLOT_BEGIN) + 4 * tile + 4)
    table, slots = part(index, PART_SLOT_TABLE), part(index, PART_SLOTS)
    failed, kept = scratch, scratch + FAILED_BYTES
    buckets = kept + 8 * VISITS_MAX
    rows = and_lines(
        load_line(alive + LINE_BYTES * tile), load_line(part(index, PART_ROW_BITS) + LINE_BYTES * tile)
    )
    for i in range(count):
        store_line(lines + LINE_BYTES * i, rows)
    for slot in range(first, last):
        entry = table + 16 * slot
        column, edge_count = 8 * load_int32(entry), load_int32(entry + 4)
        edges = slots + LINE_BYTES * load_int32(entry + 8)
        slot_lines = edges + LINE_BYTES * load_int32(entry + 12)
        for i in range(count):
            bucket = find_bucket(edges, edge_count, load_int64(load_int64(keys + 8 * i) + column))
            place = lines + LINE_BYTES * i
            store_line(place, and_lines(load_line(place), load_line(slot_lines + LINE_BYTES * bucket)))
            store_uint8(buckets + i, bucket)
        buckets += VISITS_MAX
    left = 0
    for i in range(count):
        store_int64(kept + 8 * left, i)
        left += min(word_mask(load_line(lines + LINE_BYTES * i)), 1)
    buckets = kept + 8 * VISITS_MAX
    for slot in range(first, last):
        entry = table + 16 * slot
        column, edge_count = 8 * load_int32(entry), load_int32(entry + 4)
        values = slots + LINE_BYTES * (load_int32(entry + 8) + load_int32(entry + 12) + edge_count + 1)
        positions = values + LINE_BYTES * (edge_count + 1)
        end = failed
        for at in range(left):
            i = load_int64(kept + 8 * at)
            bucket = load_uint8(buckets + i)
            key = load_int64(load_int64(keys + 8 * i) + column)
            mask = at_most_mask(values + LINE_BYTES * bucket, key) ^ load_uint16(positions + 16 * bucket + 14)
            pick_positions(positions + 16 * bucket, mask, TILE_ROWS * i, end)
            end += 2 * count_bits(mask)
        clear_positions(lines, failed, end)
        buckets += VISITS_MAX
    if part(index, PART_LOOSE_BITS) != 0:
        loose = load_line(part(index, PART_LOOSE_BITS) + LINE_BYTES * tile)
        if word_mask(loose) != 0:
            check_loose(index, tile, keys, kept, left, lines, failed, buckets)


@inlined
def clear_positions(lines: int, begin: int, end: int) -> None:
    """Clear the bits of consecutive lines whose numbers (uint16) stand between two addresses."""
    for at in range(begin, end, 2):
        position = load_uint16(at)
        word = lines + 8 * (position >> 6)
        store_int64(word, load_int64(word) & ~(np.int64(1) << (position & 63)))


@kernel
def check_loose(
    index: int, tile: int, keys: int, kept: int, left: int, lines: int, failed: int, words: int
) -> None:
    """Test the entries of thinly used dimensions, for the rows that the slots have left only.

    Rows are listed first and tested then, two entries each without a branch: few rows have more.
    """
    loose = load_line(part(index, PART_LOOSE_BITS) + LINE_BYTES * tile)
    begins = part(index, PART_LOOSE_BEGIN) + 4 * TILE_ROWS * tile
    bases, found = words + WORDS_BYTES // 2, words + WORDS_BYTES
    listed = 0
    for at in range(left):
        i = load_int64(kept + 8 * at)
        line = and_lines(load_line(lines + LINE_BYTES * i), loose)
        listed += list_words(line, TILE_ROWS * i, words + 8 * listed, bases + 8 * listed)
    for first in range(0, listed, LOOSE_WORDS):
        count = 0
        for i in range(first, min(first + LOOSE_WORDS, listed)):
            count += expand_word(load_int64(words + 8 * i), load_int64(bases + 8 * i), found + 4 * count)
        end = failed
        for i in range(count):
            candidate = load_int32(found + 4 * i)
            place = begins + 4 * (candidate & (TILE_ROWS - 1))
            entry = part(index, PART_LOOSE) + 24 * load_int32(place)
            entry_end = part(index, PART_LOOSE) + 24 * load_int32(place + 4)
            row = load_int64(keys + 8 * (candidate >> 9))
            wrong = fails(row, entry) | (fails(row, entry + 24) & (entry + 24 < entry_end))
            entry += 48
            while entry < entry_end:
                wrong |= fails(row, entry)
                entry += 24
            store_uint16(end, candidate)
            end += 2 * wrong
        clear_positions(lines, failed, end)


@inlined
def fails(row: int, entry: int) -> int:
    """1 if the event with these keys is outside the interval of a loose entry, else 0."""
    key = load_int64(row + load_int64(entry + 16))
    return (key < load_int64(entry)) | (key > load_int64(entry + 8))


@inlined
def count_lines(lines: int, count: int) -> int:
    """Set bits in count lines."""
    total = 0
    for i in range(count):
        total += count_line(load_line(lines + LINE_BYTES * i))
    return total


@inlined
def expand_lines(lines: int, tiles: int, count: int, words: int, target: int) -> int:
    """Write the positions (int32) of count lines that belong to the tiles listed at tiles."""
    bases = words + LINE_BYTES * (CHUNK_LINES + 1)
    start = target
    for chunk in range(0, count, CHUNK_LINES):
        listed = 0
        for i in range(chunk, min(chunk + CHUNK_LINES, count)):
            base = TILE_ROWS * load_int32(tiles + 4 * i)
            line = load_line(lines + LINE_BYTES * i)
            listed += list_words(line, base, words + 8 * listed, bases + 8 * listed)
        for i in range(listed):
            target += 4 * expand_word(load_int64(words + 8 * i), load_int64(bases + 8 * i), target)
    return (target - start) >> 2


# --- Kernels that Python calls -----------------------------------------------------------------------------


@inlined
def check_arguments(index: int, keys: Any, dims: int, alive: Any) -> None:
    """Refuse what raw addresses would misread; the type tests vanish at compile time."""
    contiguous = keys.flags.c_contiguous and alive.flags.c_contiguous
    if keys.itemsize != 8 or alive.itemsize != 8 or not contiguous:
        raise ValueError("keys must be C-contiguous int64 and alive contiguous uint64")
    if dims != part(index, PART_DIMS) or alive.size < 8 * part(index, PART_TILES):
        raise ValueError("keys need one column a dimension and alive 8 words a tile")


@kernel
def exists_one(index: int, keys: Any, alive: Any) -> bool:
    """Whether any row matches one event."""
    check_arguments(index, keys, keys.size, alive)
    space = make_scratch(index)
    found = exists_at(index, address_of(keys), address_of(alive), address_of(space))
    hold(space)
    return found


@inlined
def make_scratch(index: int) -> Any:
    """Uninitialised space for one event: notes of a visit, summary rows, words, one line, tiles."""
    size = part(index, PART_VISIT_BYTES) + 8 * part(index, PART_SUMMARIES) + 8 * part(index, PART_TILES)
    return np.empty((size + WORDS_BYTES + 1024) >> 3, np.int64)


@inlined
def hold(space: Any) -> None:
    """Keep an array until here: Numba frees it after the last use that it sees, and sees no raw address."""
    space[0] = 0


@inlined
def exists_at(index: int, keys: int, alive: int, space: int) -> bool:
    scratch = (space + 63) & ~63
    line = scratch + part(index, PART_VISIT_BYTES)
    key_list = line + LINE_BYTES
    words = key_list + LINE_BYTES
    rows = words + 2 * LINE_BYTES
    tiles = rows + 8 * part(index, PART_SUMMARIES)
    count = list_tiles(index, keys, rows, words, tiles)
    store_int64(key_list, keys)
    for i in range(count):
        visit_tile(index, load_int32(tiles + 4 * i), key_list, 1, alive, line, scratch)
        if word_mask(load_line(line)) != 0:
            return True
    return False


@kernel
def exists_many(index: int, keys: Any, alive: Any) -> Any:
    """Whether any row matches, for each event."""
    check_arguments(index, keys, keys.shape[1], alive)
    space = make_scratch(index)
    found = np.empty(keys.shape[0], np.bool_)
    for event in range(keys.shape[0]):
        place = address_of(keys) + 8 * event * keys.shape[1]
        found[event] = exists_at(index, place, address_of(alive), address_of(space))
    hold(space)
    return found


@kernel
def match_one(index: int, keys: Any, alive: Any) -> Any:
    """Positions of the rows that match one event, ascending."""
    check_arguments(index, keys, keys.size, alive)
    space = make_scratch(index)
    scratch = (address_of(space) + 63) & ~63
    words = scratch + part(index, PART_VISIT_BYTES)
    rows = words + WORDS_BYTES
    tiles = rows + 8 * part(index, PART_SUMMARIES)
    count = list_tiles(index, address_of(keys), rows, words, tiles)
    line_space = np.empty(8 * count + 8, np.int64)
    lines = (address_of(line_space) + 63) & ~63
    store_int64(words, address_of(keys))
    for i in range(count):
        tile, line = load_int32(tiles + 4 * i), lines + LINE_BYTES * i
        visit_tile(index, tile, words, 1, address_of(alive), line, scratch)
    total = count_lines(lines, count)
    positions = np.empty(total + 64, np.int32)
    expand_lines(lines, tiles, count, words, address_of(positions))
    hold(space)
    hold(line_space)
    return positions[:total]


def batch_bytes(visit: int, summaries: int, tiles: int, pairs: int) -> int:
    """Bytes that match_many needs for blocks of up to ``pairs`` pairs of an event and a tile."""
    fixed = visit + NEAR_BYTES + WORDS_BYTES + 8 * (summaries + tiles + BLOCK_EVENTS) + 1024
    return fixed + (LINE_BYTES + 12) * pairs + 1024


@kernel
def match_many(index: int, keys: Any, alive: Any, space: Any, pairs: int) -> Any:
    """Positions that match each event, one event after the other, and the events' offsets among them."""
    check_arguments(index, keys, keys.shape[1], alive)
    tiles, dims, events = part(index, PART_TILES), keys.shape[1], keys.shape[0]
    scratch = (address_of(space) + 63) & ~63
    words = scratch + part(index, PART_VISIT_BYTES) + NEAR_BYTES
    rows = words + WORDS_BYTES
    begins = rows + 8 * part(index, PART_SUMMARIES)
    counts = begins + 8 * (BLOCK_EVENTS + 1)
    lines = (counts + 8 * (tiles + 2) + 63) & ~63
    by_tile = lines + LINE_BYTES * pairs
    pair_tiles = by_tile + 8 * pairs
    offsets = np.zeros(events + 1, np.int64)
    positions = np.empty(0, np.int32)
    total, event = 0, 0
    while event < events:
        block_keys = address_of(keys) + 8 * event * dims
        # Pass 1: the tiles of each event, until the block or its space for pairs is full.
        block, filled = 0, 0
        while block < BLOCK_EVENTS and event + block < events and filled + tiles <= pairs:
            store_int64(begins + 8 * block, filled)
            place = block_keys + 8 * block * dims
            filled += list_tiles(index, place, rows, words, pair_tiles + 4 * filled)
            block += 1
        store_int64(begins + 8 * block, filled)
        # Pass 2: the exact line of each pair.
        group_by_tile(begins, block, pair_tiles, tiles, counts, by_tile)
        visit_pairs(index, block_keys, address_of(alive), counts, by_tile, lines, scratch)
        # Pass 3: count, make room, expand.
        found = count_lines(lines, filled)
        if total + found + 64 > positions.size:
            # One block of a longer batch predicts the others; an eighth more spares most later moves.
            more = found if event + block == events else found * (events - event) // block * 9 // 8
            grown = np.empty(total + max(more, found) + 64, np.int32)
            grown[:total] = positions[:total]
            positions = grown
        for i in range(block):
            begin = load_int64(begins + 8 * i)
            count = load_int64(begins + 8 * i + 8) - begin
            target = address_of(positions) + 4 * total
            total += expand_lines(lines + LINE_BYTES * begin, pair_tiles + 4 * begin, count, words, target)
            offsets[event + i + 1] = total
        event += block
    return positions[:total], offsets


@kernel
def group_by_tile(begins: int, events: int, pair_tiles: int, tiles: int, counts: int, by_tile: int) -> None:
    """Counting sort of the pairs by tile: by_tile gets event << 32 | pair, counts each tile's begin."""
    for tile in range(tiles + 2):
        store_int64(counts + 8 * tile, 0)
    pairs = load_int64(begins + 8 * events)
    for pair in range(pairs):
        place = counts + 8 * load_int32(pair_tiles + 4 * pair) + 16
        store_int64(place, load_int64(place) + 1)
    for tile in range(tiles):
        place = counts + 8 * tile + 16
        store_int64(place, load_int64(place) + load_int64(place - 8))
    # A tile's cell, one further on, advances from its begin to its end: which is the next tile's begin.
    for event in range(events):
        for pair in range(load_int64(begins + 8 * event), load_int64(begins + 8 * event + 8)):
            place = counts + 8 * load_int32(pair_tiles + 4 * pair) + 8
            at = load_int64(place)
            store_int64(by_tile + 8 * at, event << 32 | pair)
            store_int64(place, at + 1)


@kernel
def visit_pairs(
    index: int, keys: int, alive: int, counts: int, by_tile: int, lines: int, scratch: int
) -> None:
    """Write the line of every pair, tile by tile; meanwhile fetch the next tile's slots into the cache."""
    tiles, dims = part(index, PART_TILES), part(index, PART_DIMS)
    begins, table = part(index, PART_SLOT_BEGIN), part(index, PART_SLOT_TABLE)
    key_list = scratch + part(index, PART_VISIT_BYTES)
    near = key_list + 8 * VISITS_MAX
    for tile in range(tiles):
        first, last = load_int64(counts + 8 * tile), load_int64(counts + 8 * tile + 8)
        ahead = load_int32(table + 16 * load_int32(begins + 4 * tile + 4) + 8)
        ahead_end = load_int32(table + 16 * load_int32(begins + 4 * min(tile + 2, tiles)) + 8)
        fetch = part(index, PART_SLOTS) + LINE_BYTES * ahead
        step = 0
        if last - first >= 64:
            # Fewer visits touch too little of a tile to be worth reading all of it.
            step = (ahead_end - ahead) // (last - first) + 1
        for chunk in range(first, last, VISITS_MAX):
            count = min(last - chunk, VISITS_MAX)
            for i in range(count):
                for _ in range(step):
                    prefetch(fetch)
                    fetch += LINE_BYTES
                event = load_int64(by_tile + 8 * (chunk + i)) >> 32
                store_int64(key_list + 8 * i, keys + 8 * event * dims)
            visit_tile(index, tile, key_list, count, alive, near, scratch)
            for i in range(count):
                pair = load_int64(by_tile + 8 * (chunk + i)) & 0xFFFFFFFF
                store_line(lines + LINE_BYTES * pair, load_line(near + LINE_BYTES * i))
