"""Where the parties of a workload live: `server 7` on server 6, modulo the servers."""

from __future__ import annotations

import re


def server_of(party: str, servers: int) -> int:
    """Where a subscriber or publisher lives: by the number in its name, which begins with 1."""
    found = re.search(r"(\d+)\D*$", party or "")
    return (int(found[1]) - 1) % servers if found else sum((party or "").encode()) % servers
