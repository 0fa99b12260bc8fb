"""Ids as plain strings, which is what Spark takes.

A matcher answers with places in a table of ids (Arrow's dictionary encoding), four bytes per match. Spark accepts no
dictionaries from `mapInArrow`, so every id must be written out, and where an event matches a thousand subscriptions
that costs more than the matching: Arrow copies each string separately, with a call and a branch or two.

Ids are short, and short strings can be copied without a look at their length: all ids are laid out once, padded, as
words of eight bytes. Copying an id is then one store of a word or a few; the padding behind its end is overwritten by
the next id. For ids of up to eight bytes this takes about a third of Arrow's time. It is worth the layout only for a
table that is used a lot, so the first ids of a table, as many as it has, are copied by Arrow, and so are those of
tables with long ids.

Memory: 8 to 40 bytes and 4 more per id of the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from llvmlite import ir
from numba import types

from siftcast.files import DictionaryMemo
from siftcast.matching.compiling import kernel
from siftcast.matching.tiles.lines import intrinsic

WORD_BYTES = 8
WORDS_MAX = 5  # a UUID has 36 characters
_BYTES_MAX = 2**31 - 1  # more than that a string array cannot count


class IdTexts:
    """The strings of one table of ids."""

    def __init__(self, table: pa.StringArray) -> None:
        self.table = table
        self._copied = 0
        self._words: Any = None
        self._lengths: Any = None
        self.longest = int(self.lengths().max(initial=0))
        self._word_count = max(1, -(-self.longest // WORD_BYTES))

    def lengths(self) -> Any:
        """The length of each id in bytes."""
        return np.diff(_offsets(self.table))

    def decode(self, ids: pa.DictionaryArray) -> pa.StringArray:
        """Ids of this table, none of which is null, as strings."""
        room = (len(ids) + 1) * self._word_count * WORD_BYTES
        if self._word_count > WORDS_MAX or room > _BYTES_MAX or self._copied < len(self.table):
            self._copied += len(ids)
            return ids.dictionary_decode()
        if self._words is None:
            self._lay_out()
        codes = ids.indices.to_numpy()
        offsets = np.empty(len(codes) + 1, np.int32)
        content = np.empty(room, np.uint8)
        size = _copy_words(codes, self._words, self._lengths, offsets, content, content.ctypes.data)
        return pa.StringArray.from_buffers(len(codes), pa.py_buffer(offsets), pa.py_buffer(content).slice(0, size))

    def _lay_out(self) -> None:
        offsets = _offsets(self.table)
        self._lengths = np.diff(offsets)
        self._words = np.zeros((len(self.table), self._word_count), np.int64)
        content = self.table.buffers()[2]
        data = np.frombuffer(content, np.uint8) if content is not None else np.empty(0, np.uint8)
        _pad(offsets, data, self._words.view(np.uint8))


_texts = DictionaryMemo(IdTexts, kept=1)


def texts_for(table: pa.StringArray) -> IdTexts:
    """The texts of a table. Those used last are remembered: a worker has one table for many batches and tasks."""
    return _texts(table)


def texts_of(ids: pa.DictionaryArray) -> pa.StringArray:
    """Ids as strings."""
    return texts_for(ids.dictionary).decode(ids)


def _offsets(table: pa.StringArray) -> Any:
    if not len(table):
        return np.zeros(1, np.int32)
    whole = np.frombuffer(table.buffers()[1], np.int32)
    return whole[table.offset : table.offset + len(table) + 1]


# -- loops -------------------------------------------------------------------------------------------


@intrinsic
def _store_word(_typing: Any, _address: Any, _word: Any) -> Any:
    """Writes eight bytes to any address."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        builder.store(arguments[1], place, align=1)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), generate


@kernel
def _pad(offsets: Any, data: Any, padded: Any) -> None:
    for row in range(len(padded)):
        start = offsets[row]
        for offset in range(offsets[row + 1] - start):
            padded[row, offset] = data[start + offset]


@kernel
def _copy_words(codes: Any, words: Any, lengths: Any, offsets: Any, content: Any, address: int) -> int:
    """Writes the ids one behind the other; `content`, which is at the address, has a whole row of words to spare."""
    size = 0
    offsets[0] = 0
    if words.shape[1] == 1:  # most ids; without the inner loop it takes a third less
        for match in range(len(codes)):
            code = codes[match]
            _store_word(address + size, words[code, 0])
            size += lengths[code]
            offsets[match + 1] = size
        return size
    for match in range(len(codes)):
        code = codes[match]
        for word in range(words.shape[1]):
            _store_word(address + size + WORD_BYTES * word, words[code, word])
        size += lengths[code]
        offsets[match + 1] = size
    return size
