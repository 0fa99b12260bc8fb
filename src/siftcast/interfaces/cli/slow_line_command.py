"""`siftcast slow-line`: distances between nodes that run on one machine."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from math import nan
from typing import NamedTuple

from rich.text import Text

from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.terminal import err
from siftcast.model import DataError

_DELAY_MS_MAX = 60_000.0


class _Line(NamedTuple):
    """Where a line listens, where it leads, and how long that takes."""

    listen: tuple[str, int]
    target: tuple[str, int]
    delay_ms: float


def slow_line(*lines: str, delay_ms: float = 80.0) -> int:
    """Have what connects to one address reach another one, later: distances between nodes on one machine.

    Each line is LISTEN=TARGET, a port or host:port on either side, or LISTEN=TARGET@MS with a delay of its own. A node
    that knows another one by the address of a line has it that far away, both ways. Port 0 is one that the system
    chooses. Runs until it is interrupted.

    Example: siftcast slow-line 7020=7007 --delay-ms 80

    Parameters
    ----------
    lines
        Where each line listens, where it leads, and how far away that is, if it says so.
    delay_ms
        How long every byte takes, each way, over lines that do not say so themselves.
    """
    from siftcast.runtimes.live.node.node import run

    if not 0 <= delay_ms <= _DELAY_MS_MAX:
        raise DataError(f"--delay-ms is 0 to {_DELAY_MS_MAX:,.0f}, not {delay_ms:g}")
    if not lines:
        raise DataError("name at least one line, such as 7020=7007")
    parsed = [_parsed(line, delay_ms) for line in lines]
    run(_stand(parsed))
    return OK


async def _stand(lines: list[_Line]) -> None:
    from siftcast.runtimes.live.slow_line import SlowLine

    async with AsyncExitStack() as stack:
        for listen, target, delay_ms in lines:
            try:
                line = await stack.enter_async_context(SlowLine(*target, delay_ms, listen=listen))
            except OSError as error:
                raise DataError(f"{listen[0]}:{listen[1]}: cannot listen there: {error.strerror or error}") from None
            shown = f"{listen[0]}:{line.port} leads to {target[0]}:{target[1]}, {delay_ms:g} ms later each way"
            err().print(Text(shown), soft_wrap=True)
        await asyncio.Event().wait()


def _parsed(line: str, delay_ms: float) -> _Line:
    rest, mark, own = line.partition("@")
    if mark:
        delay_ms = _delay(own, line)
    listen, mark, target = rest.partition("=")
    if not mark:
        raise DataError(f"{line!r} is no line; write LISTEN=TARGET, such as 7020=7007, or 7020=7007@80")
    return _Line(_address(listen, line), _address(target, line), delay_ms)


def _delay(text: str, line: str) -> float:
    try:
        delay_ms = float(text)
    except ValueError:
        delay_ms = nan
    if not 0 <= delay_ms <= _DELAY_MS_MAX:
        raise DataError(f"a delay is 0 to {_DELAY_MS_MAX:,.0f} ms, not {text!r} as in {line!r}")
    return delay_ms


def _address(text: str, line: str) -> tuple[str, int]:
    host, mark, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535 or (mark and not host):
        raise DataError(f"{text!r} in {line!r} is no port or host:port")
    return host or "127.0.0.1", int(port)
