"""One hostile run: a network, its traffic, faults that strike it one after the other, and the judgement.

    know ── traffic flows ── fault ── heal ── all required is read ── fault ── … ── nothing waits anywhere ── verdict

Every wait is for a condition; one limit for the whole run ends it if a condition never holds. Whatever goes wrong, the
error has all that is needed to look into it: setting, seed, fault, what was waited for, the oracle's verdict, and the
last lines of each node's log. The folder with all data stays.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.hostile.actions import Fault
from tests.hostile.faults import make
from tests.hostile.network import HostileNetwork, Setting
from tests.hostile.oracle import Oracle, Verdict
from tests.hostile.traffic import Traffic

_LOG_LINES = 12
_READERS_SLEEP = 0.3
"""How often the readers of some node pause while a fault lasts."""


class HostileFailure(AssertionError):
    """A promise was not kept; says everything about the run."""


class Run:
    """Lets faults strike a network; `play` does it all."""

    def __init__(self, folder: Path, setting: Setting, faults: Sequence[str], seed: int, *, events: int) -> None:
        self.setting = setting
        self.network = HostileNetwork(folder, setting, seed)
        self.oracle: Oracle
        self.traffic: Traffic
        self.times: list[str] = []
        """How long each fault lasted and how long healing took, for people."""
        self._faults = faults
        self._seed = seed
        self._events = events
        self._folder = folder
        self._doing = "the nodes to start"
        self._struck: list[str] = []

    async def play(self, limit_s: float) -> Verdict:
        """The verdict on the run; raises HostileFailure unless it is good."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        self.oracle = Oracle(lambda: loop.time() - begun)
        self.traffic = Traffic(self.network, self.oracle, self._seed)
        try:
            async with asyncio.timeout(limit_s), self.network, self.traffic:
                await self._play()
                self._check_logs()
        except Exception as error:
            why = f"waited {limit_s:g} s" if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"
            raise self._failure(why) from error
        verdict = self.oracle.verdict()
        if not verdict.is_good:
            raise self._failure("the verdict")
        return verdict

    async def _play(self) -> None:
        self._doing = "subscriptions to be known"
        await self.traffic.know()
        for number, name in enumerate(self._faults):
            random = Random(f"{self._seed} {number} {name}")
            await self._strike(name, make(name, random, self.network.names), random)
        self._doing = "all nodes to be idle"
        await self._until_idle()

    async def _strike(self, name: str, fault: Fault, random: Random) -> None:
        loop = asyncio.get_running_loop()
        times = [loop.time()]
        self._struck.append(name)
        self._doing = f"'{name}' to begin"
        self.traffic.flow()
        if random.random() < _READERS_SLEEP:
            self.traffic.hold(random.choice(self.network.names))
        await self.published(random.randint(5, 20))
        await fault.begin(self)
        self._struck[-1] = f"{name} ({', '.join(fault.victims)})"
        self._doing = f"events to be published during '{name}'"
        await self.published(self._events, without=fault.unanswered)
        self._doing = f"'{name}' to be felt"
        await self.until(lambda: fault.is_felt(self))
        self._doing = f"'{name}' to end"
        await fault.end(self)
        self.network.heal()
        self.traffic.release()
        times.append(loop.time())
        self._doing = f"the network to join after '{name}'"
        await self._until_joined()
        for node in self.network.names:
            self._doing = f"{node} to take events after '{name}'"
            others = [other for other in self.network.names if other != node]
            await self.published(2, without=others)
        if fault.forgets or not self.setting.durable:
            self._doing = f"subscriptions to be known after '{name}'"
            await self.traffic.know()
            await self.published(random.randint(5, 20))
        self._doing = f"what is required after '{name}'"
        await self.settle()
        self.oracle.is_mended()
        times.append(loop.time())
        self.times.append(f"{self._struck[-1]}: {times[1] - times[0]:.1f} s, healed in {times[2] - times[1]:.1f} s")

    # -- waiting -----------------------------------------------------------------------------------------

    async def until(self, condition: Callable[[], object]) -> None:
        """Waits for a condition, as long as all nodes live that should."""
        while not condition():
            await asyncio.sleep(0.005)
            self.network.check_running()

    async def published(self, events: int, *, without: Sequence[str] = ()) -> None:
        """Waits until so many more events were published, those at some nodes not counted."""
        heard = [name for name in self.network.names if name not in without]
        if not heard:
            return
        counts = self.traffic.counts
        enough = sum(counts[name] for name in heard) + events
        await self.until(lambda: sum(counts[name] for name in heard) >= enough)

    async def settle(self) -> None:
        """Has publishers pause until all that is required was read."""
        await self.traffic.ebb()
        await self.until(lambda: not self.oracle.missing or self.oracle.is_wrong)
        if self.oracle.is_wrong:
            raise HostileFailure("something was read that must not have been")

    async def _until_joined(self) -> None:
        while any(facts["missing"] for facts in (await self.network.describe()).values()):
            await asyncio.sleep(0.02)
            self.network.check_running()

    async def _until_idle(self) -> None:
        while any(map(_waits, (await self.network.describe()).values())):
            await asyncio.sleep(0.02)

    def _check_logs(self) -> None:
        for name in self.network.names:
            for line in self.network.logged(name):
                if line["event"] in ("defect", "input set aside", "effect failed", "stays down", "store stopped"):
                    raise HostileFailure(f"{name} logged: {str(line)[:2_000]}")

    # -- reporting ---------------------------------------------------------------------------------------

    def _failure(self, why: str) -> HostileFailure:
        """The error, which is also left in the folder."""
        report = self._report(why)
        (self._folder / "failure.txt").write_text(report + "\n", encoding="utf-8")
        return HostileFailure(report)

    def _report(self, why: str) -> str:
        lines = [
            f"{why}, while waiting for {self._doing}",
            f"setting: {self.setting}; seed {self._seed}",
            f"faults: {', '.join(self._struck)} of {', '.join(self._faults)}",
            f"folder: {self._folder}",
            *self.times,
            str(self.oracle.verdict()),
        ]
        for name in self.network.names:
            last = self.network.log_of(name).splitlines()[-_LOG_LINES:]
            lines += [f"-- {name}", *(line[:400] for line in last)]
        return "\n".join(lines)


def _waits(facts: dict[str, Any]) -> bool:
    """Whether something waits at a node although all is well, or an effect has failed."""
    state = facts["state"]
    waiting = [state.get(name) for name in ("relays_waiting", "events_parked", "stalled", "failure")]
    return any(waiting) or bool(facts["effects_failed"])
