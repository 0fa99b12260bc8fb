"""Publishers and readers that never rest, at all nodes of a hostile network, and the oracle that listens to them.

Each node has a publisher, which publishes one event after the other and now and then many at once, as long as traffic
flows. Each subscription has one reader, whose stream lasts, whatever happens to its connection, until it is told to
leave; then another takes up the subscription.
`know` proves that events of every kind get from every node to every subscription: it publishes one of each until it has
arrived. What a durable subscription wants is required from then on.
"""

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from random import Random
from types import TracebackType
from typing import Self

import siftcast
from siftcast import Event
from siftcast.model.errors import SiftcastError
from siftcast.runtimes.live.errors import ConnectionLost
from tests.hostile.network import HostileNetwork
from tests.hostile.oracle import Content, Oracle, Published, Wants

PATIENCE_S = 600.0
"""How long clients wait for a node that is away: longer than any run."""
_PACE_S = 0.01
_ROUND_S = 0.3
_BURST_MAX = 12
_DURABLE_BUFFER, _EPHEMERAL_BUFFER = 20, 50_000
"""Of a durable subscription the node is to hold what is not read; of others it would drop it."""


def _number(content: Content) -> int | None:
    value = content.get("value")
    return value if isinstance(value, int) else None


def _lies(content: Content, low: int, high: int) -> bool:
    value = _number(content)
    return value is not None and low <= value <= high


WANTED: tuple[tuple[str, Wants], ...] = (
    ("value < 500", lambda content: _lies(content, -(10**9), 499)),
    ("value >= 300 AND kind = 'quote'", lambda content: _lies(content, 300, 10**9) and content["kind"] == "quote"),
    ("TRUE", lambda content: True),
    ("kind IN ('trade', 'note')", lambda content: content["kind"] in ("trade", "note")),
    (
        "value BETWEEN 100 AND 250 OR value > 900",
        lambda content: _lies(content, 100, 250) or _lies(content, 901, 10**9),
    ),
    ("value IS NULL OR word LIKE 'a%'", lambda content: _number(content) is None or str(content["word"])[0] == "a"),
)
"""Filters, each with what it means."""
KINDS = ("quote", "trade", "note")
WORDS = ("apple", "axle", "bread", "cedar", "dune", "ébène")
PROBED: tuple[int | None, ...] = (0, 120, 249, 380, 499, 501, 650, 780, 930, 999, None, -3, 5_000)
"""Values that between them take every way that a scheme may choose by content."""


def drawn(random: Random, value: int | None) -> dict[str, object]:
    """The content of an event; None is an attribute that is not there."""
    length = random.choice((0, 5, 40, 300, 300, 1_000, 3_000)) if random.random() > 0.02 else 20_000
    content: dict[str, object] = {
        "kind": random.choice(KINDS),
        "word": random.choice(WORDS),
        "price": random.random(),
        "firm": random.random() < 0.5,
        "text": "".join(random.choices("abc äöü", k=length)),
    }
    return content if value is None else {"value": value, **content}


def any_value(random: Random) -> int | None:
    """Mostly one of the domain."""
    return random.randrange(1_000) if random.random() < 0.85 else random.choice((None, -3, 5_000))


@dataclass(frozen=True, slots=True)
class _Probe:
    """An event of some kind from some node, until it has arrived where it is wanted."""

    node: str
    content: Content
    waiting: set[str]


