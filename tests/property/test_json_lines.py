"""Events from JSON Lines, however the blocks are cut, are those that decoding line by line gives.

The reader shows whole blocks to Arrow's parser, which takes some texts that are no JSON, loses nulls in lists and
guesses types (see `files/json_blocks.py`). So the lines here are written by hand rather than by a JSON library: good
ones, odd ones, and broken ones in every way that somebody thought of.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast import Attribute, Schema
from siftcast.files import RejectedFile, input_bytes, open_events, text_blocks
from siftcast.model import SiftcastError
from siftcast.model.event import decode_attributes

PLAIN = ["1", "-7", "2.5", '"x"', '"é"', '"2024-01-01"', '"2024-01-01T00:00:00Z"', "true", "null"]
ODD = [
    *("0", "-0", "1.0", "1e5", "1E400", "01", "1.", "-", "+1", ".5", "1e-400", "5e-324", "1e17", "-1e300"),
    *("9007199254740992", "9007199254740993", "9223372036854775808", "-9223372036854775809", "1" * 30),
    *('""', '"1"', '"NaN"', '"}{"', '"} {"', '"[null"', '"10:30:00"', '"2024-01-01 10:30"', '"\x7f"', '"\u2028"'),
    *(r'"\ud800"', r'"\udc00"', r'"\ud83d\ude00"', r'"\ude00\ud83d"', r'"\u0000"', r'"\u00e9"', r'"\/"', r'"\x"'),
    *('"\x00"', '"\x01"', '"\t"', r'"\"', "'a'", "false", "NaN", "Infinity", "-Infinity", "nul", "True", ""),
]
NAMES = ['"a"', '"b"', '"c"']
ODD_NAMES = [r'"\u0061"', '""', '"a.b"', '"é"', '"A"', "a", r'"\ud800"', '"a" "b"']
BROKEN = [
    *(b"", b"  ", b"\x0c", b"\r", b"\x00", b"{", b"5", b"null", b"true", b"[]", b"[{}]", b'""', b"{}{}", b"{} {}"),
    *(b"{}\r{}", b"{},{}", b"{}x", b"{}//x", b"/**/{}", b"{}\x00", b"{}\x0b", b" {} ", b"{}\x1e", b'{"a":1} }'),
    *(b'{"a":\n1}', b'{"a":\n{}}', b'{"a":"x\ny"}', b'\xef\xbb\xbf{"a":1}', b'{"a":"\xff"}', b'{"a":"\xed\xa0\x80"}'),
    *(b'{"a":1,}', b'{"a":1,"a":2}', b'{"a":[1,]}', b'{"a"}', b'{"a":{"b":1,"b":"x"}}'),
]


def objects(values):
    names = st.sampled_from(NAMES * 4 + ODD_NAMES)
    members = st.lists(st.tuples(names, values), max_size=4, unique_by=lambda member: member[0])
    return st.tuples(members, st.sampled_from(["", "", " "])).map(
        lambda drawn: f"{{{f',{drawn[1]}'.join(f'{name}:{drawn[1]}{value}' for name, value in drawn[0])}}}"
    )


VALUES = st.recursive(
    st.sampled_from(PLAIN * 8 + ODD),
    lambda inner: st.one_of(objects(inner), st.lists(inner, max_size=3).map(lambda each: f"[{','.join(each)}]")),
    max_leaves=4,
)
LINES = st.one_of(*[objects(VALUES).map(str.encode)] * 6, st.sampled_from(BROKEN))
SCHEMA = Schema(
    [
        Attribute("a", "timestamp"),
        Attribute("b", "int", domain=(-5, 9)),
        Attribute("c", "string", domain=("x", "1", "é")),
    ]
)


def known(value):
    """Without what counts as missing: nulls, and objects with nothing else in them. True is no 1."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return [known(each) for each in value]
    if not isinstance(value, dict):
        return value
    inner = {name: known(each) for name, each in value.items()}
    return {name: each for name, each in inner.items() if each is not None and each != {}}


def read(data, schema):
    """The events with their numbers, the lines that were refused, and how many rows were counted."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        path.write_bytes(data)
        found = []
        with RejectedFile(path) as rejected, open_events(path, schema, rejected) as reader:
            for block in reader.blocks():
                rows = block.events if isinstance(block.events, list) else block.events.to_pylist()
                found += zip(block.numbers.tolist(), map(known, rows), strict=True)
        refused = (
            [json.loads(line)["line"] for line in rejected.path.read_bytes().splitlines()] if rejected.count else []
        )
        return found, sorted(refused), reader.rows_read


def decode_each(data, schema):
    """The same, the slow way."""
    found, refused, number = [], [], 0
    for line, text in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not text.strip():
            continue
        try:
            attributes = decode_attributes(text)
            found.append((number, known(attributes if schema is None else schema.coerce(attributes))))
        except SiftcastError:
            refused.append(line)
        number += 1
    return found, refused, number


@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["as written", "with a schema"])
@given(
    lines=st.lists(LINES, max_size=8),
    ending=st.sampled_from([b"\n", b"\r\n"]),
    chunk_bytes=st.sampled_from([5, 30, 1 << 20]),
    block_bytes=st.sampled_from([8, 40, 4 << 20]),
)
def test_any_cut_of_the_file_gives_the_events_of_its_lines(schema, lines, ending, chunk_bytes, block_bytes):
    data = ending.join(lines)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(input_bytes, "CHUNK_BYTES", chunk_bytes)
        patched.setattr(text_blocks, "BLOCK_BYTES", block_bytes)
        assert read(data, schema) == decode_each(data, schema)


@pytest.mark.parametrize("line", BROKEN)
def test_a_broken_line_between_good_ones_costs_no_other(line):
    data = b"\n".join([b'{"a":1}', line, b'{"a":2}'])
    assert read(data, None) == decode_each(data, None)


@pytest.mark.parametrize("value", [*PLAIN, *ODD])
def test_an_odd_value_is_what_the_decoder_makes_of_it(value):
    for beside in PLAIN:
        data = f'{{"a":{beside}}}\n{{"a":{value},"b":[{value},{beside}]}}\n'.encode()
        assert read(data, None) == decode_each(data, None)
