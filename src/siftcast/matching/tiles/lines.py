"""512-bit lines on raw addresses: the LLVM operations that the matching kernels are made of.

A line is 512 bits in one register, one bit for each row of a tile. An address is a plain signed integer; nothing
is checked here, ``kernels`` checks its arguments once.

Where the CPU has AVX-512 VBMI2 three steps use its compress instruction (through the portable LLVM intrinsic), one its
permutation of shorts and one its masked store; elsewhere loops replace them. ``COMPRESSES`` tells which;
``NUMBA_CPU_NAME=generic`` forces the loops.
Rejected: compress-store of 32-bit positions, which Zen 4 microcodes.

Numba's disk cache does not notice an edit of this file: see ``SOURCES_DIGEST`` in ``kernels``.
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
RECORD_LANES = 6  # Intervals of a record: their dimensions in eight bytes, low codes and inverted high ones in uint16.


def _host_compresses() -> bool:
    """Whether generated code may use vpcompressb/w and 512-bit registers: only if Numba targets this host."""
    target = vars(numba.config)["CPU_NAME"]
    features = llvm.get_host_cpu_features()
    wanted = ("avx512f", "avx512bw", "avx512vl", "avx512vbmi", "avx512vbmi2")
    return (not target or target == llvm.get_host_cpu_name()) and all(features.get(name) for name in wanted)


COMPRESSES: bool = _host_compresses()


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's intrinsic decorator; a kernel calls the result without the typing context."""
    return cast("Callable[..., Any]", untyped_intrinsic(function))


def number(function: Callable[..., Any]) -> Callable[..., int]:
    """An intrinsic whose result is an integer."""
    return cast("Callable[..., int]", untyped_intrinsic(function))


def inlined(function: F) -> F:
    """A piece of a kernel; inlined early, so vectors stay in registers across the call."""
    return cast("F", numba.njit(inline="always")(function))


# --- Intrinsics: loads, stores and 512-bit operations ------------------------------------------------------

BIT, BYTE, SHORT, INT, LONG = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
LINE_IR = ir.VectorType(LONG, 8)
BYTES_IR = ir.VectorType(BYTE, 64)
CODES_IR = ir.VectorType(SHORT, 32)
ENDS_IR = ir.VectorType(SHORT, 16)
SHORTS_IR = ir.VectorType(SHORT, 8)
INTS_IR = ir.VectorType(INT, 16)
int64 = types.int64


class LineType(types.Type):
    """Numba type of a 512-bit line held in a register."""

    def __init__(self) -> None:
        cast("Any", super()).__init__(name="line512")


@register_model(LineType)
class LineModel(models.PrimitiveModel):
    """A line is eight 64-bit words to LLVM."""

    def __init__(self, manager: Any, line_type: LineType) -> None:
        cast("Any", super()).__init__(manager, line_type, LINE_IR)


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


@number
def load_int64(typing: Any, address: Any) -> Any:
    return _loader(LONG, "sext")


@number
def load_int32(typing: Any, address: Any) -> Any:
    return _loader(INT, "sext")


@number
def load_uint8(typing: Any, address: Any) -> Any:
    return _loader(BYTE, "zext")


@number
def load_uint32(typing: Any, address: Any) -> Any:
    return _loader(INT, "zext")


@number
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


@number
def word_mask(typing: Any, line: Any) -> Any:
    """Eight bits, one for each word of the line that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        set_words = builder.icmp_unsigned("!=", args[0], ir.Constant(LINE_IR, [0] * 8))
        return builder.zext(builder.bitcast(set_words, BYTE), LONG)

    return int64(line512), generate


@number
def at_most_mask(typing: Any, address: Any, key: Any) -> Any:
    """Eight bits, one for each of the eight int64 at address that is <= key."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values, keys = _load(builder, args[0], LINE_IR), _splat(builder, args[1], LINE_IR)
        passed = builder.icmp_signed("<=", values, keys)
        return builder.zext(builder.bitcast(passed, BYTE), LONG)

    return int64(int64, int64), generate


