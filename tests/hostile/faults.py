"""What can happen to a network, as named actions with a beginning and an end, drawn from a seed.

A fault begins, lasts until it was felt and so many events were published meanwhile, and ends; nothing is timed. After
the end everything runs and passes again. `FAULTS` has one maker for each name; two may be put together (`Together`).
What a fault does to disks it tells the oracle, since it changes what is promised:

    nothing forgotten    kill, kill two, kill all, stop all, freeze, isolate, cut, corrupt, delay, stall, drop, reorder,
                         list in another order, addresses exchanged, and cut, corrupt, reorder and stall of clients
    an older disk        what is published after the node was killed arrives
    a lost disk          what is published after subscriptions are known again arrives
    a damaged disk       as a lost one if the node's log reports damage, and as none if it does not
"""

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import ClassVar, Protocol

from tests.hostile.network import HostileNetwork
from tests.hostile.oracle import Oracle
from tests.hostile.traffic import Traffic
from tests.live.proxies import Proxy
from tests.live.store_damages import DAMAGES, damage

_FLIPPED = 1 / 2_000
_SWAPPED = 1 / 1_500


class Scene(Protocol):
    """Where faults strike."""

    network: HostileNetwork
    oracle: Oracle
    traffic: Traffic

    async def settle(self) -> None:
        """Has publishers pause until all that is required was read."""

    async def until(self, condition: Callable[[], object]) -> None:
        """Waits for a condition."""

    async def published(self, events: int, *, without: Sequence[str] = ()) -> None:
        """Waits until so many more events were published, those at some nodes not counted."""


class Fault:
    """One thing that happens to some nodes, the `victims`, or to their links."""

    unheard: ClassVar[bool] = False
    """Whether publishers at the victims are not answered while it lasts."""

    def __init__(self, random: Random, names: Sequence[str]) -> None:
        self.random = random
        self.victims = self.chosen(names)
        self.forgets = False
        """Whether subscriptions must be made known again afterwards; final when it has ended."""

    def chosen(self, names: Sequence[str]) -> Sequence[str]:
        """The victims among all nodes."""
        return [self.random.choice(names)]

    @property
    def victim(self) -> str:
        """The first of them."""
        return self.victims[0]

    @property
    def unanswered(self) -> Sequence[str]:
        """The nodes whose publishers are not answered while it lasts."""
        return self.victims if self.unheard else ()

    async def begin(self, scene: Scene) -> None:
        """Strikes."""

    def is_felt(self, scene: Scene) -> bool:
        """Whether it has lasted long enough to matter."""
        return True

    async def end(self, scene: Scene) -> None:
        """Is over."""


class Together(Fault):
    """A fault of links that is felt first and lasts while another one strikes, which begins and ends in the midst."""

    def __init__(self, random: Random, names: Sequence[str], around: Fault, inside: Fault) -> None:
        self._around = around
        self._inside = inside
        super().__init__(random, names)

    def chosen(self, names: Sequence[str]) -> Sequence[str]:
        return [*self._around.victims, *self._inside.victims]

    @property
    def unanswered(self) -> Sequence[str]:
        return [*self._around.unanswered, *self._inside.unanswered]

    async def begin(self, scene: Scene) -> None:
        await self._around.begin(scene)
        await scene.until(lambda: self._around.is_felt(scene))
        await self._inside.begin(scene)

    def is_felt(self, scene: Scene) -> bool:
        return self._inside.is_felt(scene)

    async def end(self, scene: Scene) -> None:
        await self._inside.end(scene)
        await self._around.end(scene)
        self.forgets = self._inside.forgets


# -- processes -------------------------------------------------------------------------------------------


class Kill(Fault):
    """kill -9, and a start."""

    unheard = True

    async def begin(self, scene: Scene) -> None:
        scene.network.kill(*self.victims)

    async def end(self, scene: Scene) -> None:
        await scene.network.start(*self.victims)


class KillTwo(Kill):
    """Two at once."""

    def chosen(self, names: Sequence[str]) -> Sequence[str]:
        return self.random.sample(names, 2)


class KillAll(Kill):
    """All at once."""

    def chosen(self, names: Sequence[str]) -> Sequence[str]:
        return self.random.sample(names, len(names))


class KillAgain(Kill):
    """Killed again as soon as it is ready, some times."""

    async def end(self, scene: Scene) -> None:
        for _ in range(2):
            await scene.network.start(*self.victims)
            scene.network.kill(*self.victims)
        await scene.network.start(*self.victims)


class StopAll(KillAll):
    """All are asked to stop."""

    async def begin(self, scene: Scene) -> None:
        await scene.network.stop(*self.victims)


class Freeze(Fault):
    """SIGSTOP, until the others have given it up."""

    unheard = True

    async def begin(self, scene: Scene) -> None:
        self._ended = ended(scene.network.links_of(self.victim))
        scene.network.freeze(self.victim)

    def is_felt(self, scene: Scene) -> bool:
        return ended(scene.network.links_of(self.victim)) > self._ended

    async def end(self, scene: Scene) -> None:
        scene.network.thaw(self.victim)


