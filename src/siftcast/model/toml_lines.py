"""Where in a TOML file a key stands, so that whoever finds a mistake can say the line."""

from __future__ import annotations

import re


def line_of(text: str, key: str) -> int | None:
    """The line in which a key stands: `workload.events`, or `schedule[1].do` for the second [[schedule]]."""
    table, _, name = key.rpartition(".")
    if not table or key.endswith("]") or re.search(rf"(?m)^\s*\[{re.escape(key)}\]", text):
        table, name = key, ""
    place = re.fullmatch(r"([\w.]+)\[(\d+)\]", table)
    header = re.escape(f"[[{place[1]}]]") if place else r"\[" + re.escape(table) + r"\]"
    skip = int(place[2]) if place else 0
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines, 1) if re.match(rf"\s*{header}", line)]
    if len(starts) <= skip:
        plain = (number for number, line in enumerate(lines, 1) if re.match(rf"\s*{re.escape(table)}\s*=", line))
        return next(plain, None)
    for number, line in enumerate(lines[starts[skip] :], starts[skip] + 1):
        if name and re.match(rf"\s*{re.escape(name)}\s*=", line):
            return number
        if re.match(r"\s*\[", line):
            break
    return starts[skip]
