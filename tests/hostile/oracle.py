"""What publishers were told, what subscriptions want, and what readers got: the judge of a hostile run.

It shares no code with Siftcast. What a subscription wants is a plain Python predicate beside its filter's text, and an
event is a dictionary. It judges by the promises of docs/guarantees.md:

- *missing*       an acknowledged event that a subscription wants was not read. It must have been published after the
                  subscription was known everywhere, which whoever runs the traffic finds out (`becomes_known`).
- *unwanted*      an event was read that the subscription does not want, or that nobody published.
- *altered*       an event was read with other content than it was published with.
- *twice*         one reader's stream showed an event twice.
- *out of order*  two events of one publisher came in another order than they were published in.

An event whose publish raised is *unknown*: it may arrive or not. A disk that was lost or went back to an older state
begins a new *era*: what was on its way then need not arrive (`forgive`), and the subscriptions of that node may show
events of earlier eras again. Another plan begins one, too, in which nothing may be lost. Until neighbours have got over
that (`is_mended`) order is not judged, nor what ephemeral subscriptions see twice; otherwise order is judged within an
era. Ephemeral subscriptions are promised nothing but that they see no event twice. What they require is counted by
whoever proves that new events arrive (`proves`).

Cost: a set entry for each event and subscription that wants it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

Content = Mapping[str, object]
Wants = Callable[[Content], bool]
_SHOWN = 8


@dataclass(slots=True)
class Published:
    """An event as its publisher knows it."""

    id: str
    publisher: str
    number: int
    """Its place among those of its publisher."""
    node: str
    content: Content
    era: int
    started_s: float
    place: int
    """How many events were published before it."""
    wanted_by: tuple[str, ...]
    """Durable subscriptions that want it and were known everywhere when it was published."""
    acknowledged_s: float | None = None
    trouble: str = ""


@dataclass(slots=True)
class Subscription:
    """A subscription, what its readers have seen, and what the present one was shown."""

    name: str
    node: str
    wants: Wants
    durable: bool
    is_known: bool = False
    former: list[Wants] = field(default_factory=list)
    """What it wanted before; it may get that until what it wants now is known."""
    seen: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)
    last: dict[tuple[str, int], int] = field(default_factory=dict)
    """The number of the last event that was read of each publisher in each era."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was wrong, as sentences by kind; `required` is how much had to arrive."""

    required: int
    missing: tuple[str, ...]
    wrong: Mapping[str, tuple[str, ...]]
    unknown: int

    @property
    def is_good(self) -> bool:
        """Whether something was required, all of that was read, and nothing else was wrong."""
        return self.required > 0 and not self.missing and not any(self.wrong.values())

    def __str__(self) -> str:
        lines = [f"required {self.required}, missing {len(self.missing)}, unknown {self.unknown}"]
        if not self.required:
            lines.append("nothing was required, so the run proves nothing")
        for kind, found in {"missing": self.missing, **self.wrong}.items():
            lines += [f"  {kind}: {each}" for each in found[:_SHOWN]]
            if len(found) > _SHOWN:
                lines.append(f"  {kind}: … and {len(found) - _SHOWN} more")
        return "\n".join(lines)


