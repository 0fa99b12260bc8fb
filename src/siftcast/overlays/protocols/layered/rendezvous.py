"""Matching on a ring of clusters (layering paper, 4.2): the finder `Rendezvous`, at one node.

    subscriber's node ──Keep──▶ all matchers of one cluster for each zone       (R copies, H parts of a zone)
    publisher's node ──Inquire─▶ one matcher of each cluster that the event visits ──▶ Found ──▶ the delivery
                      ◀─Answers─ … when it has matched, or when all whom it found have confirmed

`space.RingPlan` says which clusters; this is what nodes do about it. A *visit* is a walk from cluster to cluster, as
printed, or scatters to all of them at once (the default: the latency is that of the slowest instead of the sum, and the
publisher's node sends the event once for each). What a matcher finds it hands to the delivery at once, or, with
`collect`, to the publisher's node, which then sends once to everybody whom the clusters found together.

What is confirmed:

    none       nothing: a message that is lost is lost, as printed
    matched    the publisher's node keeps an event until all its clusters have matched it, and asks other matchers
    received   … and until those whom they found have it; a matcher may be killed at any time, and nothing is missed

A matcher that is afresh answers "busy" until it has caught up (`keeper`); it matches with what it has meanwhile, and
once more when it knows all. Until then it defers what it was asked: the publisher's node may crash, and knows of its
searches no more than what waits in its outbox. So a durable event is on a disk at every moment: in the outbox of the
publisher's node, deferred at a matcher, in the outbox of the matcher, in the queue. What it does not know in the end,
because a node that was not there could not state it, the other matchers of its cluster may know: it has them match as
well, until that node has stated all. So a destination may be named several times for a search; `Layered` remembers
searches.

Events of one publisher may overtake each other, durable ones too: each goes by matchers of its own, and by others if
one of them fails. Whoever needs an order numbers the events.

Rejected: one random matcher that broadcasts a subscription in its cluster, as printed: the same number of messages, and
whoever was sent a subscription is then told by two nodes what to keep. Cost: a subscription, R messages for each of its
zones (at most four, or the span); an event, H messages and H answers for its zone and for the span, answers by the
handful; a matcher keeps H/X of the subscriptions, and R·X nodes see R·X/(H·R) of the events each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import (
    Defer,
    Effect,
    Message,
    NodeId,
    PeerFound,
    PeerGone,
    PeerLost,
    PeerResumed,
    Refuse,
    SendMessage,
    SetTimer,
    Spent,
    Started,
    Stimulus,
    TimerFired,
)
from siftcast.overlays.protocols.layered.finder import Finder, Found
from siftcast.overlays.protocols.layered.inquiries import Inquiries
from siftcast.overlays.protocols.layered.keeper import Keeper
from siftcast.overlays.protocols.layered.messages import (
    LAYERED_MESSAGES,
    Answer,
    Answers,
    Ask,
    Busy,
    Drop,
    Inquire,
    InquireBeside,
    Keep,
    Receipts,
    Search,
)
from siftcast.overlays.protocols.layered.receipts import ReceiptBook
from siftcast.overlays.tables import TableFactory
from siftcast.space import RingPlacement, RingPlan

NONE, MATCHED, RECEIVED = CONFIRMATIONS = ("none", "matched", "received")
_RETRY, _BATCH, _ASK, _READY = "ring/retry", "ring/batch", "ring/ask", "ring/ready"
_BATCH_MS = 2.0
_BATCH_MAX = 256
Place = tuple[int, int]
MakeKeeper = Callable[[Iterable[int], Iterable[NodeId], TableFactory], Keeper]


@dataclass(frozen=True, slots=True)
class RendezvousSettings:
    """How events visit clusters, what is confirmed, and how patient a node is."""

    walk: bool = False
    collect: bool = False
    confirm: str = RECEIVED
    retry_ms: float = 1_000.0
    catch_up_ms: float = 3_000.0
    open_max: int = 10_000

    def __post_init__(self) -> None:
        if self.confirm not in CONFIRMATIONS:
            raise ValueError(f"confirm is one of {', '.join(CONFIRMATIONS)}, not '{self.confirm}'")
        if self.collect and self.confirm != MATCHED:
            raise ValueError(
                "collect goes with confirm = 'matched': a publisher that collects hears from matchers only"
            )
        if not (0 < self.retry_ms < float("inf") and 0 < self.catch_up_ms < float("inf")):
            raise ValueError("retry_ms and catch_up_ms are times in milliseconds, longer than 0")
        if self.open_max < 1:
            raise ValueError(f"open_max is at least 1, not {self.open_max}")


class Rendezvous(Finder):
    """One node of a plan; `nodes` are all of them, matchers and others."""

    messages: ClassVar[tuple[type[Message], ...]] = LAYERED_MESSAGES
    repeats: ClassVar[bool] = True

    def __init__(
        self,
        node: NodeId,
        plan: RingPlan,
        nodes: Iterable[NodeId],
        tables: TableFactory,
        settings: RendezvousSettings,
        make_keeper: MakeKeeper = Keeper,
    ) -> None:
        self._node = node
        self._settings = settings
        self._clusters = plan.clusters
        self._others = tuple(other for other in nodes if other != node)
        labels = plan.labels_of()
        self._kept = {number: labels.get(number, ()) for number in range(len(self._clusters))}
        served = [label for number, each in enumerate(self._clusters) if node in each for label in self._kept[number]]
        self._keeper = make_keeper(served, self._others, tables) if served else None
        self._placement = RingPlacement(plan)
        self._own: dict[str, tuple[Filter, tuple[Place, ...]]] = {}
        self._number = 0
        self._lost: set[NodeId] = set()
        self._rng = Random(node)
        self._inquiries = Inquiries(node, self._clusters, self._rng, retry_ms=settings.retry_ms, walk=settings.walk)
        self._book = ReceiptBook()
        self._closing: dict[Search, set[int]] = {}
        """The clusters for which this matcher answers a search once it is confirmed."""
        self._early: dict[str, Inquire] = {}
        """What was asked before this matcher had caught up."""
        self._answers: dict[NodeId, list[Answer]] = {}
        self._receipts: dict[NodeId, list[Search]] = {}
        self._batching = self._retrying = False
        self._matched = 0

    # -- subscriptions: the subscriber's node --------------------------------------------------------------

    def subscribe(self, subscriptions: tuple[Subscription, ...]) -> list[Effect]:
        put: dict[Place, dict[str, Filter]] = {}
        left: dict[Place, dict[str, None]] = {}
        for item in subscriptions:
            _, before = self._own.get(item.id, (None, ()))
            places = tuple(self._placement.places(item.id, item.filter))
            self._own[item.id] = item.filter, places
            for place in places:
                put.setdefault(place, {})[item.id] = item.filter
                left.get(place, {}).pop(item.id, None)
            for place in before:
                if place not in places:
                    left.setdefault(place, {})[item.id] = None
                    put.get(place, {}).pop(item.id, None)
        effects: list[Effect] = []
        for place, wanted in put.items():
            if wanted:
                effects += self._say_keep(place, wanted, self._clusters[place[1]])
        return [*effects, *self._say_drop(left)]

    def unsubscribe(self, ids: tuple[str, ...]) -> list[Effect]:
        left: dict[Place, dict[str, None]] = {}
        for id in ids:
            for place in self._own.pop(id, (None, ()))[1]:
                left.setdefault(place, {})[id] = None
        return self._say_drop(left)

    def _say_keep(
        self, place: Place, wanted: Mapping[str, Filter], matchers: Iterable[NodeId], *, anew: bool = False
    ) -> list[Effect]:
        entries = tuple((id, filter_, self._node) for id, filter_ in wanted.items())
        return self._say(Keep(self._node, entries, place[0], anew), matchers)

    def _say_drop(self, left: Mapping[Place, Mapping[str, None]]) -> list[Effect]:
        effects: list[Effect] = []
        for (label, cluster), ids in left.items():
            if ids:
                effects += self._say(Drop(self._node, tuple(ids), label), self._clusters[cluster])
        return effects

    def _say(self, message: Keep | Drop, matchers: Iterable[NodeId]) -> list[Effect]:
        there = tuple(matcher for matcher in matchers if matcher != self._node)
        here = self._take(message) if len(there) < len(tuple(matchers)) else []
        return [*here, SendMessage(message, there)] if there else here

    def _restate(self, matcher: NodeId) -> list[Effect]:
        """Tells a matcher all that it is to keep for this node; what was said before is void."""
        effects: list[Effect] = []
        for number, cluster in enumerate(self._clusters):
            if matcher in cluster and matcher != self._node:
                wanted: dict[int, dict[str, Filter]] = {label: {} for label in self._kept[number]}
                for id, (filter_, places) in self._own.items():
                    for label, there in places:
                        if there == number:
                            wanted[label][id] = filter_
                for label, rows in wanted.items():
                    effects += self._say_keep((label, number), rows, (matcher,), anew=True)
        return effects

    # -- events: the publisher's node ----------------------------------------------------------------------

    def find(self, event: Event, now: float) -> list[Effect]:
        if len(self._inquiries) >= self._settings.open_max:
            return [Refuse(event.id, self._too_many())]
        self._number += 1
        visits = self._placement.visits(event.attributes)
        if self._settings.confirm == NONE:
            return self._ask_once(event, visits)
        asked = self._inquiries.begin(event, self._number, visits, now)
        effects = self._inquire(asked)
        if not self._retrying:
            self._retrying = True
            effects.append(SetTimer(_RETRY, self._settings.retry_ms))
        return effects

    def _too_many(self) -> str:
        """Why another search cannot begin, in words: some of those asked are away, or all are there and busy."""
        waiting = f"{len(self._inquiries):,} events wait for answers of matchers, as many as open_max allows"
        away = sum(self._lost.issuperset(cluster) for cluster in self._clusters)
        if away:
            return f"{waiting}; {away} of {len(self._clusters)} clusters cannot be reached: try again when they can be"
        return f"{waiting}; all can be reached and are busy: publish more slowly, or raise open_max"

    def _ask_once(self, event: Event, visits: Mapping[int, tuple[int, ...]]) -> list[Effect]:
        way = [(cluster, self._inquiries.choose(cluster), labels) for cluster, labels in visits.items()]
        groups = [way] if self._settings.walk else [[visit] for visit in way]
        return self._inquire(
            [
                (first[1], Inquire(event, self._node, self._number, first[0], first[2], tuple(rest)))
                for first, *rest in groups
            ]
        )

    def _inquire(self, asked: Iterable[tuple[NodeId, Inquire]]) -> list[Effect]:
        effects: list[Effect] = []
        for matcher, inquire in asked:
            effects += self._match(inquire) if matcher == self._node else [SendMessage(inquire, (matcher,))]
        return effects

    def _take_answers(self, matcher: NodeId, answers: Iterable[Answer]) -> list[Effect]:
        effects: list[Effect] = []
        self._inquiries.note_ready(matcher)
        for number, cluster, found in answers:
            inquiry = self._inquiries.answer(number, cluster, found)
            if inquiry is not None and inquiry.found:
                effects.append(Found(inquiry.event, self._node, number, tuple(inquiry.found)))
        return effects

    # -- events: the matcher -------------------------------------------------------------------------------

    def _match(self, inquire: Inquire) -> list[Effect]:
        effects: list[Effect] = []
        if inquire.rest:
            (cluster, matcher, labels), *rest = inquire.rest
            onward = Inquire(inquire.event, inquire.origin, inquire.number, cluster, labels, tuple(rest))
            effects += self._inquire([(matcher, onward)])
        if self._keeper is None:
            return effects
        found = tuple(node for node in self._keeper.match(inquire.event, inquire.labels) if node != inquire.origin)
        effects.append(Spent(len(inquire.labels)))
        self._matched += 1
        if not self._keeper.has_caught_up:
            name, is_beside = _deferred(inquire), isinstance(inquire, InquireBeside)
            if not is_beside or name not in self._early:
                self._early[name] = inquire
                effects.append(Defer(name, inquire))
            if self._settings.confirm != NONE and inquire.origin != self._node and not is_beside:
                effects.append(SendMessage(Busy(self._node, inquire.number, inquire.cluster), (inquire.origin,)))
            return effects if self._settings.collect else [*effects, *self._hand_on(inquire, found)]
        return [*effects, *self._conclude(inquire, found)]

    def _hand_on(self, inquire: Inquire, found: tuple[NodeId, ...], keeper: NodeId | None = None) -> list[Effect]:
        return [Found(inquire.event, inquire.origin, inquire.number, found, keeper)] if found else []

    def _conclude(self, inquire: Inquire, found: tuple[NodeId, ...]) -> list[Effect]:
        """Hands an event on to whom it has found, and sees to the answer; others are asked what this one may lack."""
        if isinstance(inquire, InquireBeside):
            return self._hand_on(inquire, found)
        return [*self._ask_beside(inquire), *self._answer_for(inquire, found)]

    def _ask_beside(self, inquire: Inquire) -> list[Effect]:
        assert self._keeper is not None
        others = tuple(node for node in self._clusters[inquire.cluster] if node != self._node)
        if not others or not self._keeper.excused:
            return []
        event, origin, number = inquire.event, inquire.origin, inquire.number
        return [SendMessage(InquireBeside(event, origin, number, inquire.cluster, inquire.labels), others)]

    def _answer_for(self, inquire: Inquire, found: tuple[NodeId, ...]) -> list[Effect]:
        if self._settings.collect:
            return self._answer(inquire.origin, (inquire.number, inquire.cluster, found))
        if self._settings.confirm == NONE:
            return self._hand_on(inquire, found)
        answer = inquire.number, inquire.cluster, ()
        if self._settings.confirm == MATCHED:
            return [*self._hand_on(inquire, found), *self._answer(inquire.origin, answer)]
        search = inquire.origin, inquire.number
        missing = self._book.open(search, (node for node in found if node not in self._lost))
        # Whoever is missing and wants the event no longer must confirm all the same.
        meant = (*sorted(missing), *(node for node in found if node in self._lost))
        effects = self._hand_on(inquire, meant, self._node)
        if not missing:
            return [*effects, *self._answer(inquire.origin, answer)]
        self._closing.setdefault(search, set()).add(inquire.cluster)
        return effects

    def _answer(self, origin: NodeId, answer: Answer) -> list[Effect]:
        if origin == self._node:
            return self._take_answers(origin, (answer,))
        batch = self._answers.setdefault(origin, [])
        batch.append(answer)
        # A publisher that collects waits for answers; others only keep the event meanwhile.
        return self._batch(full=self._settings.collect or len(batch) >= _BATCH_MAX)

    def _close(self, searches: Iterable[Search]) -> list[Effect]:
        """All whom a search found have confirmed."""
        effects: list[Effect] = []
        for origin, number in searches:
            for cluster in sorted(self._closing.pop((origin, number), ())):
                effects += self._answer(origin, (number, cluster, ()))
        return effects

    def _catch_up(self) -> list[Effect]:
        """Matches once more what came before this matcher knew all, and answers."""
        early, self._early = self._early, {}
        assert self._keeper is not None
        effects: list[Effect] = []
        for name, inquire in early.items():
            found = self._keeper.match(inquire.event, inquire.labels)
            effects.append(Spent(len(inquire.labels)))
            effects += self._conclude(inquire, tuple(node for node in found if node != inquire.origin))
            effects.append(Defer(name, None))
        return effects

    def receive(self, search: Search, keeper: NodeId) -> list[Effect]:
        if keeper == self._node:
            return self._close([search]) if self._book.confirm(search, self._node) else []
        batch = self._receipts.setdefault(keeper, [])
        batch.append(search)
        return self._batch(full=len(batch) >= _BATCH_MAX)

    def _batch(self, *, full: bool) -> list[Effect]:
        if full:
            return self._send_batches()
        if self._batching:
            return []
        self._batching = True
        return [SetTimer(_BATCH, _BATCH_MS)]

    def _send_batches(self) -> list[Effect]:
        answers, self._answers = self._answers, {}
        receipts, self._receipts = self._receipts, {}
        return [
            *(SendMessage(Answers(self._node, tuple(batch)), (origin,)) for origin, batch in answers.items()),
            *(SendMessage(Receipts(self._node, tuple(batch)), (keeper,)) for keeper, batch in receipts.items()),
        ]

    # -- messages, timers, peers ---------------------------------------------------------------------------

    def hear(self, sender: NodeId, message: Message, now: float) -> list[Effect]:
        match message:
            case Inquire():
                return self._match(message)
            case Answers(origin, answers):
                return self._take_answers(origin, answers)
            case Receipts(origin, searches):
                return self._close([search for search in searches if self._book.confirm(search, origin)])
            case Keep() | Drop():
                return self._take(message)
            case Ask(origin):
                return self._restate(origin)
            case Busy(origin, number, cluster):
                return self._inquire(self._inquiries.note_busy(origin, number, cluster))
        return []

    def _take(self, message: Keep | Drop) -> list[Effect]:
        if self._keeper is None:
            return []
        if isinstance(message, Drop):
            self._keeper.drop(message)
            return []
        return self._catch_up() if self._keeper.keep(message) else []

    def meet(self, stimulus: Stimulus, now: float) -> list[Effect]:
        match stimulus:
            case Started(nonce=nonce):
                return self._start(nonce)
            case TimerFired(name):
                return self._wake(name, now)
            case PeerFound(peer):
                return [*self._restate(peer), *self._reach(peer)]
            case PeerResumed(peer):
                return self._reach(peer)
            case PeerLost(peer) | PeerGone(peer):
                self._lost.add(peer)
                caught_up = self._keeper is not None and (
                    self._keeper.forget(peer) if isinstance(stimulus, PeerGone) else self._keeper.excuse((peer,))
                )
                effects = [*self._close(self._book.lose(peer)), *(self._catch_up() if caught_up else ())]
                return [*effects, *self._inquire(self._inquiries.lose(peer))]
        return []

    def _start(self, nonce: int) -> list[Effect]:
        self._number = nonce >> 1  # so that searches of an earlier life are others
        self._rng.seed(nonce ^ self._node)
        if self._keeper is None or self._keeper.has_caught_up:
            return []
        asked = SendMessage(Ask(self._node), self._others)
        return [asked, SetTimer(_ASK, self._settings.retry_ms), SetTimer(_READY, self._settings.catch_up_ms)]

    def _wake(self, timer: str, now: float) -> list[Effect]:
        if timer == _BATCH:
            self._batching = False
            return self._send_batches()
        if timer == _RETRY:
            effects = self._inquire(self._inquiries.retry(now))
            due_ms = self._inquiries.next_due_ms()
            self._retrying = due_ms is not None
            return effects if due_ms is None else [*effects, SetTimer(_RETRY, max(1.0, due_ms - now))]
        if self._keeper is None or self._keeper.has_caught_up:
            return []
        if timer == _ASK:
            return [SendMessage(Ask(self._node), self._keeper.missing), SetTimer(_ASK, self._settings.retry_ms)]
        if timer == _READY and self._keeper.excuse(self._keeper.missing):
            return self._catch_up()
        return []

    def _reach(self, peer: NodeId) -> list[Effect]:
        """A node can be reached: it is asked what this one lacks, and what waits for it."""
        self._lost.discard(peer)
        asked = self._inquire(self._inquiries.recover(peer))
        if self._keeper is None or (peer not in self._keeper.missing and peer not in self._keeper.excused):
            return asked
        return [SendMessage(Ask(self._node), (peer,)), *asked]

    # -- facts ---------------------------------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        caught_up = self._keeper is None or self._keeper.has_caught_up
        return caught_up and not self._batching and self._inquiries.is_settled

    def state(self) -> Mapping[str, Any]:
        """`entries` is what it keeps as a matcher, `matched` how much it was asked; `open` are searches of its own."""
        kept = 0 if self._keeper is None else len(self._keeper)
        return {"entries": kept, "matched": self._matched, "open": len(self._inquiries), "caught_up": self.is_ready}

    @property
    def is_ready(self) -> bool:
        """Whether it knows all that it is to keep."""
        return self._keeper is None or self._keeper.has_caught_up


def _deferred(inquire: Inquire) -> str:
    """The name of a search of one cluster that waits until a matcher has caught up."""
    return f"{inquire.origin}/{inquire.number}/{inquire.cluster}"
