"""Which format the name of a file says: the one table of suffixes, whoever reads or writes.

`.jsonl`, `.ndjson` and `.json` are all JSON lines. A suffix of compression comes last, as in `events.csv.gz`.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath

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


def format_named(name: str | None) -> str | None:
    """A format by the name that a user gives it: `jsonl` is `json`; what nobody here knows stays as it is."""
    return SUFFIXES.get(f".{name}", name)


def suffixes_of(formats: Collection[str]) -> str:
    """The suffixes of some formats as a list for people, the usual one of each first."""
    usual = {format: suffix for suffix, format in reversed(SUFFIXES.items())}
    others = (suffix for suffix, format in SUFFIXES.items() if format in formats and usual[format] != suffix)
    return ", ".join((*(usual[format] for format in formats), *others))
