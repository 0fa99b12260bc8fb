"""What the environment says about the node to call: where it is, who calls it, and whom to believe.

    SIFTCAST_URL          where the node is, as in siftcasts://broker.example:7007
    SIFTCAST_TOKEN        says who calls
    SIFTCAST_AUTHORITIES  a file with the certificates to believe, where the address is siftcasts://

What is said in so many words wins. A variable that is empty says nothing. The token goes where the environment says
or where a person typed it: `connect(url)` in a program shows none that it was not given, so that a token meant for one
node is not told to another.
"""

from __future__ import annotations

import os
from pathlib import Path

from siftcast.runtimes.live.wire.addresses import DEFAULT_PORT

URL_VARIABLE = "SIFTCAST_URL"
TOKEN_VARIABLE = "SIFTCAST_TOKEN"
AUTHORITIES_VARIABLE = "SIFTCAST_AUTHORITIES"
DEFAULT_URL = f"siftcast://127.0.0.1:{DEFAULT_PORT}"


def node_url() -> str:
    """Where the node is: SIFTCAST_URL, or the port on this machine at which `siftcast serve` listens."""
    return os.environ.get(URL_VARIABLE) or DEFAULT_URL


def caller_token() -> str | None:
    """Who calls."""
    return os.environ.get(TOKEN_VARIABLE) or None


def believed_authorities(url: str) -> Path | None:
    """Whom to believe about a node that is called encrypted."""
    named = os.environ.get(AUTHORITIES_VARIABLE)
    return Path(named) if named and url.startswith("siftcasts:") else None
