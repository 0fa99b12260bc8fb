"""`siftcast network up`: a whole network on this machine, for trying things out."""

from __future__ import annotations

import signal
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.text import Text

from siftcast.interfaces.cli.outcome import FAILED, OK
from siftcast.interfaces.cli.terminal import err, facts, out

network_app = App(name="network", help="Run a network of nodes on this machine.")
_LOOK_S = 0.2


@network_app.command
def up(
    *,
    nodes: int = 3,
    scheme: str | None = None,
    schema: Path | None = None,
    folder: Path | None = None,
    durable: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Start a network, one process per node, and stop it on Ctrl-C.

    Example: siftcast network up --nodes 8 --scheme kyra

    Parameters
    ----------
    nodes
        How many.
    scheme
        How events find their way; `siftcast schemes` lists them.
    schema
        The content, for a scheme that divides it; without one, an attribute value from 0 to 999.
    folder
        Where configurations, logs and data go; without it, a temporary folder that is removed at the end.
    durable
        Have the nodes keep durable events and subscriptions on disk.
    """
    from siftcast.runtimes.live.local_network import LocalNetwork
    from siftcast.runtimes.live.node.descriptors import raise_limit

    raise_limit()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="siftcast-")))
        more = 'data = "{name}"' if durable else ""
        network = stack.enter_context(LocalNetwork(place, nodes, scheme, schema=schema, more=more))
        network.await_joined()
        console = out()
        console.print(facts(list(network.urls.items())))
        first = next(iter(network.urls.values()))
        console.print(Text(f'ready; try: siftcast subscribe "value < 100" --at {first}'), soft_wrap=True)
        console.file.flush()
        while not stop.wait(_LOOK_S):
            if network.ended:
                names = ", ".join(f"{name} (status {status})" for name, status in network.ended.items())
                logs = "\n".join(network.log_of(name).strip()[-500:] for name in network.ended)
                err().print(Text(f"ended unexpectedly: {names}\n{logs}", "bold red"), soft_wrap=True)
                return FAILED
    out().print(Text("stopped", "dim"))
    return OK
