"""What can happen to the disks of nodes that are down, and what the oracle must know about it.

    an older disk        what is published after the node was killed arrives
    a lost disk          what is published after subscriptions are known again arrives
    a damaged disk       as a lost one if the node's log reports that something is lost; otherwise everything arrives

Before a disk is copied or damaged, its node mostly has kept events that nobody else had: its neighbours could not be
reached, and its readers did not read.
"""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import ClassVar

from tests.hostile.actions import Fault, Scene
from tests.hostile.link_faults import isolate
from tests.live.store_damages import damage


async def fill(scene: Scene, random: Random, victim: str) -> None:
    """Has a node keep events for its neighbours, which cannot be reached, and for readers, who do not read."""
    scene.traffic.hold(victim)
    for proxy in scene.network.links_of(victim):
        isolate(proxy)
    others = [name for name in scene.network.names if name != victim]
    await scene.published(random.randint(10, 60), without=others)


def empty(scene: Scene, victim: str) -> None:
    """Lets a node get rid of what it kept."""
    scene.traffic.release()
    for proxy in scene.network.links_of(victim):
        proxy.pass_on()


class OlderDisk(Fault):
    """Copies of nodes' folders, made while each was down for a moment, are brought back after more has happened."""

    unheard = True
    times: ClassVar[int] = 1

    async def begin(self, scene: Scene) -> None:
        for victim in self.victims:
            await self._copy(scene, victim)
        for _ in range(self.times):
            await scene.published(self.random.randint(20, 80))
            await self._go_back(scene)

    async def _copy(self, scene: Scene, victim: str) -> None:
        network = scene.network
        if self.random.random() < 0.5:
            await fill(scene, self.random, victim)
        else:
            scene.traffic.release()
            await scene.settle()
        if self.random.random() < 0.5:
            await network.stop(victim)
        else:
            network.kill(victim)
        empty(scene, victim)
        await asyncio.to_thread(network.copy_data, victim, f"copy-{victim}")
        await network.start(victim)
        scene.traffic.flow()

    async def _go_back(self, scene: Scene) -> None:
        if scene.network.down:
            await scene.network.start(*self.victims)
            await scene.published(self.random.randint(1, 40), without=self.victims)
        scene.network.kill(*self.victims)
        for victim in self.victims:
            scene.oracle.goes_back(victim)
        scene.oracle.forgive(known=True)
        for victim in self.victims:
            await asyncio.to_thread(scene.network.restore_data, victim, f"copy-{victim}")

    async def end(self, scene: Scene) -> None:
        await scene.network.start(*self.victims)


class OlderDiskAgain(OlderDisk):
    """The same copy twice: what the node did after it was brought back is forgotten as well."""

    times = 2


class TwoOlderDisks(OlderDisk):
    """Of two nodes at once, with copies of different times."""

    def chosen(self, names: Sequence[str]) -> Sequence[str]:
        return self.random.sample(names, 2)


class LostDisk(Fault):
    """Nodes' folders are gone."""

    unheard = True

    async def begin(self, scene: Scene) -> None:
        self.forgets = True
        scene.network.kill(*self.victims)
        for victim in self.victims:
            scene.oracle.goes_back(victim)
        scene.oracle.forgive(known=False)
        for victim in self.victims:
            await asyncio.to_thread(scene.network.lose_data, victim)

    async def end(self, scene: Scene) -> None:
        await scene.network.start(*self.victims)


class TwoLostDisks(LostDisk):
    """Of two nodes at once."""

    def chosen(self, names: Sequence[str]) -> Sequence[str]:
        return self.random.sample(names, 2)


class AllDisksLost(LostDisk):
    """Nobody knows anything any more."""

    def chosen(self, names: Sequence[str]) -> Sequence[str]:
        return self.random.sample(names, len(names))


class DamagedDisk(Fault):
    """Something is changed in the files of a node that is down; it may be killed again while it looks at them."""

    unheard = True

    def __init__(self, random: Random, names: Sequence[str], kind: str) -> None:
        super().__init__(random, names)
        self._kind = kind

    async def begin(self, scene: Scene) -> None:
        network, victim = scene.network, self.victim
        if self.random.random() < 0.7:
            await fill(scene, self.random, victim)
        if self.random.random() < 0.3:
            await network.stop(victim)
        else:
            network.kill(victim)
        scene.oracle.goes_back(victim)
        empty(scene, victim)
        before = {path.name: path.read_bytes() for path in network.data(victim).glob("store.*") if _is_store(path.name)}
        after = damage(before, self._kind, self.random)
        for name in before:
            (network.data(victim) / name).unlink()
        for name, content in after.items():
            (network.data(victim) / name).write_bytes(content)

    async def end(self, scene: Scene) -> None:
        network, victim = scene.network, self.victim
        since = len(network.log_of(victim))
        for _ in range(self.random.choice((0, 0, 1, 3))):
            await network.start_and_kill(victim, self.random.randint(1, 4))
        await network.start(victim)
        said = [line for line in network.logged(victim, since) if line["event"] == "store damaged"]
        if said and not all(line.get("whole") for line in said):
            self.forgets = True
            scene.oracle.forgive(known=False)


def _is_store(name: str) -> bool:
    return name in ("store.sqlite", "store.sqlite-wal", "store.tail")
