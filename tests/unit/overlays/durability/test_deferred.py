"""What a scheme takes in and does not act on yet is kept, and handed in again after a crash."""

import pytest

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import (
    Defer,
    Deliver,
    EpochRetired,
    MessageReceived,
    PersistAll,
    Persisted,
    Protocol,
    PublishRequested,
    Started,
    TimerFired,
)
from siftcast.overlays.durability import Durable, RestoreError, Roster
from siftcast.overlays.durability.contract import DurableSubscribeRequested, QueuePolicy
from siftcast.overlays.messages import Publication


class Patient(Protocol):
    """Defers whatever is published, and delivers it to the subscription that has the name of its source when told."""

    messages = (Publication,)

    def __init__(self):
        self.held = {}

    def handle(self, stimulus, now):
        match stimulus:
            case PublishRequested(event):
                return self.defer(Publication(event, 0))
            case MessageReceived(_, message):
                return self.defer(message)
            case TimerFired("go"):
                held, self.held = self.held, {}
                return [
                    effect
                    for id, message in held.items()
                    for effect in (Deliver(message.event, [message.event.source]), Defer(id, None))
                ]
        return []

    def defer(self, message):
        self.held[message.event_id] = message
        return [Defer(message.event_id, message)]


class Node:
    """Writes at once; `disk` outlives it."""

    def __init__(self):
        self.disk = {}
        self.start()

    def start(self, layout="one"):
        self.durable = Durable(0, Patient(), roster=Roster({0: "me"}, network="net", layout=layout))
        self.tell(Started(dict(self.disk)))

    def tell(self, stimulus):
        pending = [stimulus]
        while pending:
            for effect in self.durable.handle(pending.pop(0), 0.0):
                if isinstance(effect, PersistAll):
                    self.disk.update(effect.changes)
                    self.disk = {key: data for key, data in self.disk.items() if data is not None}
                    pending.append(Persisted(effect.key))

    def publish(self, *ids, durable=True):
        for id in ids:
            self.tell(PublishRequested(Event({}, id, "abc"[int(id) % 3]), durable=durable))

    def queues(self):
        return {name: [event.id for event, _, _ in self.durable.queues.contents(name)] for name in "abc"}

    def deferred(self):
        return sorted(key for key in self.disk if key.startswith("deferred/"))


@pytest.fixture
def node():
    made = Node()
    for name in "abc":
        made.tell(DurableSubscribeRequested(Subscription(name, Filter.parse("TRUE")), QueuePolicy()))
    return made


def test_what_is_deferred_is_handed_in_again_after_a_crash(node):
    node.publish("0", "1", "2", "3")
    node.start()
    assert len(node.deferred()) == 4
    node.start()
    node.tell(TimerFired("go"))
    assert node.queues() == {"a": ["0", "3"], "b": ["1"], "c": ["2"]}
    assert not node.deferred()
    node.start()
    node.tell(TimerFired("go"))
    assert node.queues() == {"a": ["0", "3"], "b": ["1"], "c": ["2"]}


def test_events_that_go_on_at_once_reach_each_its_own(node):
    node.publish("0", "1", "2", durable=False)
    assert not node.deferred()
    node.tell(TimerFired("go"))
    assert node.queues() == {"a": ["0"], "b": ["1"], "c": ["2"]}


def test_what_is_deferred_counts_as_waiting(node):
    node.publish("0", "1")
    assert [message.event_id for _, message in node.durable.waiting()] == ["0", "1"]
    node.tell(TimerFired("go"))
    assert not list(node.durable.waiting())


def test_what_is_deferred_keeps_a_node_from_starting_in_another_layout(node):
    node.publish("0", "1")
    with pytest.raises(RestoreError, match="2 that wait here for others"):
        node.start("other")


def test_what_is_deferred_in_an_epoch_ends_with_it(node):
    node.publish("0")
    node.tell(EpochRetired(2))
    assert len(node.deferred()) == 1
    node.tell(EpochRetired(1))
    assert not node.deferred()
