"""The name of a file says its format, to whoever asks."""

from pathlib import PurePosixPath

import pytest

from siftcast.files import COMPRESSIONS, format_named, format_of, suffixes_of

EVERY = ("json", "csv", "parquet", "arrow", "orc")


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.jsonl", "json"), ("a.ndjson", "json"), ("a.JSON", "json"), ("a.csv.gz", "csv"), ("b/a.parquet", "parquet"),
        ("events.csv/", "csv"), ("a.2024.arrow", "arrow"), ("a.orc.zst", "orc"),
        ("a.xlsx", None), ("a.gz", None), ("a", None),
    ],
)  # fmt: skip
def test_the_last_suffix_but_compression_names_the_format(name, format):
    assert format_of(PurePosixPath(name), EVERY, COMPRESSIONS) == format


def test_a_format_that_is_not_wanted_is_none():
    assert format_of(PurePosixPath("a.orc"), ("json", "csv")) is None
    assert format_of(PurePosixPath("a.csv.gz"), ("csv",)) is None


def test_a_user_may_call_a_format_by_a_suffix():
    assert [format_named(name) for name in ("jsonl", "ndjson", "csv", "delta", None)] == [
        "json", "json", "csv", "delta", None,
    ]  # fmt: skip


def test_suffixes_are_listed_with_the_usual_ones_first():
    assert suffixes_of(("parquet", "json")) == ".parquet, .jsonl, .json, .ndjson"
