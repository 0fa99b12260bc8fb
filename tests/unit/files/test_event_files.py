"""How events are read: types, rejections, encodings, and that no row is lost whatever the file looks like."""

import gzip
import io
import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from siftcast.files import text_blocks
from siftcast.files.event_files import open_events
from siftcast.files.rejections import RejectedFile
from siftcast.model import DataError

GZIP = gzip.compress(b"x" * 1000, mtime=0)


@pytest.fixture
def read(write):
    """Writes a file of events and reads it: (event number, row) pairs, and the rejections."""

    def read(name, content, schema=None):
        path = write(name, content)
        with RejectedFile(path) as file, open_events(path, schema, file) as reader:
            found = []
            for block in reader.blocks():
                rows = block.events if isinstance(block.events, list) else block.events.to_pylist()
                found += zip(block.numbers.tolist(), rows, strict=True)
        rejected = []
        if file.count:
            rejected = [json.loads(line) for line in file.path.read_text("utf-8").splitlines()]
        assert reader.rows_read == len(found) + len(rejected) == len(found) + file.count
        return found, rejected

    return read


@pytest.fixture
def small_blocks(monkeypatch):
    """Reads text in blocks of a few lines, so that a short file has many."""
    monkeypatch.setattr("siftcast.files.input_bytes.CHUNK_BYTES", 16)
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 16)


def present(rows):
    return [{name: value for name, value in row.items() if value is not None} for _, row in rows]


# -- JSONL -------------------------------------------------------------------------------------------


def test_json_texts_that_look_like_times_stay_texts(read):
    rows, _ = read("e.jsonl", [{"a": "2024-01-01 10:00:00", "b": {"c": "2024-01-01"}}, {"a": "2024-01-01T10:00:00Z"}])
    assert present(rows)[0] == {"a": "2024-01-01 10:00:00", "b": {"c": "2024-01-01"}}
    assert rows[1][1]["a"] == "2024-01-01T10:00:00Z"


def test_json_column_first_seen_as_text_may_later_hold_numbers(read, small_blocks):
    rows, rejected = read("e.jsonl", [{"a": "2024-01-01"}, {"a": 5}, {"a": "2024-01-01"}, {"b": "2024-01-01"}])
    assert present(rows) == [{"a": "2024-01-01"}, {"a": 5}, {"a": "2024-01-01"}, {"b": "2024-01-01"}]
    assert not rejected


def test_json_values_of_a_mixed_column_keep_their_types(read):
    events = [{"a": 1}, {"a": "1"}, {"a": True}, {"a": 1.5}, {"a": None}, {"a": [1]}, {"a": {"b": 1}}, {}]
    rows, rejected = read("e.jsonl", events)
    assert [row for _, row in rows] == events
    assert [type(row.get("a")) for _, row in rows[:4]] == [int, str, bool, float]
    assert not rejected


def test_json_integers_beside_decimals_lose_no_digits(read):
    rows, _ = read("e.jsonl", '{"a": 9007199254740993}\n{"a": 0.5}\n{"a": 18446744073709551615}\n')
    assert [row["a"] for _, row in rows] == [9007199254740993, 0.5, 18446744073709551615]


def test_bad_json_lines_are_rejected_and_the_others_keep_their_numbers(read):
    content = b'{"a": 1}\n\n{"a": 2\n  \n5\n{"a": 3}{"a": 4}\n{"a": NaN}\n{"a": "\xff"}\n{"a": 6}'
    rows, rejected = read("e.jsonl", content)
    assert rows == [(0, {"a": 1}), (6, {"a": 6})]
    assert [each["line"] for each in rejected] == [3, 5, 6, 7, 8]
    assert all((each["input"], each["code"]) == ("events", "event") for each in rejected)
    assert rejected[0]["source"] == '{"a": 2'
    assert "UTF-8" in rejected[4]["reason"]


def test_object_over_two_lines_is_two_bad_lines(read):
    rows, rejected = read("e.jsonl", '{"a":\n1}\n{"a": 2}\n')
    assert rows == [(2, {"a": 2})]
    assert [each["line"] for each in rejected] == [1, 2]


def test_two_objects_on_a_line_are_noticed_beside_a_blank_line(read):
    rows, rejected = read("e.jsonl", '\n{"a": 3}{"a": 4}\n')
    assert rows == []
    assert [each["line"] for each in rejected] == [2]


