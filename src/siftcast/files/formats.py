"""Which format a file name stands for: the one table of suffixes, for all readers and writers.

`.jsonl`, `.ndjson` and `.json` are all JSON lines. A suffix of compression comes last, as in `events.csv.gz`.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath

from siftcast.model import DataError

SUFFIXES = {
    ".jsonl": "json", ".csv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".orc": "orc",
    ".json": "json", ".ndjson": "json",
}  # fmt: skip
COMPRESSIONS = {
    ".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".br": "brotli", ".snappy": "snappy",
}  # fmt: skip


def format_of(path: PurePath, formats: Collection[str], packed: Collection[str] = ()) -> str | None:
    """The format that a name says, if it is one of these; `packed` are the suffixes that may come after it."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in packed:
        suffixes.pop()
    found = SUFFIXES.get(suffixes[-1]) if suffixes else None
    return found if found in formats else None


def readable_format(path: PurePath, formats: Collection[str], what: str) -> str:
    """The format that a name says, plain or in gzip; raises DataError unless it is one in which `what` can be read."""
    found = format_of(path, formats, (".gz",))
    if found is None:
        raise DataError(
            f"{path}: the name does not say how to read the {what}; "
            f"it must end in {suffixes_of(formats)}, each also with .gz"
        )
    return found


def format_named(name: str | None) -> str | None:
    """A format by the name that a user gives it: `jsonl` is `json`; what nobody here knows stays as it is."""
    return SUFFIXES.get(f".{name}", name)


def suffixes_of(formats: Collection[str]) -> str:
    """The suffixes of some formats as a list for people, the usual one of each first."""
    usual = {format: suffix for suffix, format in reversed(SUFFIXES.items())}
    others = (suffix for suffix, format in SUFFIXES.items() if format in formats and usual[format] != suffix)
    return ", ".join((*(usual[format] for format in formats), *others))