@number
def count_bits(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.call(_function(builder, "llvm.ctpop.i64", LONG, [LONG]), [args[0]])

    return int64(int64), generate


@number
def count_line(typing: Any, line: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counts = builder.call(_function(builder, "llvm.ctpop.v8i64", LINE_IR, [LINE_IR]), [args[0]])
        return builder.call(_function(builder, "llvm.vector.reduce.add.v8i64", LONG, [LINE_IR]), [counts])

    return int64(line512), generate


@number
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


@number
def above(typing: Any, left: Any, right: Any) -> Any:
    """1 if left > right as unsigned integers, else 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.zext(builder.icmp_unsigned(">", args[0], args[1]), LONG)

    return int64(int64, int64), generate


@number
def shift_right(typing: Any, value: Any, count: Any) -> Any:
    """An unsigned integer shifted by less than 64."""
    return int64(int64, int64), lambda context, builder, signature, args: builder.lshr(*args)


@number
def lesser(typing: Any, left: Any, right: Any) -> Any:
    """The smaller of two integers, without a branch."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.call(_function(builder, "llvm.smin.i64", LONG, [LONG, LONG]), args)

    return int64(int64, int64), generate


@number
def lesser_unsigned(typing: Any, left: Any, right: Any) -> Any:
    """The smaller of two unsigned integers: distances of keys go up to 2^64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.call(_function(builder, "llvm.umin.i64", LONG, [LONG, LONG]), args)

    return int64(int64, int64), generate


@inlined
def address_of(array: Any) -> int:
    """Signed, because Numba turns the sum of a signed and an unsigned integer into a float."""
    return np.int64(array.ctypes.data)  # type: ignore[return-value]


# --- The five steps that differ with and without AVX-512 VBMI2 -----------------------------------------------

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
    def copy_some(typing: Any, source: Any, target: Any, count: Any) -> Any:
        """Copy up to 16 int32; as many are read, but no more written."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            source, target, count = args
            one = ir.Constant(LONG, 1)
            lanes = builder.trunc(builder.sub(builder.shl(one, count), one), SHORT)
            pointer = INTS_IR.as_pointer()
            arguments = [INTS_IR, pointer, INT, ir.VectorType(BIT, 16)]
            store = _function(builder, "llvm.masked.store.v16i32.p0", ir.VoidType(), arguments)
            mask = builder.bitcast(lanes, ir.VectorType(BIT, 16))
            place = builder.inttoptr(target, pointer)
            builder.call(store, [_load(builder, source, INTS_IR), place, ir.Constant(INT, 4), mask])
            return context.get_dummy_value()

        return types.none(int64, int64, int64), generate

    @inlined
    def copy_ints(source: int, target: int, count: int) -> None:
        """Copy int32; up to 16 more are read, but no more written."""
        while count > 0:
            copy_some(source, target, lesser(count, 16))
            source += 64
            target += 64
            count -= 16

    @number
    def compare_codes(typing: Any, codes: Any, record: Any) -> Any:
        """How an event's codes lie to the intervals of a record; 64 codes and 40 bytes of the record are read.

        Zero if strictly inside all of them; bits from 16 upwards are set if outside one, else some lower bits.
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            codes, record = args
            octets = builder.bitcast(_load(builder, record, LONG), ir.VectorType(BYTE, 8))
            # Each dimension twice, for its low and its high end; what the other lanes of the 32 hold does not matter.
            twice = [*range(RECORD_LANES)] * 2 + [0] * (32 - 2 * RECORD_LANES)
            lanes = ir.Constant(ir.VectorType(INT, 32), twice)
            dims = builder.zext(builder.shuffle_vector(octets, ir.Constant(octets.type, ir.Undefined), lanes), CODES_IR)
            permute = _function(builder, "llvm.x86.avx512.vpermi2var.hi.512", CODES_IR, [CODES_IR] * 3)
            first, second = (_load(builder, builder.add(codes, ir.Constant(LONG, at)), CODES_IR) for at in (0, 64))
            half = ir.Constant(ir.VectorType(INT, 16), list(range(16)))
            undefined = ir.Constant(CODES_IR, ir.Undefined)
            chosen = builder.shuffle_vector(builder.call(permute, [first, dims, second]), undefined, half)
            # Inverting code and end turns the test of a high end into that of a low one.
            highs = [0] * RECORD_LANES + [0xFFFF] * RECORD_LANES + [0] * (16 - 2 * RECORD_LANES)
            turned = builder.xor(chosen, ir.Constant(ENDS_IR, highs))
            ends = _load(builder, builder.add(record, ir.Constant(LONG, 8)), ENDS_IR)
            outside = builder.zext(builder.bitcast(builder.icmp_unsigned("<", turned, ends), SHORT), LONG)
            near = builder.zext(builder.bitcast(builder.icmp_unsigned("<=", turned, ends), SHORT), LONG)
            used = (1 << 2 * RECORD_LANES) - 1
            both = builder.or_(builder.shl(outside, ir.Constant(LONG, 16)), near)
            return builder.and_(both, ir.Constant(LONG, used << 16 | used))

        return int64(int64, int64), generate

    @number
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
    def copy_ints(source: int, target: int, count: int) -> None:
        for at in range(0, 4 * count, 4):
            store_int32(target + at, load_int32(source + at))

    @inlined
    def pick_positions(positions: int, mask: int, base: int, target: int) -> None:
        while mask != 0:
            store_uint16(target, base + load_uint16(positions + 2 * lowest_bit(mask)))
            target += 2
            mask &= mask - 1

    @inlined
    def compare_codes(codes: int, record: int) -> int:
        verdict = 0
        for lane in range(RECORD_LANES):
            code = load_uint16(codes + 2 * load_uint8(record + lane))
            low = load_uint16(record + 8 + 2 * lane)
            high = 0xFFFF - load_uint16(record + 8 + 2 * (RECORD_LANES + lane))
            verdict |= (above(low, code) | above(code, high)) << 16
            verdict |= 2 - above(code, low) - above(high, code)
        return verdict

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
