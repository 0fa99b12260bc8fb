"""`siftcast reload`: has a node read its configuration again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from rich.text import Text

from siftcast.interfaces.cli.caller import call_node, node_at
from siftcast.interfaces.cli.options import Authorities, JsonAnswer, Node
from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.terminal import err, out


def reload(
    *, at: Node = None, token: str | None = None, authorities: Authorities = None, json: JsonAnswer = False
) -> int:
    """Have a node read its configuration again: rights, tokens, limits, certificates and the audit log.

    All of it takes effect, or nothing: a mistake is told with file, line, key and remedy. What needs another start is
    named and stays as it is. When the command ends, nobody is shown what their rights do not include any more. SIGHUP
    does the same, with the answer in the node's log.

    Example: siftcast reload --at siftcast://127.0.0.1:7007

    Parameters
    ----------
    token
        Says who asks; SIFTCAST_TOKEN in the environment does too. Its principal needs operate = true.
    """
    from siftcast.runtimes.live.client import operating
    from siftcast.runtimes.live.node.node import run

    async def ask() -> Mapping[str, Any]:
        async with call_node(node_at(at), "siftcast reload", token=token, authorities=authorities) as bus:
            return await operating.reload(bus)

    found: Mapping[str, Any] = run(ask())
    if json:
        out().print(Text(msgspec.json.encode(found).decode()), soft_wrap=True)
        return OK
    changed = ", ".join(found["changed"]) or "nothing in the file; certificates and tokens in files were read again"
    out().print(Text(f"changed: {changed}"), soft_wrap=True)
    for count, words in ((found["put_out"], "connections ended"), (found["narrowed"], "clients lost subscriptions")):
        if count:
            out().print(Text(f"{words}: {count:,}"), soft_wrap=True)
    if found["beyond"]:
        err().print(Text(f"as before until the node is started again: {', '.join(found['beyond'])}", "yellow"))
    return OK
