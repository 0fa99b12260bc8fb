"""`siftcast serve`: runs a node until it is told to stop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.text import Text

from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.serve_example import EXAMPLE
from siftcast.interfaces.cli.terminal import out
from siftcast.model import DataError

if TYPE_CHECKING:
    from siftcast.runtimes.live.node.configuration import ConfigurationFile
    from siftcast.runtimes.live.node.node import Node

Flag = Annotated[bool, Parameter(negative="", show_default=False)]


def serve(
    *,
    config: Path | None = None,
    listen: str | None = None,
    data: Path | None = None,
    listen_fd: Annotated[int | None, Parameter(show=False)] = None,
    until_input_ends: Annotated[bool, Parameter(show=False)] = False,
    example: Flag = False,
) -> int:
    """Run a node: publishers and subscribers connect to it, and it connects to the other nodes of its network.

    Prints where it listens once it is ready, and stops on Ctrl-C or SIGTERM. Logs go to standard error.

    Example: siftcast serve --config node.toml

    Parameters
    ----------
    config
        A TOML file; without one the node is alone and listens on 127.0.0.1:7007.
    listen
        Where to listen, as in 127.0.0.1:7010; port 0 takes any that is free. A configuration names its own.
    data
        A folder for what must survive a crash: durable events and subscriptions. A configuration names its own.
    listen_fd
        A listening socket that whoever started the node has opened.
    until_input_ends
        Stop when standard input ends as well, so that a node does not outlive whoever started it.
    example
        Print a configuration with comments, and run nothing.
    """
    if example:
        out().print(Text(EXAMPLE), end="", soft_wrap=True)
        return OK

    from siftcast.runtimes.live.node.configuration import load_configuration
    from siftcast.runtimes.live.node.descriptors import raise_limit
    from siftcast.runtimes.live.node.node import run

    file = _alone(listen, data) if config is None else load_configuration(config)
    if config is not None:
        for option, key, given in (("--data", "data", data), ("--listen", "listen", listen)):
            if given is not None:
                raise DataError(f"{config} says it already; leave out {option}, or write it as {key} in its [node]")
    listener = None if listen_fd is None else socket.socket(fileno=listen_fd)
    raise_limit()
    run(_serve(file, listener, until_input_ends))
    _leave_kernels()
    return OK


def _alone(listen: str | None, data: Path | None) -> ConfigurationFile:
    """The configuration of a node without a file."""
    from siftcast.runtimes.live.errors import ConfigurationError
    from siftcast.runtimes.live.node.configuration import parse_configuration

    keys = {"listen": listen, "data": None if data is None else str(data.absolute())}
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in keys.items() if value is not None]  # as TOML has it
    try:
        return parse_configuration("[node]\n" + "".join(lines))
    except ConfigurationError as error:
        remedy = f"; {error.remedy} (in a file: siftcast serve --example prints one)" if error.remedy else ""
        raise DataError(f"--{error.key.removeprefix('node.')}: {error.problem}{remedy}") from None


async def _serve(file: ConfigurationFile, listener: socket.socket | None, until_input_ends: bool) -> None:
    from siftcast.runtimes.live.node.node import serve as serve_node

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if until_input_ends:
        loop.add_reader(sys.stdin.fileno(), _look_at_input, stop)
    await serve_node(file, stop, listener=listener, ready=_say_ready)


def _leave_kernels() -> None:
    """Ends the process at once if kernels are still being compiled: nothing can interrupt that, and nobody waits."""
    from siftcast.matching import KERNEL_THREAD

    if any(thread.name == KERNEL_THREAD for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(OK)


def _look_at_input(stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1):
        stop.set()


def _say_ready(node: Node) -> None:
    from siftcast.runtimes.live.local_network import READY

    console = out()
    console.print(Text(f"{READY}{node.url}"), soft_wrap=True)
    console.file.flush()