class Traffic:
    """All clients of a run; entered with `async with`, after which every subscription stands and nothing flows."""

    def __init__(self, network: HostileNetwork, oracle: Oracle, seed: int) -> None:
        self.counts = dict.fromkeys(network.names, 0)
        """How many publishes of each node's publisher were answered."""
        self._network = network
        self._oracle = oracle
        self._durable = network.setting.durable
        self._seed = seed
        self._flowing = asyncio.Event()
        self._busy: set[str] = set()
        self._awake = {name: asyncio.Event() for name in network.names}
        self._texts: dict[str, str] = {}
        self._streams: dict[str, siftcast.EventStream] = {}
        self._readers: dict[str, tuple[siftcast.Bus, asyncio.Task[None]]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._stack = AsyncExitStack()
        self._buses: dict[str, siftcast.Bus] = {}
        self._probing: dict[str, set[str]] = {}
        """Where the kind of event that a probe stands for has not arrived yet, by the id of the probe."""

    async def __aenter__(self) -> Self:
        self.release()
        random = Random(f"{self._seed} homes")
        homes = random.sample(self._network.names, len(self._network.names))
        try:
            for number, (text, wants) in enumerate(WANTED):
                node = homes[number % len(homes)]
                await self._subscribe(f"desk-{number}", node, text, wants, durable=self._durable)
            if self._durable:
                await self._subscribe("passer-by", homes[-1], *WANTED[0], durable=False)
            for name in self._network.names:
                self._buses[name] = await self._connect(name, f"p-{name}")
                self._tasks.append(asyncio.create_task(self._publish_on(name)))
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def _end(self) -> None:
        tasks = [*self._tasks, *(task for _, task in self._readers.values())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._stack.aclose()

    async def _connect(self, node: str, name: str) -> siftcast.Bus:
        bus = siftcast.connect(self._network.url(node), name=name, timeout_s=PATIENCE_S)
        return await self._stack.enter_async_context(bus)

    # -- readers -----------------------------------------------------------------------------------------

    async def _subscribe(self, name: str, node: str, text: str, wants: Wants, *, durable: bool) -> None:
        self._oracle.subscribe(name, node, wants, durable=durable)
        self._texts[name] = text
        await self._begin_reading(name)

    async def _begin_reading(self, name: str) -> None:
        subscription = self._oracle.subscriptions[name]
        node, durable = subscription.node, subscription.durable
        bus = await self._connect(node, f"r-{name}")
        buffer = _DURABLE_BUFFER if durable else _EPHEMERAL_BUFFER
        stream = bus.subscribe(self._texts[name], durable=name if durable else None, buffer=buffer)
        await stream.ready()
        self._streams[name] = stream
        self._readers[name] = bus, asyncio.create_task(self._read_on(name, stream, self._awake[node]))

    def _readers_of(self, node: str) -> list[str]:
        return [each.name for each in self._oracle.subscriptions.values() if each.node == node]

    async def leave(self, node: str) -> None:
        """Has the readers of a node hang up."""
        for name in self._readers_of(node):
            bus, task = self._readers.pop(name)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await bus.close()

    async def come_back(self, node: str) -> None:
        """Has others take up their subscriptions."""
        for name in self._readers_of(node):
            self._oracle.follows(name)
            await self._begin_reading(name)

    async def change(self, node: str) -> None:
        """Has the subscriptions of a node want something else; asks again if a connection is lost meanwhile."""
        for name in self._readers_of(node):
            place = [text for text, _ in WANTED].index(self._texts[name])
            text, wants = WANTED[(place + 1) % len(WANTED)]
            self._oracle.replaces(name, wants)
            self._texts[name] = text
            while True:
                try:
                    await self._streams[name].replace(text)
                    break
                except ConnectionLost:
                    continue

    def hold(self, node: str) -> None:
        """Has the readers of a node pause, so that it must keep what they want."""
        self._awake[node].clear()

    def release(self) -> None:
        """Has all readers read on."""
        for awake in self._awake.values():
            awake.set()

    async def _read_on(self, name: str, stream: siftcast.EventStream, awake: asyncio.Event) -> None:
        try:
            async for event in stream:
                await awake.wait()
                self._oracle.reads(name, event.id, event.attributes)
                if event.id in self._probing:
                    self._probing[event.id].discard(name)
                event.ack()
        except SiftcastError as error:
            self._oracle.fails(name, error)

    # -- publishers --------------------------------------------------------------------------------------

    def flow(self) -> None:
        """Has all publishers publish."""
        self._flowing.set()

    async def ebb(self) -> None:
        """Has them pause, and waits for what is under way at nodes that run."""
        self._flowing.clear()
        while self._busy - self._network.down:
            await asyncio.sleep(0.002)

    async def _publish_on(self, node: str) -> None:
        random, bus, publisher = Random(f"{self._seed} {node}"), self._buses[node], f"p-{node}"
        while True:
            await self._flowing.wait()
            count = 1 if random.random() < 0.9 else random.randint(2, _BURST_MAX)
            contents = [drawn(random, any_value(random)) for _ in range(count)]
            self._busy.add(node)
            await self._publish(bus, [self._oracle.starts(publisher, node, content) for content in contents])
            self._busy.discard(node)
            self.counts[node] += count
            await asyncio.sleep(_PACE_S)

    async def _publish(self, bus: siftcast.Bus, started: list[Published]) -> None:
        events = [Event(each.content, each.id, each.publisher) for each in started]
        try:
            if len(events) == 1:
                await bus.publish(events[0], durable=self._durable)
            else:
                await bus.publish_many(events, durable=self._durable)
        except SiftcastError as error:
            for each in started:
                self._oracle.raises(each, error)
        else:
            for each in started:
                self._oracle.acknowledges(each)

    # -- proofs ------------------------------------------------------------------------------------------

    async def know(self) -> None:
        """Waits until events of every kind get from every node to every subscription that wants them."""
        random = Random(f"{self._seed} probes {len(self._oracle.events)}")
        names = list(self._oracle.subscriptions)
        probes = list(self._probes(random))
        proven = sum(len(probe.waiting) for probe in probes)
        while open_ := [probe for probe in probes if probe.waiting]:
            await asyncio.gather(*(self._send(node, open_) for node in self._network.names))
            with suppress(TimeoutError):
                async with asyncio.timeout(_ROUND_S):
                    while any(probe.waiting for probe in open_):
                        await asyncio.sleep(0.002)
        self._oracle.becomes_known(names)
        if not self._durable:
            self._oracle.proves(proven)

    def _probes(self, random: Random) -> Iterable[_Probe]:
        for node in self._network.names:
            for place, value in enumerate(PROBED):
                content = {**drawn(random, value), "kind": KINDS[place % len(KINDS)], "word": WORDS[place % len(WORDS)]}
                wanting = {each.name for each in self._oracle.subscriptions.values() if each.wants(content)}
                yield _Probe(node, content, wanting)

    async def _send(self, node: str, probes: list[_Probe]) -> None:
        for probe in probes:
            if probe.node == node:
                event = self._oracle.starts(f"probe-{node}", node, probe.content)
                self._probing[event.id] = probe.waiting
                await self._publish(self._buses[node], [event])
