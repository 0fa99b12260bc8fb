"""`siftcast token new`: a token, and the table with its hash for the configuration of nodes."""

from __future__ import annotations

import re
import sys

from cyclopts import App
from rich.text import Text

from siftcast.interfaces.cli.options import Flag
from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.terminal import err
from siftcast.model import DataError, Filter

token_app = App(name="token", help="Make tokens, which say who may do what at a node.")


@token_app.command
def new(
    name: str,
    /,
    *,
    publish: str | None = None,
    subscribe: str | None = None,
    delay_ms_min: float | None = None,
    see: Flag = False,
    operate: Flag = False,
    node: Flag = False,
) -> int:
    """Print a new token, and the table to put into the configuration of every node that shall know it.

    The table holds only a hash: give the token to whom it is for, and keep it nowhere else.

    Example: siftcast token new desk --subscribe "symbol = 'IBM'"

    Parameters
    ----------
    name
        Whose it is: what logs and refusals call them.
    publish
        What they may publish, a filter; TRUE for anything, left out for nothing.
    subscribe
        Within what they may subscribe, a filter; TRUE for anything, left out for nothing.
    delay_ms_min
        The tightest bound on delay that they may ask for, in milliseconds; left out for any.
    see
        They may see what others subscribe to, dry runs and traces.
    operate
        They may have a node leave its network, and have others forgotten.
    node
        It is for another node of the network, of this name.
    """
    from siftcast.runtimes.live.node.rights import hash_token, new_token

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}", name):
        raise DataError(f"'{name}' is no name; names are letters, digits, '-' and '_', at most 63")
    if node and (any(each is not None for each in (publish, subscribe, delay_ms_min)) or see or operate):
        rights = "--publish, --subscribe, --delay-ms-min, --see and --operate"
        raise DataError(f"a node has no rights of clients; leave out {rights}")
    if delay_ms_min is not None and not 1 <= delay_ms_min < 1e15:
        raise DataError(f"--delay-ms-min is a number of milliseconds from 1 on, not {delay_ms_min:g}")
    token = new_token()
    lines = ["[[principal]]", f'name = "{name}"', f'token_hash = "{hash_token(token)}"']
    for key, text in (("publish", publish), ("subscribe", subscribe)):
        if text is not None:
            lines.append(f"{key} = {_quoted(str(Filter.parse(text)))}")
    if delay_ms_min is not None:
        lines.append(f"delay_ms_min = {delay_ms_min}")
    lines += [f"{key} = true" for key, said in (("see", see), ("operate", operate), ("node", node)) if said]
    err().print(Text("The token, which is shown once (commands read it from SIFTCAST_TOKEN):", "dim"), soft_wrap=True)
    sys.stdout.write(f"{token}\n\n")
    sys.stdout.flush()
    err().print(Text("For the configuration of nodes:", "dim"), soft_wrap=True)
    sys.stdout.write("\n".join(lines) + "\n")
    return OK


def _quoted(text: str) -> str:
    """A string of TOML: quotes, backslashes and what cannot be printed are escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(each if each.isprintable() else f"\\U{ord(each):08X}" for each in escaped) + '"'
