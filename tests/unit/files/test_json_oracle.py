"""Events from JSON Lines, however the blocks are cut, are those that decoding line by line gives."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from siftcast.files import input_bytes, text_blocks
from siftcast.files.event_files import open_events
from siftcast.files.rejections import RejectedFile
from siftcast.model import EventError
from siftcast.model.event import decode_attributes

VALUES = st.sampled_from(
    [
        1,
        -5,
        2.5,
        "x",
        "2024-01-01",
        "é",
        True,
        None,
        [1],
        {"b": 1},
        {"b": "2024-01-01T00:00:00Z"},
        2**60,
        10**25,
        "NaN",
        "}{",
    ]
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES).map(
    lambda each: json.dumps(each, ensure_ascii=False).encode()
)
BAD = st.sampled_from(
    [
        b"{",
        b"5",
        b'{"a":NaN}',
        b'{"a":"\xff"}',
        b'{"a":1}{"a":2}',
        b"",
        b"  ",
        b'{"a":\n1}',
        b'\xef\xbb\xbf{"a":1}',
        b'{"a":1e999}',
    ]
)


def known(value):
    """Without what counts as missing: nulls, and objects with nothing else in them."""
    if not isinstance(value, dict):
        return value
    inner = {name: known(each) for name, each in value.items()}
    return {name: each for name, each in inner.items() if each is not None and each != {}}


def read(data):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        path.write_bytes(data)
        found = []
        with RejectedFile(path) as rejected, open_events(path, None, rejected) as reader:
            for block in reader.blocks():
                rows = block.events if isinstance(block.events, list) else block.events.to_pylist()
                found += zip(block.numbers.tolist(), map(known, rows), strict=True)
        return found, rejected.count, reader.rows_read


def decode_each(data):
    found, rejected, number = [], 0, 0
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if line.strip():
            try:
                found.append((number, known(decode_attributes(line))))
            except EventError:
                rejected += 1
            number += 1
    return found, rejected, number


@given(
    lines=st.lists(st.one_of(OBJECTS, OBJECTS, OBJECTS, BAD), max_size=12),
    ending=st.sampled_from([b"\n", b"\r\n"]),
    chunk_bytes=st.sampled_from([5, 30, 1 << 20]),
    block_bytes=st.sampled_from([8, 40, 4 << 20]),
)
def test_any_cut_of_the_file_gives_the_events_of_its_lines(lines, ending, chunk_bytes, block_bytes):
    data = ending.join(lines)
    saved = input_bytes.CHUNK_BYTES, text_blocks.read_blocks.__defaults__
    try:
        input_bytes.CHUNK_BYTES = chunk_bytes
        text_blocks.read_blocks.__defaults__ = (text_blocks.cut_lines, block_bytes)
        assert read(data) == decode_each(data)
    finally:
        input_bytes.CHUNK_BYTES, text_blocks.read_blocks.__defaults__ = saved
