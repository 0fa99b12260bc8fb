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

from siftcast.interfaces.cli.options import Flag
from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.serve_example import EXAMPLE
from siftcast.interfaces.cli.terminal import out
from siftcast.model import DataError
from siftcast.overlays.roles import Role

if TYPE_CHECKING:
    from siftcast.runtimes.live.node.configuration import ConfigurationFile
    from siftcast.runtimes.live.node.node import Node

Keys = dict[str, str | list[Role] | None]
"""What is said about a node on the command line, as keys of [node]."""


def serve(
    *,
    config: Path | None = None,
    listen: str | None = None,
    data: Path | None = None,
    join: Annotated[list[str] | None, Parameter(negative="")] = None,
    name: str | None = None,
    advertise: str | None = None,
    role: Annotated[list[Role] | None, Parameter(negative="")] = None,
    network: str | None = None,
    listen_fd: Annotated[int | None, Parameter(show=False)] = None,
    until_input_ends: Annotated[bool, Parameter(show=False)] = False,
    example: Flag = False,
) -> int:
    """Run a node: publishers and subscribers connect to it, and it connects to the other nodes of its network.

    Prints where it listens once it is ready, and stops on Ctrl-C or SIGTERM. Logs go to standard error. SIGHUP has it
    read its configuration again, as siftcast reload does.

    Example: siftcast serve --config node.toml

    Example: siftcast serve --join 127.0.0.1:7007 --name second --listen 127.0.0.1:0

    Parameters
    ----------
    config
        A TOML file; without one the node is alone and listens on 127.0.0.1:7007.
    listen
        Where to listen, as in 127.0.0.1:7010; port 0 takes any that is free. A configuration names its own.
    data
        A folder for what must survive a crash: durable events and subscriptions. A configuration names its own.
    join
        A node of a network to join, as in 127.0.0.1:7007; several are tried in turn. The scheme and all else that the
        nodes agree on comes from there.
    name
        What people call the node; its own in the network. A configuration names its own.
    advertise
        Where other nodes call this one, if that is not where it listens. A configuration names its own.
    role
        What the node is for: edge serves clients and has no place in any plan; matcher runs the matching layer of a
        scheme that divides it. Several may be given; without one, the node may do everything. A configuration names its
        own.
    network
        What the network that is joined must be called.
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

    from siftcast.matching.collector import collect_seldom
    from siftcast.runtimes.live.errors import LEFT
    from siftcast.runtimes.live.node.configuration import load_configuration
    from siftcast.runtimes.live.node.descriptors import raise_limit
    from siftcast.runtimes.live.node.node import run

    keys: Keys = {"listen": _bare(listen), "data": None if data is None else str(data.absolute()), "name": name}
    keys |= {"advertise": _bare(advertise), "roles": role}
    join = None if join is None else [_bare(each) or "" for each in join]
    file = _alone(keys, join, network) if config is None else load_configuration(config)
    if config is not None:
        for key, given in keys.items():
            if given is not None:
                option = "role" if key == "roles" else key
                raise DataError(f"{config} says it already; leave out --{option}, or write it as {key} in its [node]")
        if join or network is not None:
            raise DataError(f"{config} says it already; leave out --join and --network, or write them in its [join]")
    listener = None if listen_fd is None else socket.socket(fileno=listen_fd)
    raise_limit()
    collect_seldom()
    if run(_serve(file, listener, until_input_ends)):
        out().print(Text(LEFT), soft_wrap=True)
    _leave_kernels()
    return OK


def _bare(address: str | None) -> str | None:
    """An address as nodes have it: what a node prints when it is ready may be given as it stands."""
    scheme, is_url, rest = (address or "").partition("://")
    return rest.rstrip("/") if is_url and scheme == "siftcast" else address


def _alone(keys: Keys, join: list[str] | None, network: str | None) -> ConfigurationFile:
    """The configuration of a node without a file, which has these keys in its [node], and may join a network."""
    from siftcast.runtimes.live.errors import ConfigurationError
    from siftcast.runtimes.live.node.configuration import parse_configuration

    if network is not None and not join:
        raise DataError("--network is for a node that joins one; name a node of it with --join HOST:PORT")
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in keys.items() if value is not None]  # as TOML has it
    if join:
        lines.append(f"[join]\nseeds = {json.dumps(join)}\n")
        lines += [] if network is None else [f"network = {json.dumps(network)}\n"]
    try:
        return parse_configuration("[node]\n" + "".join(lines))
    except ConfigurationError as error:
        remedy = f"; {error.remedy} (in a file: siftcast serve --example prints one)" if error.remedy else ""
        option = error.key.rpartition(".")[2].partition("[")[0]
        option = {"seeds": "join", "roles": "role"}.get(option, option)
        raise DataError(f"--{option}: {error.problem}{remedy}") from None


async def _serve(file: ConfigurationFile, listener: socket.socket | None, until_input_ends: bool) -> bool:
    from siftcast.runtimes.live.node.node import serve as serve_node

    stop, reload = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if file.is_read:
        has_terminal = _has_terminal()
        loop.add_signal_handler(signal.SIGHUP, lambda: (stop if has_terminal and not _has_terminal() else reload).set())
    if until_input_ends:
        loop.add_reader(sys.stdin.fileno(), _look_at_input, stop)
    return await serve_node(file, stop, listener=listener, ready=_say_ready, reload=reload)


def _has_terminal() -> bool:
    """Whether there is a terminal that can end the process by being closed, which says SIGHUP, too."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


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
