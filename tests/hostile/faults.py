"""All that can happen to a network, by name.

    of links             isolate, cut, corrupt, delay, stall, drop or reorder what nodes say to each other; cut,
                         corrupt, stall or reorder what they say to clients; readers leave; filters change
    of processes         kill one, two, all, or one again when it is back, or while it starts; stop all; freeze one
    of configurations    the list of nodes in another order, two addresses exchanged
    of disks             older copies, lost folders, damaged files

Faults of links may be put around those of processes and disks (`names_of_pairs`): a node is killed and comes back while
its links corrupt what they carry.
"""

from collections.abc import Callable, Sequence
from random import Random

from tests.hostile.actions import Fault, Scene, Together
from tests.hostile.disk_faults import (
    AllDisksLost,
    DamagedDisk,
    LostDisk,
    OlderDisk,
    OlderDiskAgain,
    TwoLostDisks,
    TwoOlderDisks,
)
from tests.hostile.link_faults import (
    BadDoor,
    BadLinks,
    CutAgain,
    CutDoor,
    FiltersChange,
    ReadersLeave,
    SilentDoor,
    Slow,
    ended,
    isolate,
)
from tests.hostile.membership_faults import Guest, GuestKilled
from tests.live.store_damages import DAMAGES

_FLIPPED = 1 / 2_000
_SWAPPED = 1 / 1_500


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


class KillEarly(Kill):
    """Killed again while it starts, some times."""

    async def end(self, scene: Scene) -> None:
        for _ in range(3):
            await scene.network.start_and_kill(self.victim, self.random.randint(1, 4))
        await super().end(scene)


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
    "isolate": lambda random, names: BadLinks(random, names, isolate, 2),
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
    "readers leave": ReadersLeave,
    "filters change": FiltersChange,
}
OF_PROCESSES: dict[str, Make] = {
    "kill": Kill,
    "kill two": KillTwo,
    "kill all": KillAll,
    "kill again": KillAgain,
    "kill early": KillEarly,
    "stop all": StopAll,
    "freeze": Freeze,
}
OF_CONFIGURATIONS: dict[str, Make] = {"other order": OtherOrder, "exchanged": Exchanged}


def _damaged(kind: str) -> Make:
    return lambda random, names: DamagedDisk(random, names, kind)


OF_DISKS: dict[str, Make] = {
    "older disk": OlderDisk,
    "older disk again": OlderDiskAgain,
    "two older disks": TwoOlderDisks,
    "lost disk": LostDisk,
    "two lost disks": TwoLostDisks,
    "all disks lost": AllDisksLost,
    **{f"damaged disk: {kind}": _damaged(kind) for kind in DAMAGES},
}
OF_MEMBERS: dict[str, Make] = {"guest": Guest, "guest killed": GuestKilled}
FAULTS: dict[str, Make] = {**OF_LINKS, **OF_PROCESSES, **OF_CONFIGURATIONS, **OF_MEMBERS, **OF_DISKS}


def names_of_faults(*, durable: bool) -> list[str]:
    """All faults that can strike a network with disks, or without."""
    return [name for name in FAULTS if durable or name not in (*OF_DISKS, "guest killed")]


def names_of_pairs(*, durable: bool) -> list[str]:
    """All pairs that can; left out is what would wait for ever in the midst, for clients or for a proxy that stalls."""
    inside = [*OF_PROCESSES, *(name for name in OF_DISKS if durable and "older" not in name), "filters change"]
    waits = {
        "freeze": ("isolate", "stall"),
        "filters change": ("stall clients", "readers leave", "filters change"),
    }
    return [f"{around} + {name}" for around in OF_LINKS for name in inside if around not in waits.get(name, ())]


def make(name: str, random: Random, names: Sequence[str]) -> Fault:
    """A fault, or a pair of them, by its name."""
    around, _, inside = name.partition(" + ")
    fault = FAULTS[around](random, names)
    return Together(random, names, fault, FAULTS[inside](random, names)) if inside else fault
