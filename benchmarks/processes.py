"""What the kernel says about processes: who belongs together, their processor time and their memory."""

from __future__ import annotations

import os
from pathlib import Path


def family_of(pid: int) -> list[int]:
    """A process and its descendants."""
    parents = {int(each): int(fields[1]) for each in os.listdir("/proc") if each.isdigit() and (fields := _stat(each))}
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def cpu_s_of(pid: int) -> float:
    """Processor time that a process has used so far, in user and kernel mode."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def memory_of(pid: int, field: str) -> int | None:
    """Bytes that a process has of some kind, such as VmRSS; None where the kernel does not say, or it is gone."""
    lines = _read(pid, "status").splitlines()
    found = next((line for line in lines if line.startswith(f"{field}:")), None)
    return None if found is None else int(found.split()[1]) * 1024


def _stat(pid: int | str) -> list[str]:
    """The fields of a process from its state on; nothing if it is gone."""
    return _read(pid, "stat").rpartition(")")[2].split()


def _read(pid: int | str, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8")
    except OSError:
        return ""
