"""Who a command is to a node, and whom it believes: what all commands with a node share.

A token on the command line can be read by everyone on the machine who lists processes, so it is better given in the
environment; an option wins over it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siftcast.runtimes.live.client import Bus

TOKEN_VARIABLE = "SIFTCAST_TOKEN"
AUTHORITIES_VARIABLE = "SIFTCAST_AUTHORITIES"
DEFAULT_URL = "siftcast://127.0.0.1:7007"
WAIT_S = 3.0
"""How long a command waits for a node: long enough for one that is just starting."""


def call_node(url: str, name: str, *, token: str | None, authorities: Path | None) -> Bus:
    """A bus for a command; what no option says, the environment may."""
    from siftcast.runtimes.live.client import connect

    token = os.environ.get(TOKEN_VARIABLE) if token is None else token
    named = os.environ.get(AUTHORITIES_VARIABLE)
    if authorities is None and named and url.startswith("siftcasts:"):
        authorities = Path(named)
    return connect(url, token=token, tls=authorities, name=name, timeout_s=WAIT_S)
