"""`siftcast network up`: a whole network on this machine, for trying things out; `apply`, `replan`: another plan."""

from __future__ import annotations

import signal
import tempfile
import threading
import tomllib
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from cyclopts import App
from rich.text import Text

from siftcast.interfaces.cli.options import Flag
from siftcast.interfaces.cli.outcome import FAILED, OK
from siftcast.interfaces.cli.terminal import err, facts, out
from siftcast.interfaces.cli.waiting_line import Facts, WaitingLine, waiting_line
from siftcast.schemes import SchemeError

network_app = App(name="network", help="Run a network of nodes on this machine, or change the plan of one that runs.")
_LOOK_S = 0.2


@network_app.command
def up(
    *,
    nodes: int = 3,
    scheme: str | None = None,
    schema: Path | None = None,
    folder: Path | None = None,
    durable: Flag = False,
    option: tuple[str, ...] = (),
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
    option
        An option of the scheme, as name=value; may be given several times.
    """
    from siftcast.runtimes.live.local_network import LocalNetwork
    from siftcast.runtimes.live.node.descriptors import raise_limit

    raise_limit()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as stack:
        into = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="siftcast-")))
        more = 'data = "{name}"' if durable else ""
        chosen = dict(map(_option, option))
        network = stack.enter_context(LocalNetwork(into, nodes, scheme, options=chosen, schema=schema, more=more))
        network.await_joined()
        console = out()
        console.print(facts(list(network.urls.items())))
        _show_remarks(network.remarks())
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


@network_app.command
def apply(
    configuration: Path,
    /,
    *,
    at: str | None = None,
    token: str | None = None,
    authorities: Path | None = None,
) -> int:
    """Plan a running network by another configuration: the options of its scheme, its links, its ground.

    The new plan is built up beside the old one and takes its place when all nodes are prepared. Nothing is lost, and
    there is no time in which nothing is delivered. Nodes come and go by siftcast serve --join and siftcast leave.

    Example: siftcast network apply new.toml

    Parameters
    ----------
    configuration
        A file whose [overlay] table says what is to change: links, as in [["n0", "n1"], ["n1", "n2"]], options, ground
        or ground_ms. What it leaves out stays as it is. A whole configuration of any of the nodes will do, too: its
        [[overlay.nodes]] must then name all nodes of the network, and what else it leaves out is dropped.
    at
        Any node; without it SIFTCAST_URL in the environment says which, or else siftcast://127.0.0.1:7007.
    token
        Says who asks; SIFTCAST_TOKEN in the environment does too. Its principal needs operate and see.
    authorities
        A file with the certificates to believe, instead of the machine's, where the node's address is siftcasts://.
    """
    from siftcast.interfaces.cli.caller import call_node, node_at
    from siftcast.model.toml_files import read_text
    from siftcast.runtimes.live.client import operating
    from siftcast.runtimes.live.errors import ConfigurationError
    from siftcast.runtimes.live.node.configuration import parse_configuration
    from siftcast.runtimes.live.node.node import run

    text = read_text(configuration, ConfigurationError, "siftcast serve --example")
    parse_configuration(text, str(configuration), for_running=True)
    url = node_at(at)

    async def ask(show: WaitingLine) -> int:
        async with call_node(url, "siftcast network apply", token=token, authorities=authorities) as bus:
            return await operating.apply(bus, text, show, remarks.append)

    remarks: list[str] = []
    with waiting_line("planning", url, _words) as show:
        number = run(ask(show))
    _show_remarks(remarks)
    out().print(Text(f"plan {number} is used by all nodes"), soft_wrap=True)
    return OK


@network_app.command
def replan(*, at: str | None = None, token: str | None = None, authorities: Path | None = None) -> int:
    """Plan a running network by what its nodes have measured: delays between them, and what is published and wanted.

    Until then nodes of one region are taken to be near each other, and all parts of the content to be wanted alike.
    The new plan takes the place of the old one as with siftcast network apply. What was measured stays part of it when
    nodes come and go, until the network is planned by new measurements.

    Example: siftcast network replan

    Parameters
    ----------
    at
        Any node; without it SIFTCAST_URL in the environment says which, or else siftcast://127.0.0.1:7007.
    token
        Says who asks; SIFTCAST_TOKEN in the environment does too. Its principal needs operate and see.
    authorities
        A file with the certificates to believe, instead of the machine's, where the node's address is siftcasts://.
    """
    from siftcast.interfaces.cli.caller import call_node, node_at
    from siftcast.runtimes.live.client import operating
    from siftcast.runtimes.live.node.node import run

    url = node_at(at)

    async def ask(show: WaitingLine) -> int:
        async with call_node(url, "siftcast network replan", token=token, authorities=authorities) as bus:
            return await operating.replan(bus, _show_measured, show)

    with waiting_line("planning", url, _words) as show:
        number = run(ask(show))
    out().print(Text(f"plan {number} is used by all nodes"), soft_wrap=True)
    return OK


def _show_remarks(remarks: Iterable[str]) -> None:
    for remark in remarks:
        err().print(Text(f"note: {remark}", "yellow"), soft_wrap=True)


def _show_measured(measured: Facts) -> None:
    nodes, median, most = measured["nodes"], measured["delay_ms_median"], measured["delay_ms_max"]
    delays = "none yet" if median is None else f"median {median:.1f} ms, at most {most:.1f} ms"
    rows = [
        ("nodes that answered", f"{nodes}"),
        ("delays", f"{measured['pairs']} of {nodes * (nodes - 1) // 2} pairs: {delays}"),
        ("events", f"{measured['events_s']:,.1f} per second"),
        ("subscriptions", f"{measured['subscriptions']:,}"),
        ("content counted by", ", ".join(measured["attributes"]) or "nothing"),
    ]
    if measured.get("before_ms") is not None:
        costs = f"{measured['after_ms']:.1f} ms by the new plan, {measured['before_ms']:.1f} ms before"
        rows.append(("mean between nodes", costs))
    out().print(facts(rows))
    if measured["silent"]:
        err().print(Text(f"did not answer: {', '.join(measured['silent'])}", "yellow"), soft_wrap=True)


def _words(facts: Facts) -> str:
    return f"plan {facts['state']['epoch']} is used; open plans: {len(facts['state']['epochs'])}"


def _option(text: str) -> tuple[str, object]:
    """An option of a scheme from its text: `replicas=2` is a number, `key=symbol` and `cuts=[1, 2]` are strings."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not name or not equals:
        raise SchemeError(f"an option of a scheme is name=value, not '{text}'")
    try:
        found = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value
    return name, found if isinstance(found, bool | int | float | str) else value
