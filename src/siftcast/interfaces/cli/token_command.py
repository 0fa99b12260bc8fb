"""`siftcast token new`: a token, and the table with its hash for the configuration of nodes."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, timedelta
from typing import Annotated

from cyclopts import App, Parameter
from rich.text import Text

from siftcast.interfaces.cli.options import Flag
from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.terminal import err
from siftcast.model import DataError, Filter

_PLACE = "For the configuration of nodes:"
_UNITS_S = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}

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
    expires: datetime | None = None,
    for_: Annotated[str | None, Parameter(name="--for")] = None,
    another: Flag = False,
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
        They may have a node leave its network, have others forgotten, and its configuration read again.
    node
        It is for another node of the network, of this name.
    expires
        Until when it is good, as in 2026-12-31T00:00:00Z; UTC, where no zone is given.
    for
        How long it is good, as in 30d, 12h or 45m, in place of --expires.
    another
        It is a further token of a principal that has one already: both are good, until the older one is taken away.
    """
    from siftcast.runtimes.live.node.rights import hash_token, new_token

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}", name):
        raise DataError(f"'{name}' is no name; names are letters, digits, '-' and '_', at most 63")
    if node and (any(each is not None for each in (publish, subscribe, delay_ms_min)) or see or operate):
        rights = "--publish, --subscribe, --delay-ms-min, --see and --operate"
        raise DataError(f"a node has no rights of clients; leave out {rights}")
    if delay_ms_min is not None and not 1 <= delay_ms_min < 1e15:
        raise DataError(f"--delay-ms-min is a number of milliseconds from 1 on, not {delay_ms_min:g}")
    end = _end_of(expires, for_)
    token = new_token()
    if another:
        if any((publish, subscribe, delay_ms_min, see, operate, node)):
            raise DataError(f"the rights are those that '{name}' has; leave all but --expires and --for out")
        lines = ["[[principal.tokens]]", f'hash = "{hash_token(token)}"']
    else:
        lines = ["[[principal]]", f'name = "{name}"', f'token_hash = "{hash_token(token)}"']
    if end is not None:
        lines.append(f"expires = {end}")
    for key, text in (("publish", publish), ("subscribe", subscribe)):
        if text is not None:
            lines.append(f"{key} = {_quoted(str(Filter.parse(text)))}")
    if delay_ms_min is not None:
        lines.append(f"delay_ms_min = {delay_ms_min}")
    lines += [f"{key} = true" for key, said in (("see", see), ("operate", operate), ("node", node)) if said]
    err().print(Text("The token, which is shown once (commands read it from SIFTCAST_TOKEN):", "dim"), soft_wrap=True)
    sys.stdout.write(f"{token}\n\n")
    sys.stdout.flush()
    place = f"For the configuration of nodes, right behind the table of '{name}':" if another else _PLACE
    err().print(Text(place, "dim"), soft_wrap=True)
    sys.stdout.write("\n".join(lines) + "\n")
    return OK


def _end_of(expires: datetime | None, for_: str | None) -> str | None:
    """Until when a token is good, as TOML has times; raises DataError for a time that is no end."""
    if expires is not None and for_ is not None:
        raise DataError("--expires and --for say the same; leave one of them out")
    now = datetime.now(UTC)
    if for_ is not None:
        found = re.fullmatch(r"(\d{1,6})([dhms])", for_)
        if found is None:
            raise DataError(f"--for is a number of days, hours, minutes or seconds, as in 30d, not '{for_}'")
        expires = now + timedelta(seconds=int(found[1]) * _UNITS_S[found[2]])
    if expires is None:
        return None
    end = (expires if expires.tzinfo is not None else expires.replace(tzinfo=UTC)).astimezone(UTC)
    if end <= now:
        raise DataError(f"--expires {expires.isoformat()} is over already")
    return end.replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _quoted(text: str) -> str:
    """A string of TOML: quotes, backslashes and what cannot be printed are escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(each if each.isprintable() else f"\\U{ord(each):08X}" for each in escaped) + '"'