# -- links -----------------------------------------------------------------------------------------------


def ended(proxies: Sequence[Proxy]) -> int:
    """How many connections have ended, as far as the proxy could see."""
    return sum(proxy.connections - proxy.standing for proxy in proxies)


def made(proxies: Sequence[Proxy]) -> int:
    """How many connections were made."""
    return sum(proxy.connections for proxy in proxies)


class BadLinks(Fault):
    """Something happens to what the links of a node carry, until some connections were given up and made again."""

    def __init__(self, random: Random, names: Sequence[str], act: Callable[[Proxy], None], breaks: int = 3) -> None:
        super().__init__(random, names)
        self._act = act
        self._breaks = breaks

    def proxies(self, scene: Scene) -> list[Proxy]:
        """The links it is about."""
        return scene.network.links_of(self.victim)

    async def begin(self, scene: Scene) -> None:
        self._made = made(self.proxies(scene))
        for proxy in self.proxies(scene):
            self._act(proxy)

    def is_felt(self, scene: Scene) -> bool:
        return made(self.proxies(scene)) >= self._made + self._breaks

    async def end(self, scene: Scene) -> None:
        for proxy in self.proxies(scene):
            proxy.pass_on()


class BadDoor(BadLinks):
    """The same for the way of a node's clients."""

    def proxies(self, scene: Scene) -> list[Proxy]:
        return [scene.network.doors[self.victim]]


class SilentDoor(BadDoor):
    """The same where the publisher of the node is not answered."""

    unheard = True


class CutAgain(Fault):
    """All links of a node are cut, again and again."""

    def proxies(self, scene: Scene) -> list[Proxy]:
        """The links it is about."""
        return scene.network.links_of(self.victim)

    async def begin(self, scene: Scene) -> None:
        for _ in range(3):
            for proxy in self.proxies(scene):
                proxy.cut()
            await scene.published(self.random.randint(1, 8))


class CutDoor(CutAgain):
    """All clients of a node are cut off, again and again."""

    def proxies(self, scene: Scene) -> list[Proxy]:
        return [scene.network.doors[self.victim]]


class Slow(Fault):
    """Everything arrives later, on all links, each by its own delay."""

    async def begin(self, scene: Scene) -> None:
        for proxy in scene.network.links.values():
            proxy.delay(self.random.uniform(0.01, 0.15))

    async def end(self, scene: Scene) -> None:
        for proxy in scene.network.links.values():
            proxy.pass_on()


def _isolate(proxy: Proxy) -> None:
    proxy.stall()
    proxy.cut()


# -- disks -----------------------------------------------------------------------------------------------


class OlderDisk(Fault):
    """A copy of a node's folder, made while it was down for a moment, is brought back after more has happened."""

    unheard = True

    async def begin(self, scene: Scene) -> None:
        network, victim = scene.network, self.victim
        scene.traffic.release()
        await scene.settle()
        if self.random.random() < 0.5:
            await network.stop(victim)
        else:
            network.kill(victim)
        await asyncio.to_thread(network.copy_data, victim, f"copy-{victim}")
        await network.start(victim)
        scene.traffic.flow()
        await scene.published(self.random.randint(20, 80))
        network.kill(victim)
        scene.oracle.goes_back(victim)
        scene.oracle.forgive(known=True)
        await asyncio.to_thread(network.restore_data, victim, f"copy-{victim}")

    async def end(self, scene: Scene) -> None:
        await scene.network.start(self.victim)


class LostDisk(Fault):
    """A node's folder is gone."""

    unheard = True

    async def begin(self, scene: Scene) -> None:
        self.forgets = True
        scene.network.kill(self.victim)
        scene.oracle.goes_back(self.victim)
        scene.oracle.forgive(known=False)
        await asyncio.to_thread(scene.network.lose_data, self.victim)

    async def end(self, scene: Scene) -> None:
        await scene.network.start(self.victim)


class DamagedDisk(Fault):
    """Something is changed in the files of a node that is down, and that kept things nobody else had."""

    unheard = True

    def __init__(self, random: Random, names: Sequence[str], kind: str) -> None:
        super().__init__(random, names)
        self._kind = kind

    async def begin(self, scene: Scene) -> None:
        network, victim = scene.network, self.victim
        if self.random.random() < 0.7:
            await self._fill(scene)
        if self.random.random() < 0.3:
            await network.stop(victim)
        else:
            network.kill(victim)
        scene.oracle.goes_back(victim)
        for proxy in network.links_of(victim):
            proxy.pass_on()
        before = {path.name: path.read_bytes() for path in network.data(victim).glob("store.*") if _is_store(path.name)}
        after = damage(before, self._kind, self.random)
        for name in before:
            (network.data(victim) / name).unlink()
        for name, content in after.items():
            (network.data(victim) / name).write_bytes(content)

    async def _fill(self, scene: Scene) -> None:
        """Has the node keep events for its neighbours, which cannot be reached, and for readers, who do not read."""
        scene.traffic.hold(self.victim)
        for proxy in scene.network.links_of(self.victim):
            _isolate(proxy)
        others = [name for name in scene.network.names if name != self.victim]
        await scene.published(self.random.randint(10, 60), without=others)

    async def end(self, scene: Scene) -> None:
        network, victim = scene.network, self.victim
        since = len(network.log_of(victim))
        await network.start(victim)
        said = [line for line in network.logged(victim, since) if line["event"] == "store damaged"]
        if said and not all(line.get("whole") for line in said):
            self.forgets = True
            scene.oracle.forgive(known=False)