class Oracle:
    """Records a run; `clock` gives seconds, for the report only."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.era = 0
        self.acknowledged = 0
        self.proven = 0
        self.subscriptions: dict[str, Subscription] = {}
        self.events: dict[str, Published] = {}
        self._clock = clock
        self._numbers: dict[str, int] = {}
        self._required: set[tuple[str, str]] = set()
        self._open: set[tuple[str, str]] = set()
        self._known_since: dict[str, int] = {}
        self._went_back: dict[str, int] = {}
        self._is_mending = False
        self._wrong: dict[str, list[str]] = {
            kind: [] for kind in ("unwanted", "altered", "twice", "out of order", "reader failed")
        }

    # -- what subscriptions want -------------------------------------------------------------------------

    def subscribe(self, name: str, node: str, wants: Wants, *, durable: bool) -> None:
        """A subscription was asked for at a node."""
        self.subscriptions[name] = Subscription(name, node, wants, durable)

    def follows(self, name: str) -> None:
        """Another reader takes up a subscription: what it is shown may have been shown to the one before."""
        self.subscriptions[name].shown.clear()
        self.subscriptions[name].last.clear()

    def replaces(self, name: str, wants: Wants) -> None:
        """A subscription is about to want something else; what was under way to it need not arrive."""
        subscription = self.subscriptions[name]
        subscription.former.append(subscription.wants)
        subscription.wants, subscription.is_known = wants, False
        dropped = {each for each in self._open if each[0] == name}
        self._open -= dropped
        self._required -= dropped
        for event in self.events.values():
            if event.acknowledged_s is None and name in event.wanted_by:
                event.wanted_by = tuple(each for each in event.wanted_by if each != name)

    def becomes_known(self, names: Iterable[str]) -> None:
        """From now on whatever these want, wherever it is published, must arrive, and nothing else may."""
        for name in names:
            self.subscriptions[name].is_known = True
            self._known_since[name] = len(self.events)

    # -- what publishers do ------------------------------------------------------------------------------

    def starts(self, publisher: str, node: str, content: Content) -> Published:
        """An event is about to be published."""
        number = self._numbers[publisher] = self._numbers.get(publisher, 0) + 1
        wanted_by = tuple(
            each.name for each in self.subscriptions.values() if each.durable and each.is_known and each.wants(content)
        )
        event = Published(
            f"{publisher}-{number}",
            publisher,
            number,
            node,
            dict(content),
            self.era,
            self._clock(),
            len(self.events),
            wanted_by,
        )
        self.events[event.id] = event
        return event

    def acknowledges(self, event: Published) -> None:
        """The node has said that it took an event."""
        event.acknowledged_s = self._clock()
        self.acknowledged += 1
        for name in event.wanted_by:
            self._required.add((name, event.id))
            if event.id not in self.subscriptions[name].seen:
                self._open.add((name, event.id))

    def raises(self, event: Published, error: Exception) -> None:
        """Nobody knows what became of an event."""
        event.trouble = f"{type(error).__name__}: {error}"

    # -- what readers get --------------------------------------------------------------------------------

    def reads(self, name: str, id: str, content: Content) -> None:
        """A reader was shown an event."""
        subscription, event = self.subscriptions[name], self.events.get(id)
        if event is None:
            self._wrong["unwanted"].append(f"{name} got {id!r}, which nobody published: {str(content)[:200]}")
            return
        if not _is_same(content, event.content):
            self._wrong["altered"].append(f"{name} got {id} as {str(content)[:200]}, not {str(event.content)[:200]}")
        if not self._may_get(subscription, event):
            self._wrong["unwanted"].append(f"{name} got {id}, which it does not want: {str(event.content)[:200]}")
        self._open.discard((name, id))
        if id in subscription.shown:
            if not self._may_repeat(subscription, event):
                self._wrong["twice"].append(f"{name} got {id} twice")
        elif subscription.durable and event.era == self.era and not self._is_mending:
            line = event.publisher, event.era
            if event.number < subscription.last.get(line, 0):
                after = f"{event.publisher}-{subscription.last[line]}"
                self._wrong["out of order"].append(f"{name} got {id} after {after}")
            subscription.last[line] = max(event.number, subscription.last.get(line, 0))
        subscription.seen.add(id)
        subscription.shown.add(id)

    def fails(self, name: str, error: Exception) -> None:
        """A reader's stream ended although nobody wanted that."""
        self._wrong["reader failed"].append(f"{name}: {type(error).__name__}: {error}")

    def proves(self, count: int) -> None:
        """So many events that had to arrive at ephemeral subscriptions did."""
        self.proven += count

    # -- disks -------------------------------------------------------------------------------------------

    def plan_changes(self) -> None:
        """The network is planned again: order is promised within a plan, not from one to the next."""
        self.era += 1
        self._is_mending = True

    def goes_back(self, node: str) -> None:
        """A node's disk is not what it was: an era ends."""
        self.era += 1
        self._went_back[node] = self.era
        self._is_mending = True

    def is_mended(self) -> None:
        """All nodes have got over what happened, and nothing is under way: an era begins if one had ended."""
        self.era += self._is_mending
        self._is_mending = False

    def forgive(self, *, known: bool) -> None:
        """What was published until now may be lost; unless they stay `known`, so may what follows for a while."""
        self._required -= self._open
        self._open.clear()
        for event in self.events.values():
            event.wanted_by = ()
        if not known:
            for each in self.subscriptions.values():
                each.is_known = False

    def _may_get(self, subscription: Subscription, event: Published) -> bool:
        """Whether a subscription wants an event, or wanted it before what it wants now was known."""
        if subscription.wants(event.content):
            return True
        is_late = subscription.is_known and event.place >= self._known_since[subscription.name]
        return not is_late and any(wanted(event.content) for wanted in subscription.former)

    def _may_repeat(self, subscription: Subscription, event: Published) -> bool:
        """Whether a disk may have forgotten that the event was shown: its node's, or any for an ephemeral one."""
        eras = self._went_back
        if subscription.durable:
            return event.era < eras.get(subscription.node, 0)
        return event.era <= max(eras.values(), default=-1)

    # -- the end -----------------------------------------------------------------------------------------

    @property
    def missing(self) -> int:
        """How much of what is required was not read yet."""
        return len(self._open)

    @property
    def is_wrong(self) -> bool:
        """Whether something was read that must not have been."""
        return any(self._wrong.values())

    def verdict(self) -> Verdict:
        """Judges what was recorded so far."""
        missing = []
        for name, id in sorted(self._open):
            event = self.events[id]
            told = f"published at {event.node} in era {event.era}, acknowledged at {event.acknowledged_s:.2f} s"
            missing.append(f"{name} (at {self.subscriptions[name].node}) has not got {id}, {told}")
        wrong = {kind: tuple(found) for kind, found in self._wrong.items()}
        unknown = sum(event.acknowledged_s is None for event in self.events.values())
        return Verdict(len(self._required) + self.proven, tuple(missing), wrong, unknown)


def _is_same(one: Content, other: Content) -> bool:
    """Equal, and of equal types: 1 is neither 1.0 nor True here."""
    return dict(one) == dict(other) and all(type(one[name]) is type(other[name]) for name in other)
