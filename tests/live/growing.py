"""A small unplanned scheme for tests of nodes that join and leave: everybody knows everybody, and is sent all events.

It runs in this process (`use_everybody`), and in processes of its own: `python -m tests.live.growing serve …`.
"""

import io
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

from siftcast.model import Event
from siftcast.overlays.contract import (
    Deliver,
    Effect,
    Effects,
    Leave,
    LeaveRequested,
    Message,
    MessageReceived,
    NodeId,
    PeerGone,
    Protocol,
    PublishRequested,
    Report,
    SendMessage,
    Started,
    Stimulus,
    SubscribeRequested,
    UnsubscribeRequested,
    Watch,
)
from siftcast.overlays.tables import TableFactory
from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.node import layout
from siftcast.runtimes.live.node.configuration import parse_configuration
from siftcast.runtimes.live.node.node import Node, ask_to_be_invited
from siftcast.schemes.contract import Factory, NoOptions, Scheme
from siftcast.schemes.ground import Ground

NAME = "everybody"


class Enter(Message, frozen=True, gc=False):
    """The sender wants to be known."""


class Meet(Message, frozen=True, gc=False):
    """These are there."""

    nodes: tuple[int, ...]

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return self.nodes


class Carry(Message, frozen=True, gc=False):
    """An event."""

    control: ClassVar[bool] = False
    event: Event


class Everybody(Protocol):
    """A node that tells all others of each that enters."""

    messages: ClassVar[tuple[type[Message], ...]] = (Enter, Meet, Carry)
    can_leave = True

    def __init__(self, node: NodeId, tables: TableFactory) -> None:
        self.heard: list[Stimulus] = []
        self.members: set[NodeId] = set()
        self.is_talkative = True
        """Whether it sends anything by itself."""
        self._node = node
        self._own = tables()

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        self.heard.append(stimulus)
        match stimulus:
            case Started(contacts=contacts) if contacts:
                self.members |= set(contacts)
                return [SendMessage(Enter(), contacts)]
            case MessageReceived(sender, Enter()) if self.is_talkative:
                others = tuple(self.members - {sender})
                self.members.add(sender)
                told = (SendMessage(Meet((*others, self._node)), (sender,)), SendMessage(Meet((sender,)), others))
                return [Watch(sender), *told]
            case MessageReceived(_, Meet(nodes)):
                fresh = [each for each in nodes if each not in self.members and each != self._node]
                self.members |= set(fresh)
                return [Watch(each) for each in fresh]
            case MessageReceived(_, Carry(event)):
                return self._deliver(event)
            case PublishRequested(event):
                return [*self._deliver(event), SendMessage(Carry(event), tuple(self.members))]
            case SubscribeRequested(subscriptions):
                for each in subscriptions:
                    self._own.add(each.id, each.filter)
            case UnsubscribeRequested(ids):
                for id in ids:
                    self._own.remove(id)
            case PeerGone(peer):
                self.members.discard(peer)
                return [Report("nothing waited for it", {"peer": peer})]
            case LeaveRequested():
                return [Leave()]
        return []

    def _deliver(self, event: Event) -> list[Effect]:
        found = self._own.match(event)
        return [Deliver(event, found)] if found else []

    def of(self, kind: type[Stimulus]) -> list[Any]:
        """What it has heard of one kind."""
        return [each for each in self.heard if type(each) is kind]


class EverybodyScheme(Scheme[NoOptions, None]):
    name = NAME
    description = "everybody knows everybody"
    protocol = Everybody
    options = NoOptions()
    begins_with_contacts = True

    def plan(self, ground: Ground, options: NoOptions) -> None:
        return None

    def assign(self, plan: None, nodes: Iterable[NodeId]) -> None:
        return None

    def nodes(self, plan: None, options: NoOptions, tables: TableFactory) -> Factory:
        return lambda node: Everybody(node, tables)

    def contacts(self, plan: None, node: NodeId) -> tuple[NodeId, ...]:
        return ()


def use_everybody(put: Callable[[object, str, object], None] = setattr) -> None:
    """Has nodes of this process find the scheme; `put` sets an attribute, as that of a MonkeyPatch does."""
    known = layout.scheme
    put(layout, "scheme", lambda name: EverybodyScheme() if name == NAME else known(name))


class Growing:
    """Nodes of one network in this process, the first by itself and the others joining.

    `options` are the scheme's, as a configuration has them.
    """

    def __init__(self, folder: Path, scheme: str, options: str = "") -> None:
        self.nodes: dict[str, Node] = {}
        self.said: dict[str, io.StringIO] = {}
        self._folder = folder
        self._scheme = scheme
        self._options = options

    async def start(
        self, name: str, seed: str = "", *, listen: str = "127.0.0.1:0", data: bool = False, more: str = ""
    ) -> Node:
        """Starts a node, through another one that runs or an address."""
        text = f'[node]\nname = "{name}"\nlisten = "{listen}"\n' + (f'data = "{name}"\n' if data else "") + more
        if seed:
            text += f'[join]\nseeds = ["{self.nodes[seed].address if seed in self.nodes else seed}"]\n'
        else:
            text += f'[overlay]\nnetwork = "growing"\nscheme = "{self._scheme}"\n'
            text += f"[overlay.options]\n{self._options}\n" if self._options else ""
        file = parse_configuration(text, str(self._folder / f"{name}.toml"))
        log = make_log("json", stream=self.said.setdefault(name, io.StringIO()))
        node = Node(file, log=log, invited=await ask_to_be_invited(file, log) if seed else None)
        await node.start()
        self.nodes[name] = node
        return node

    def logged(self, name: str) -> list[str]:
        """What a node has logged, without the facts."""
        return [json.loads(line)["event"] for line in self.said[name].getvalue().splitlines()]

    def protocol(self, name: str) -> Everybody:
        found = self.nodes[name].life.protocol
        assert isinstance(found, Everybody)
        return found

    def identity(self, name: str) -> NodeId:
        return self.nodes[name].life.overlay.node

    def present(self, name: str) -> list[str]:
        return self.nodes[name].life.peers.present


@asynccontextmanager
async def growing(folder: Path, scheme: str = NAME, options: str = "") -> AsyncIterator[Growing]:
    """A network that is still to be grown, and is stopped at the end."""
    network = Growing(folder, scheme, options)
    try:
        yield network
    finally:
        for node in network.nodes.values():
            await node.stop()


if __name__ == "__main__":
    from siftcast.interfaces.cli import main

    use_everybody()
    sys.exit(main())