def _is_store(name: str) -> bool:
    return name in ("store.sqlite", "store.sqlite-wal", "store.tail")


# -- configurations --------------------------------------------------------------------------------------


class OtherOrder(KillAll):
    """All nodes are started again, each with the list of nodes in an order of its own."""

    async def end(self, scene: Scene) -> None:
        names = scene.network.names
        for name in names:
            scene.network.configure(name, order=self.random.sample(names, len(names)))
        await super().end(scene)


class Exchanged(Fault):
    """A node is started again with the addresses of two others exchanged; the log of somebody must say so."""

    unheard = True

    async def begin(self, scene: Scene) -> None:
        network = scene.network
        facts = await network.describe()
        called = {name: [each for each in facts[name]["peers"] if each < name] for name in network.names}
        victim = self.random.choice([name for name, peers in called.items() if peers])
        one = self.random.choice(called[victim])
        other = self.random.choice([name for name in network.names if name not in (victim, one)])
        self.victims = [victim]
        await network.stop(victim)
        self._since = {name: len(network.log_of(name)) for name in network.names}
        network.configure(victim, exchanged=(one, other))
        await network.start(victim)

    def is_felt(self, scene: Scene) -> bool:
        return any(
            "are two addresses exchanged" in str(line.get("reason"))
            for name, since in self._since.items()
            for line in scene.network.logged(name, since)
        )

    async def end(self, scene: Scene) -> None:
        await scene.network.stop(self.victim)
        scene.network.configure(self.victim)
        await scene.network.start(self.victim)


# -- all of them -----------------------------------------------------------------------------------------

Make = Callable[[Random, Sequence[str]], Fault]
OF_LINKS: dict[str, Make] = {
    "isolate": lambda random, names: BadLinks(random, names, _isolate, 2),
    "cut": CutAgain,
    "corrupt": lambda random, names: BadLinks(random, names, lambda proxy: proxy.corrupt(_FLIPPED)),
    "delay": Slow,
    "stall": lambda random, names: BadLinks(random, names, lambda proxy: proxy.stall(), 1),
    "drop up": lambda random, names: BadLinks(random, names, lambda proxy: proxy.drop("up"), 2),
    "drop down": lambda random, names: BadLinks(random, names, lambda proxy: proxy.drop("down"), 2),
    "reorder": lambda random, names: BadLinks(random, names, lambda proxy: proxy.reorder(_SWAPPED)),
    "cut clients": CutDoor,
    "corrupt clients": lambda random, names: BadDoor(random, names, lambda proxy: proxy.corrupt(_FLIPPED)),
    "reorder clients": lambda random, names: BadDoor(random, names, lambda proxy: proxy.reorder(_SWAPPED)),
    "stall clients": lambda random, names: SilentDoor(random, names, lambda proxy: proxy.stall(), 1),
}
OF_PROCESSES: dict[str, Make] = {
    "kill": Kill,
    "kill two": KillTwo,
    "kill all": KillAll,
    "kill again": KillAgain,
    "stop all": StopAll,
    "freeze": Freeze,
}
OF_CONFIGURATIONS: dict[str, Make] = {"other order": OtherOrder, "exchanged": Exchanged}


def _damaged(kind: str) -> Make:
    return lambda random, names: DamagedDisk(random, names, kind)


OF_DISKS: dict[str, Make] = {
    "older disk": OlderDisk,
    "lost disk": LostDisk,
    **{f"damaged disk: {kind}": _damaged(kind) for kind in DAMAGES},
}
FAULTS: dict[str, Make] = {**OF_LINKS, **OF_PROCESSES, **OF_CONFIGURATIONS, **OF_DISKS}


def names_of_faults(*, durable: bool) -> list[str]:
    """All faults that can strike a network with disks, or without."""
    return [name for name in FAULTS if durable or name not in OF_DISKS]


def names_of_pairs(*, durable: bool) -> list[str]:
    """All pairs that can: one that needs the links to settle, or to ask all nodes, cannot strike in the midst."""
    inside = [*OF_PROCESSES, *(name for name in OF_DISKS if durable and name != "older disk")]
    return [f"{around} + {name}" for around in OF_LINKS for name in inside]


def make(name: str, random: Random, names: Sequence[str]) -> Fault:
    """A fault, or a pair of them, by its name."""
    around, _, inside = name.partition(" + ")
    fault = FAULTS[around](random, names)
    return Together(random, names, fault, FAULTS[inside](random, names)) if inside else fault
