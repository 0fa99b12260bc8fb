"""Has the nodes of a network measure each other, from outside: asks, waits, and gathers what they found.

One node is asked, and passes the questions on to all (`wire.ground_questions`). What a node cannot be measured is said
with the reason and takes nothing from the others; a node that falls silent is given up after `SILENT_MAX` questions in
a row. Whoever stops waiting has the nodes stop as well.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from siftcast.model.errors import SiftcastError
from siftcast.runtimes.live.client.bus import Bus
from siftcast.runtimes.live.errors import LiveError, Refused
from siftcast.runtimes.live.wire.ground_questions import (
    ROWS_MAX,
    GroundAnswer,
    GroundQuestion,
    GroundRow,
    answer_in,
    encode_question,
)

SILENT_MAX: Final = 3
_LOOK_S: Final = 0.3
_FAREWELL_S: Final = 2.0

Progress = Callable[[int, int], None]
"""Is called with how many pairs are measured, and how many there are."""


@dataclass(frozen=True, slots=True)
class MeasuredHost:
    """A node that was measured."""

    name: str
    identity: int
    address: str


@dataclass(frozen=True, slots=True)
class MeasuredGround:
    """What the nodes found: rows by the identities of who measured and who was measured."""

    hosts: tuple[MeasuredHost, ...]
    rows: Mapping[tuple[int, int], GroundRow]
    silent: tuple[str, ...]
    """Nodes of the network that did not answer, and are not among the hosts."""

    @property
    def pairs(self) -> int:
        """How many pairs there are, each in both directions."""
        return len(self.hosts) * (len(self.hosts) - 1)

    @property
    def measured(self) -> int:
        """Between how many of them the delay is known."""
        return sum(row.delay_ms is not None for row in self.rows.values())

    def failures(self) -> list[tuple[MeasuredHost, MeasuredHost, str]]:
        """Who could not measure whom, and why."""
        found = []
        for one in self.hosts:
            for other in self.hosts:
                row = self.rows.get((one.identity, other.identity))
                if one is not other and (row is None or row.delay_ms is None):
                    found.append((one, other, "did not say" if row is None else row.why))
        return found


async def measure_ground(
    buses: Sequence[Bus], *, routes: bool = False, progress: Progress = lambda done, of: None
) -> MeasuredGround:
    """Has nodes measure each other: all of the network of one bus, or those of several, which must be of one network.

    Needs the right to see. Raises SiftcastError.
    """
    run = _Run(buses[0], routes)
    try:
        await run.find_hosts(buses)
        await run.wait(progress)
        return await run.gather()
    finally:
        await run.end()


class _Run:
    """One run, over one bus."""

    def __init__(self, bus: Bus, routes: bool) -> None:
        self._bus = bus
        self._name = secrets.token_hex(8)
        self._routes = routes
        self._hosts: dict[int, MeasuredHost] = {}
        self._silent: list[str] = []

    async def find_hosts(self, buses: Sequence[Bus]) -> None:
        """Who there is to measure, and be measured."""
        answers, silent = await self._ask(GroundQuestion(self._name))
        self._silent = list(silent)
        known = {each.identity: MeasuredHost(name, each.identity, each.address) for name, each in answers}
        wanted = set(known) if len(buses) == 1 else {await self._identity(bus, known) for bus in buses}
        self._hosts = {identity: known[identity] for identity in sorted(wanted, key=lambda each: known[each].name)}
        if len(self._hosts) < 2:
            who = "of its network that answers" if len(buses) == 1 else "named"
            raise Refused(f"there is one node {who}, and nothing to measure; it takes two")
        if len(buses) > 1:
            self._silent = []

    async def _identity(self, bus: Bus, known: Collection[int]) -> int:
        facts = await bus.describe()
        if facts["identity"] not in known:
            here = (await self._bus.describe())["node"]
            raise Refused(
                f"node '{facts['node']}' does not answer in the network of node '{here}'; nodes measure each other as "
                "those of one network, which know each other's addresses: measure one network at a time"
            )
        return int(facts["identity"])

    async def wait(self, progress: Progress) -> None:
        """Waits until all have measured all, but for those that fall silent."""
        each_asks, pairs = len(self._hosts) - 1, len(self._hosts) * (len(self._hosts) - 1)
        done = dict.fromkeys(self._hosts, 0)
        missed = dict.fromkeys(self._hosts, 0)
        while True:
            answers, _ = await self._ask(GroundQuestion(self._name, tuple(self._hosts), self._routes))
            said = {answer.identity: answer for _, answer in answers}
            for identity in self._hosts:
                answer = said.get(identity)
                missed[identity] = 0 if answer is not None else missed[identity] + 1
                done[identity] = done[identity] if answer is None else answer.done
            progress(sum(done.values()), pairs)
            if all(done[each] == each_asks or missed[each] >= SILENT_MAX for each in self._hosts):
                return
            await asyncio.sleep(_LOOK_S)

    async def gather(self) -> MeasuredGround:
        """What all have found, a page at a time."""
        rows: dict[tuple[int, int], GroundRow] = {}
        for identity in self._hosts:
            first, page = 0, [GroundRow(0, None)] * ROWS_MAX
            while len(page) == ROWS_MAX:
                answers, _ = await self._ask(GroundQuestion(self._name, report=identity, first=first))
                page = next((answer.rows for _, answer in answers if answer.identity == identity), [])
                rows |= {(identity, row.host): row for row in page if row.host in self._hosts}
                first += len(page)
        self._leave_out(rows)
        return MeasuredGround(tuple(self._hosts.values()), rows, tuple(self._silent))

    def _leave_out(self, rows: dict[tuple[int, int], GroundRow]) -> None:
        """Drops the hosts that fell silent before anything was known of them, as a simulation could not place them."""
        known = {end for pair, row in rows.items() if row.delay_ms is not None for end in pair}
        said = {one for one, _ in rows}
        for identity in [each for each in self._hosts if known and each not in known | said]:
            self._silent.append(self._hosts.pop(identity).name)
        for pair in [each for each in rows if not self._hosts.keys() >= set(each)]:
            del rows[pair]

    async def end(self) -> None:
        """Has the nodes drop what they keep for this run."""
        with suppress(SiftcastError, TimeoutError):
            async with asyncio.timeout(_FAREWELL_S):
                await self._ask(GroundQuestion(self._name, is_over=True))

    async def _ask(self, question: GroundQuestion) -> tuple[list[tuple[str, GroundAnswer]], list[str]]:
        facts: dict[str, Any] = await self._bus._inquire("distances", encode_question(question))
        if not isinstance(facts.get("answers"), list):
            raise LiveError("the node does not say what others answer; is it of another version?")
        found = [(str(each.get("node")), answer_in(each)) for each in facts["answers"]]
        return [(name, answer) for name, answer in found if answer is not None], facts["silent"]
