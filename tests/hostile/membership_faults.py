"""Nodes that come and go while everything else runs: each time the network is planned again, twice."""

from collections.abc import Sequence
from random import Random

from tests.hostile.actions import Fault, Scene


class Guest(Fault):
    """A node joins through one of the others, has its part in the network for a while, and leaves in peace."""

    def __init__(self, random: Random, names: Sequence[str]) -> None:
        super().__init__(random, names)
        self.name = f"guest{random.getrandbits(24)}"

    async def begin(self, scene: Scene) -> None:
        scene.oracle.plan_changes()
        await scene.network.join(self.name, self.victim)

    async def end(self, scene: Scene) -> None:
        await scene.network.leave(self.name)


class GuestKilled(Guest):
    """The same for one that is killed twice, the first time as soon as it is ready, and comes back with its disk."""

    async def begin(self, scene: Scene) -> None:
        await super().begin(scene)
        scene.network.kill(self.name)
        await scene.network.start(self.name)

    async def end(self, scene: Scene) -> None:
        scene.network.kill(self.name)
        await scene.network.start(self.name)
        await super().end(scene)
