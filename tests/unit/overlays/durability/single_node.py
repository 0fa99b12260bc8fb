"""One durable node with a disk that tests can look at, cut the power of, and fill."""

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import (
    MessageReceived,
    PersistAll,
    Persisted,
    PersistFailed,
    PublishRequested,
    SendMessage,
    Started,
)
from siftcast.overlays.durability import Acknowledge, Durable, Greet, Settings
from siftcast.overlays.durability.contract import DurableSubscribeRequested, Offer, QueuePolicy, SubscriberAttached
from siftcast.overlays.links import TreeLinks
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.tables import matcher_tables

KEEPER = (3, 30)
"""The lineage of all neighbours."""


class SingleNode:
    """Carries out what a node wants; writes are done at once unless `slow`, greetings answered unless `silent`."""

    def __init__(self, neighbours=(), settings=None, clock_ms=None):
        self.neighbours = neighbours
        self.settings = settings or Settings()
        self.disk: dict[str, bytes] = {}
        self.now = 0.0
        self.clock_ms = clock_ms
        self.slow = False
        self.full = False
        self.silent = False
        self.parked = ()  # what all neighbours say they have parked, when they are greeted
        self.nonce = 0
        self.start()

    def start(self):
        scheme = FilterBased(0, TreeLinks(self.neighbours), matcher_tables("brute_force"))
        self.durable = Durable(0, scheme, self.settings)
        self.writing: PersistAll | None = None
        self.effects: list = []
        self.tell(Started(dict(self.disk), self.clock_ms, nonce=self.nonce))

    def restart(self, *, write_survives=False):
        """Cuts the power; a write under way is lost or was just done."""
        if self.writing is not None and write_survives:
            self.apply(self.writing)
        self.start()

    def tell(self, stimulus):
        """Gives the node a stimulus; returns what it wants done now."""
        found = []
        pending = [stimulus]
        while pending:
            for effect in self.durable.handle(pending.pop(0), self.now):
                if not isinstance(effect, PersistAll):
                    found.append(effect)
                    if isinstance(effect, SendMessage) and isinstance(effect.message, Greet) and not self.silent:
                        pending += [answer(peer, effect.message, self.parked) for peer in effect.destinations]
                    continue
                assert self.writing is None, "one write at a time"
                self.writing = effect
                if not self.slow:
                    pending.append(self.write())
        self.effects += found
        return found

    def write(self):
        """Ends the write under way; the stimulus that says so."""
        write, self.writing = self.writing, None
        if self.full:
            return PersistFailed(write.key, "no space left")
        self.apply(write)
        return Persisted(write.key)

    def apply(self, write):
        for key, data in write.changes:
            if data is None:
                self.disk.pop(key, None)
            else:
                self.disk[key] = data

    # -- requests ----------------------------------------------------------------------------------------

    def subscribe(self, name="s", text="TRUE", **policy):
        return self.tell(DurableSubscribeRequested(Subscription(name, Filter.parse(text)), QueuePolicy(**policy)))

    def attach(self, name="s", **options):
        return offers(self.tell(SubscriberAttached(name, **options)))

    def publish(self, *ids, durable=True, **attributes):
        found = []
        for id in ids:
            found += self.tell(PublishRequested(Event(attributes, id=id), durable=durable))
        return found


def answer(peer, greet, parked=()):
    """What a neighbour answers that has seen just what it has acknowledged."""
    kept = (greet.stream, greet.kept, (), parked, greet.chapter, greet.control_kept)
    return MessageReceived(peer, Acknowledge(KEEPER, greet.keeper, *kept, greet.token))


def offers(effects):
    """Position and event of each offer."""
    return [(effect.position, effect.event.id) for effect in effects if isinstance(effect, Offer)]


def of(effects, kind):
    return [effect for effect in effects if isinstance(effect, kind)]