def test_json_that_says_nan_in_a_text_is_good(read):
    rows, rejected = read("e.jsonl", [{"a": "NaN}{Inf"}, {"a": "x"}])
    assert [row["a"] for _, row in rows] == ["NaN}{Inf", "x"]
    assert not rejected


@pytest.mark.parametrize(
    "lines",
    [
        ['{"a":"Information"}', '{"a":"NaN and }{"}'], ['{"a":1.5e300}', '{"a":0.5}'],
        ["", '{"a":1}', "  ", ' {"a":2} '], ['{"a":1}', "null", '{"a":2}'], ['{"a":[1,null]}', '{"a":[2]}'],
    ],
)  # fmt: skip
def test_blocks_that_arrow_reads_rightly_come_as_tables(write, lines):
    path = write("e.ndjson", "\n".join(lines))
    with RejectedFile(path) as file, open_events(path, None, file) as reader:
        (block,) = reader.blocks()
    assert isinstance(block.events, pa.Table)
    assert block.events.num_rows == sum(1 for line in lines if "{" in line)


def test_a_list_that_begins_with_null_keeps_it(read):
    rows, _ = read("e.jsonl", '{"a":[null,1]}\n{"a":[null,null]}\n')
    assert [row["a"] for _, row in rows] == [[None, 1], [None, None]]


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_json_byte_order_mark_and_line_endings_do_not_matter(read, prefix, ending):
    rows, rejected = read("e.jsonl", prefix + ending.join([b'{"a": 1}', b'{"a": "x"}', b'{"a": 3}']))
    assert [row["a"] for _, row in rows] == [1, "x", 3]
    assert not rejected


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_line_that_is_too_long_is_rejected_alone(read, monkeypatch, suffix):
    limit = 64 << 10
    for module in ("text_blocks", "json_events", "csv_events"):
        monkeypatch.setattr(f"siftcast.files.{module}.LINE_BYTES_MAX", limit)
    monkeypatch.setattr("siftcast.files.input_bytes.CHUNK_BYTES", 4096)
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 4096)
    if suffix == "jsonl":
        content = '{"a": 1}\n{"a": "' + "x" * 3 * limit + '"}\n{"a": 3}\n'
    else:
        content = "a,b\n1,\n2," + "x" * 3 * limit + "\n3,\n"
    rows, rejected = read(f"e.{suffix}", content)
    assert [(number, row["a"]) for number, row in rows] == [(0, 1), (2, 3)]
    assert [each["line"] for each in rejected] == [2 if suffix == "jsonl" else 3]


# -- CSV ---------------------------------------------------------------------------------------------


def test_csv_types_are_guessed(read):
    header = "i,f,b,t,d,s,time,empty\n"
    rows, rejected = read(
        "e.csv", header + "1,1.5,true,2024-01-01T10:00:00+02:00,2024-01-02,x,10:30:00,\n2,3,False,,,,,\n"
    )
    assert not rejected
    assert rows[0][1] == {
        "i": 1,
        "f": 1.5,
        "b": True,
        "t": datetime(2024, 1, 1, 8, tzinfo=UTC),
        "d": datetime(2024, 1, 2, tzinfo=UTC),
        "s": "x",
        "time": "10:30:00",
        "empty": None,
    }
    assert present(rows)[1] == {"i": 2, "f": 3.0, "b": False}


@pytest.mark.parametrize("missing", ["", "NA", "NaN", "null", '""'])
def test_csv_missing_values_are_missing_in_any_column(read, missing):
    rows, rejected = read("e.csv", f"a,b,c\n1,x,{missing}\n{missing},{missing},{missing}\n")
    assert present(rows) == [{"a": 1, "b": "x"}, {}]
    assert not rejected


def test_csv_rows_of_another_kind_are_rejected_with_column_and_value(read, small_blocks):
    good = "".join(f"{n},2024-01-01,true\n" for n in (1, 2, 3))
    content = "n,t,b\n" + good + "x,2024-01-02,true\n5,later,true\n6,,maybe\n7,,\n"
    rows, rejected = read("e.csv", content)
    assert [(number, row["n"]) for number, row in rows] == [(0, 1), (1, 2), (2, 3), (6, 7)]
    assert [each["line"] for each in rejected] == [5, 6, 7]
    assert rejected[0]["reason"] == "column 'n' holds 'x', which is not a number"
    assert "column 't' holds 'later'" in rejected[1]["reason"]
    assert "column 'b' holds 'maybe'" in rejected[2]["reason"]
    assert rejected[0]["source"] == "x,2024-01-02,true"


