"""Asking all nodes what they have measured, and planning the network by that: for a person, or by itself.

    siftcast network replan       at once, delays and loads
    [overlay] ground = "measured" every `ground_ms`, a tenth more or less: the coordinator asks, and has the network
                                  planned again if that is worth it (`moving_ground`)

Every node has the clock, and only the one that is coordinator asks: whoever takes the office goes on with what the plan
says was measured. It asks only while nothing else changes in the network, and counts only what all who have a place
have answered. What an absent node has said stays as it was. As long as the plan knows no delays, it asks every
`EAGER_S`. The plan is replaced as a person would have it replaced (`ApplyRequested`), so nothing is lost; it gives way
to whatever persons want.

Cost of a collection: a wave of questions over the connections (`inquiries`), a row for each pair in the answers, and
two plans at the coordinator. With 100 nodes and a tree that took 20 ms of CPU there, with Kyra 120 ms.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from random import Random
from typing import Any

import msgspec

from siftcast.model import Schema
from siftcast.model.errors import SiftcastError
from siftcast.overlays.contract import ApplyRequested, NodeId, Stimulus
from siftcast.overlays.epochs.view import Epoch, View
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.inquiries import Answers
from siftcast.runtimes.live.node.layout import Overlay
from siftcast.runtimes.live.node.measured import Measured, combine, summarise
from siftcast.runtimes.live.node.moving_ground import Look, MovingGround
from siftcast.runtimes.live.node.planning import MEASURED, PlanCosts, PlanSettings, Reckoning
from siftcast.runtimes.live.wire.frame import Question

EAGER_S = 5.0
DELAYS = b"delays"
"""Content of a question for the load: the delays will do."""
_JITTER = 0.1

Gather = Callable[[Question, bytes, Callable[[Answers, list[str]], None]], None]


class Surveyor:
    """A node's part in it. `view` is that of a planned network, or None."""

    def __init__(
        self,
        overlay: Overlay,
        *,
        view: Callable[[], View | None],
        gone: Callable[[], Collection[NodeId]],
        gather: Gather,
        tell: Callable[[Stimulus], object],
        log: Logger,
        random: Random,
    ) -> None:
        schema = overlay.terms.schema
        self._node = overlay.node
        self._costs = PlanCosts(overlay.chosen, None if schema is None else Schema.parse(schema))
        self._view = view
        self._gone = gone
        self._gather = gather
        self._tell = tell
        self._log = log
        self._random = random
        self._loop = asyncio.get_running_loop()
        self._ground = MovingGround()
        self._known: Measured | None = None
        self._read: tuple[bytes, PlanSettings] = b"", PlanSettings()
        self._timer: asyncio.TimerHandle | None = None

    # -- by itself -----------------------------------------------------------------------------------

    @property
    def follows(self) -> bool:
        """Whether the network follows its ground."""
        return self._settings().ground == MEASURED

    def start(self) -> None:
        """Looks at the ground from now on."""
        settings = self._settings()
        often_s = settings.ground_ms / 1_000
        if settings.ground != MEASURED or not settings.measured.delays_ms:
            often_s = min(often_s, EAGER_S)
        often_s *= 1 + _JITTER * (2 * self._random.random() - 1)
        self._timer = self._loop.call_later(often_s, self._turn)

    def stop(self) -> None:
        """Looks no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _turn(self) -> None:
        self.start()
        if (epoch := self._epoch_to_judge()) is not None:
            self._gather("load", DELAYS, lambda answers, silent: self._judge(epoch, answers, silent))

    def _epoch_to_judge(self) -> Epoch | None:
        """The plan in force, if it is this node's business, and nothing is changing."""
        view = self._view()
        if view is None or view.coordinator != self._node or not view.is_calm or not self.follows:
            self._known = None  # what was measured meanwhile is in the plan, or somebody else knows it
            return None
        return view.newest

    def _judge(self, epoch: Epoch, answers: Answers, silent: Collection[str]) -> None:
        """All nodes have answered, or it is known who has not."""
        view, settings = self._view(), self._settings()
        if view is None or self._epoch_to_judge() != epoch or {view.names[node] for node in epoch.nodes} & set(silent):
            return
        known = settings.measured if self._known is None else self._known
        self._known = measured = known.updated(answers, self._gone())
        planned = msgspec.structs.replace(settings, measured=measured)
        try:
            before_ms, after_ms = self._costs.compare(epoch, planned)
        except (SiftcastError, ValueError) as error:
            self._log.warning("no plan by measured delays", reason=str(error))
            return
        if before_ms is None or after_ms is None:
            return
        look = _look_of(epoch, settings.measured, measured, before_ms, after_ms)
        collect_ms = settings.ground_ms
        if not self._ground.is_worth_a_plan(look, self._loop.time() * 1_000, collect_ms):
            return
        why = "nodes were not measured" if look.is_guessed else "the ground has moved"
        costs = {"before_ms": round(before_ms, 1), "after_ms": round(after_ms, 1)}
        self._log.info("planning by measured delays", why=why, plan=epoch.number, pairs=look.pairs, **costs)
        self._plan(planned, before_ms, after_ms, over=epoch.number)

    # -- for people ----------------------------------------------------------------------------------

    def replan(self, answer: Callable[[dict[str, Any]], None]) -> None:
        """Has the network planned by what all nodes have measured; `answer` is given what that is."""

        def plan(answers: Answers, silent: list[str]) -> None:
            view = self._view()
            if view is None:
                return
            measured = combine(answers, self._gone())
            settings = msgspec.structs.replace(self._settings(), measured=measured)
            before_ms = after_ms = None
            with suppress(SiftcastError, ValueError):  # whoever makes the plan will say why it cannot be
                before_ms, after_ms = self._costs.compare(view.newest, settings)
            self._plan(settings, before_ms, after_ms)
            costs = {"before_ms": before_ms, "after_ms": after_ms}
            answer({**summarise(measured, answers), "silent": silent, **costs})

        self._gather("load", b"", plan)

    def describe(self) -> dict[str, Any]:
        """What the newest plan was made by."""
        view, settings = self._view(), self._settings()
        if view is None:
            return {}
        facts: dict[str, Any] = {"number": view.newest.number, "follows_ground": settings.ground == MEASURED}
        facts["by"] = "measured delays" if settings.measured.delays_ms else "regions and names"
        if self._costs.goes_by_links(view.newest):
            facts["by"] = "links that are written down"
        return facts if settings.reckoning is None else {**facts, **msgspec.to_builtins(settings.reckoning)}

    def _plan(self, settings: PlanSettings, before_ms: float | None, after_ms: float | None, *, over: int = 0) -> None:
        reckoning = Reckoning(round(time.time(), 3), before_ms, after_ms)
        self._tell(ApplyRequested(msgspec.structs.replace(settings, reckoning=reckoning).encode(), over))

    def _settings(self) -> PlanSettings:
        """Those of the newest plan, read once."""
        view = self._view()
        encoded = b"" if view is None else view.newest.settings
        if encoded != self._read[0]:
            self._read = encoded, PlanSettings.decode(encoded)
        return self._read[1]


def _look_of(epoch: Epoch, before: Measured, after: Measured, before_ms: float, after_ms: float) -> Look:
    placed = frozenset(epoch.nodes)
    pairs = sum(a in placed and b in placed for a, b, _ in after.delays_ms)
    return Look(
        epoch=epoch.number,
        before_ms=before_ms,
        after_ms=after_ms,
        pairs=pairs,
        is_first=not before.delays_ms,
        is_guessed=bool(placed & after.nodes - before.nodes),
        is_complete=pairs == len(placed) * (len(placed) - 1) // 2,
    )
