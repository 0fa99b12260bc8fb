"""Routes over real routers: nodes in namespaces infer them, show what they share, and `siftcast ground` writes them."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from siftcast.interfaces.cli import main
from siftcast.runtimes.live.client.bus import connect
from siftcast.runtimes.live.client.operating import members_of
from siftcast.runtimes.live.node import calling, configuration, node
from siftcast.runtimes.live.node.configuration import parse_configuration
from siftcast.runtimes.live.node.node import serve
from siftcast.underlay.ground_file import read_ground
from tests.live.namespaces import Ground, ground_of_namespaces
from tests.live.nodes import QUIET

ADDRESSES = {"h1": "10.89.1.1:7400", "h2": "10.89.3.2:7400", "h3": "10.89.4.2:7400"}


@contextmanager
def node_at(ground: Ground, host: str) -> Iterator[None]:
    """A node that runs at a host, in a loop and a thread of its own."""
    lines = [f'[node]\nname = "{host}"\nlisten = "{ADDRESSES[host]}"\ntraceroute = true\n{QUIET}']
    lines += [f'[[overlay.nodes]]\nname = "{name}"\naddress = "{address}"\n' for name, address in ADDRESSES.items()]
    file, ready, ends = parse_configuration("".join(lines)), threading.Event(), list[object]()

    def run() -> None:
        async def live() -> None:
            loop, stop = asyncio.get_running_loop(), asyncio.Event()
            ends.append(lambda: loop.call_soon_threadsafe(stop.set))
            await serve(file, stop, ready=lambda _: ready.set())

        node.run(live())

    thread = threading.Thread(target=lambda: ground.inside(host, run))
    thread.start()
    assert ready.wait(60)
    try:
        yield
    finally:
        ends[0]()  # type: ignore[operator]
        thread.join()


def shared_at(ground: Ground, host: str) -> dict[str, dict[str, list[str]]]:
    async def ask() -> dict[str, dict[str, list[str]]]:
        async with connect(f"siftcast://{ADDRESSES[host]}") as bus:
            return {
                row["name"]: {each["name"]: each["routers"] for each in row["shared_routers"]}
                for row in await members_of(bus)
                if "shared_routers" in row
            }

    return ground.inside(host, lambda: node.run(ask()))


def test_routes_between_nodes_are_written_with_their_routers_and_members_show_what_they_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (configuration, calling):  # nobody else can reach a namespace of this machine
        monkeypatch.setattr(module, "is_loopback", lambda _: True)
    file = tmp_path / "real.ground"
    with ground_of_namespaces() as ground, ExitStack() as stack:
        for host in ADDRESSES:
            stack.enter_context(node_at(ground, host))
        command = ["ground", ADDRESSES["h1"], "--routes", "--out", str(file)]
        assert ground.inside("h1", lambda: main(command)) == 0
        assert shared_at(ground, "h1") == {"h2": {"h3": ["10.89.1.2"]}, "h3": {"h2": ["10.89.1.2"]}}
        table = ["members", "--at", f"siftcast://{ADDRESSES['h1']}"]
        monkeypatch.setenv("COLUMNS", "250")
        assert ground.inside("h1", lambda: main(table)) == 0
    said = capsys.readouterr()
    assert "6 ok; routers answered from 5 addresses" in " ".join(said.out.split())
    assert "1 with h3" in said.out
    measured = read_ground(file)
    routes = {(measured.hosts[each.start].name, measured.hosts[each.end].name): each for each in measured.routes}
    assert {ends: route.routers for ends, route in routes.items()} == {
        ("h1", "h2"): ("10.89.1.2", "10.89.2.2"),
        ("h1", "h3"): ("10.89.1.2",),
        ("h2", "h1"): ("10.89.3.1", "10.89.2.1"),
        ("h2", "h3"): ("10.89.3.1", "10.89.2.1"),
        ("h3", "h1"): ("10.89.4.1",),
        ("h3", "h2"): ("10.89.4.1", "10.89.2.2"),
    }
    assert all(delay_ms is not None for route in routes.values() for delay_ms in route.delays_ms)
