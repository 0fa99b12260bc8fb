"""What the numbers were measured on: the processor, its vector instructions, and the versions of everything timed."""

from __future__ import annotations

import os
import platform
import sqlite3
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGES = ("siftcast", "numpy", "numba", "pyarrow", "duckdb", "rtree")


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine and the software of one run."""

    processor: str
    processors: int
    avx512: bool
    avx2: bool
    memory_gib: float
    versions: dict[str, str]

    @property
    def vectors(self) -> str:
        return "AVX-512" if self.avx512 else "AVX2" if self.avx2 else "neither AVX-512 nor AVX2"

    def describe(self) -> str:
        """One line for a person."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return f"{self.processor}, {self.processors} cores, {self.vectors}, {self.memory_gib:.0f} GiB; {versions}"


@cache
def this_machine() -> Machine:
    """The machine this process runs on, read once."""
    fields = _processor_fields()
    flags = set(fields.get("flags", "").split())
    return Machine(
        processor=fields.get("model name") or platform.processor() or platform.machine(),
        processors=os.cpu_count() or 1,
        # What the kernels need: 512-bit registers with byte operations on registers of any width.
        avx512={"avx512f", "avx512bw", "avx512vl"} <= flags,
        avx2="avx2" in flags,
        memory_gib=memory_bytes() / 2**30,
        versions={
            "Python": platform.python_version(),
            **{name: metadata.version(name) for name in PACKAGES},
            "SQLite": sqlite3.sqlite_version,
        },
    )


def memory_bytes() -> int:
    """The memory of the machine, 0 where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def _processor_fields() -> dict[str, str]:
    """The first processor's entry of /proc/cpuinfo; empty where there is none."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}
