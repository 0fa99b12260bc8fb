"""What a fault is: an action with a beginning and an end, which may strike in the midst of another.

A fault begins, lasts until it was felt and so many events were published meanwhile, and ends; nothing is timed. After
the end everything runs and passes again. Victims and everything else that is left to chance are drawn from the seed of
the run.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import ClassVar, Protocol

from tests.hostile.network import HostileNetwork
from tests.hostile.oracle import Oracle
from tests.hostile.traffic import Traffic


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
        self.forgets = self._around.forgets or self._inside.forgets
