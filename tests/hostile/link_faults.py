"""What can happen to connections: between a node and the others, and between a node and its clients."""

from collections.abc import Callable, Sequence
from random import Random

from tests.hostile.actions import Fault, Scene
from tests.live.proxies import Proxy


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


class ReadersLeave(Fault):
    """The readers of a node hang up, and others follow them."""

    async def begin(self, scene: Scene) -> None:
        await scene.traffic.leave(self.victim)

    async def end(self, scene: Scene) -> None:
        await scene.traffic.come_back(self.victim)


class FiltersChange(Fault):
    """The subscriptions of a node want something else."""

    async def begin(self, scene: Scene) -> None:
        self.forgets = True
        await scene.traffic.change(self.victim)


class Slow(Fault):
    """Everything arrives later, on all links, each by its own delay."""

    async def begin(self, scene: Scene) -> None:
        for proxy in scene.network.links.values():
            proxy.delay(self.random.uniform(0.01, 0.15))

    async def end(self, scene: Scene) -> None:
        for proxy in scene.network.links.values():
            proxy.pass_on()


def isolate(proxy: Proxy) -> None:
    """Nothing arrives any more, and whoever calls is not answered."""
    proxy.stall()
    proxy.cut()
