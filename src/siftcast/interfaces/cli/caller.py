"""Which node a command calls, as whom, and which certificates it trusts: what all commands that call a node share.

A token on the command line can be read by everyone on the machine who lists processes, so it is better kept in the
environment. The option takes precedence.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siftcast.runtimes.live.client.bus import Bus

WAIT_S = 3.0
"""How long a command waits for a node: long enough for one that is just starting."""


def node_at(at: str | None) -> str:
    """The address of the node that a command is about."""
    from siftcast.runtimes.live.client.environment import node_url

    return node_url() if at is None else at


def call_node(url: str, name: str, *, token: str | None, authorities: Path | None, keys: Path | None = None) -> Bus:
    """A bus for a command; what no option says, the environment may."""
    from siftcast.runtimes.live.client.bus import connect
    from siftcast.runtimes.live.client.environment import believed_authorities, caller_token

    token = caller_token() if token is None else token
    authorities = believed_authorities(url) if authorities is None else authorities
    return connect(url, token=token, tls=authorities, name=name, timeout_s=WAIT_S, keys=keys)