def test_csv_integers_may_become_decimals_and_empty_columns_get_a_type_later(read, small_blocks):
    rows, rejected = read("e.csv", "n,late\n1,\n2,\n3,\n2.5,\n1e3,\n-4,77\n5,88\n6,x\n")
    assert [row["n"] for _, row in rows] == [1, 2, 3, 2.5, 1000, -4, 5]
    assert [each["line"] for each in rejected] == [9]


def test_csv_instants_with_and_without_a_zone_may_mix(read, small_blocks):
    times = ["2024-01-01T10:00:00Z", "2024-01-01T10:00:00", "2024-01-01 12:00+02:00", "2024-01-01T10:00:00.123456789Z"]
    rows, rejected = read("e.csv", "t\n" + "\n".join(times))
    assert not rejected
    assert [row["t"].replace(microsecond=0) for _, row in rows] == [datetime(2024, 1, 1, 10, tzinfo=UTC)] * 4


def test_csv_rows_with_too_few_or_too_many_cells_are_rejected(read):
    rows, rejected = read("e.csv", b"a,b\r\n1,x\r\n2\r\n\r\n3,y,z\r\n\xff,b\r\n5,\xc3\xa9\r\n")
    assert rows == [(0, {"a": 1, "b": "x"}), (4, {"a": 5, "b": "é"})]
    assert [each["line"] for each in rejected] == [3, 5, 6]
    assert "1 cells, but the header names 2" in rejected[0]["reason"]
    assert "not valid UTF-8 (byte 0xff at 1)" in rejected[2]["reason"]


@pytest.mark.parametrize("chunk", [1, 3, 7, 16, 1000])
def test_csv_quotes_may_hold_commas_quotes_and_line_breaks(read, monkeypatch, chunk):
    monkeypatch.setattr("siftcast.files.input_bytes.CHUNK_BYTES", chunk)
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", chunk)
    content = 'a,b\n1,"two\nlines"\n2,"a ""quoted"" word, and\n\nmore"\n3,5" disk\nbad\n4,"x"\n'
    rows, rejected = read("e.csv", content)
    assert [(row["a"], row["b"]) for _, row in rows] == [
        (1, "two\nlines"),
        (2, 'a "quoted" word, and\n\nmore'),
        (3, '5" disk'),
        (4, "x"),
    ]
    assert [each["line"] for each in rejected] == [8]


def test_csv_quote_that_never_ends_costs_one_row(read):
    rows, rejected = read("e.csv", 'a,b\n1,x\n2,"open\n3,y\n4,z\n')
    assert [row["a"] for _, row in rows] == [1, 3, 4]
    assert [each["line"] for each in rejected] == [3]
    assert "does not end" in rejected[0]["reason"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,a\n1,2\n", "column 'a' twice"),
        (b"\n1,2\n", "needs a header"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-8"),
        (b"\xe9,b\n1,2\n", "header line is not UTF-8"),
    ],
)
def test_csv_without_a_usable_header_is_refused(read, content, words):
    with pytest.raises(DataError, match=words):
        read("e.csv", content)


@pytest.mark.parametrize("content", [b"", b"a,b\n", b"a,b"])
def test_csv_without_rows_has_no_events(read, content):
    assert read("e.csv", content) == ([], [])


# -- tables and gzip ---------------------------------------------------------------------------------


def test_parquet_and_arrow_keep_their_types_also_in_gzip(read):
    table = pa.table({"a": [1, None], "t": pa.array([1, 2], pa.timestamp("ns")), "n": [{"x": 1.5}, None]})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    wanted = [row for _, row in read("e.parquet", buffer.getvalue())[0]]
    assert [(row["a"], row["n"]) for row in wanted] == [(1, {"x": 1.5}), (None, None)]
    assert [row for _, row in read("e.parquet.gz", gzip.compress(buffer.getvalue()))[0]] == wanted
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    assert [row for _, row in read("e.arrow", sink.getvalue().to_pybytes())[0]] == wanted


def test_gzip_of_several_members_is_read_to_its_end(read):
    rows, _ = read("e.jsonl.gz", gzip.compress(b'{"a": 1}\n') + gzip.compress(b'{"a": 2}\n'))
    assert [row["a"] for _, row in rows] == [1, 2]


@pytest.mark.parametrize("content", [b"plain text", GZIP[:-9], b"\x1f\x8b" + b"\0" * 50], ids=["text", "cut", "zeros"])
def test_what_is_no_gzip_is_refused(read, content):
    with pytest.raises(DataError, match="gzip"):
        read("e.jsonl.gz", content)
