"""Durability as protocol state: `Durable` wraps a node of any scheme, and what it promises survives power cuts.

    client ──publish──▶ ┌────────── Durable ──────────┐ ──Relay──▶ neighbour's Durable
           ◀──Accept──  │  scheme (routes, matches)   │ ◀─Acknowledge─
    client ◀──Offer───  │  queues  outboxes  routing  │
           ──answer──▶  └──────────────┬──────────────┘
                                       │ PersistAll, Persisted
                                     disk

One rule carries everything: *nothing leaves a node before what it follows from is on its disk* (`ledger`). All changes
of a group of stimuli are one write, kept as a whole or not at all. So a power cut takes a node back to a moment of its
past from which nobody has heard anything later, and whoever it did not answer tells it again. A crash is then nothing
but a pause, links are reliable and in order (`link`, `streams`, `relaying`), and the scheme inside runs as in a network
without faults, where its conformance suite shows that each event reaches exactly the matching subscribers.

What is promised:

- An event is accepted once it is safe at the node that took it. It reaches every durable subscription that this node
  knew of then, however many nodes are down in between, if they come back with their disks.
- A subscription is known to a node only when all nodes on the way to it have it on disk (`routing_memory`), so no event
  that was sent towards it can end at a node that forgot it.
- A durable subscription holds its events until they are acknowledged or its limits drop them, which is told. It is
  offered each once, again after a refusal or if the client or the node was gone meanwhile, at the same position.
- Events of a publisher come in the order in which they were accepted, if it stays at one node (`order`).
- An event published again under its id counts once, as long as the id is remembered (`id_memory`).
- Ephemeral events and subscriptions cost no write and wait for none: at most once. An ephemeral event that meets a
  durable subscription is durable from there on.

States of an event at a node: taken → staged → safe → (deferred →) relayed → acknowledged by the neighbour (and, where
order asks for it, landed and released beyond it) → forgotten. States of an event in a queue: waiting → open →
acknowledged (history) → dropped, or open → refused → open … → dead letter.

What is not: a disk that is lost takes with it what only it had, and so does the part of a disk that is missing when an
older copy of it is brought back. A node that lost a part of its past finds out from its neighbours before it sends
anything (`handshake`), goes on under a new lineage, and nothing that it accepts from then on is lost; what it had sent
already may come again under other numbers, to be known by its event's id, and per-publisher order is not kept across
that moment. A node that comes back without its disk is introduced again by its neighbours, but relays that reach it
before that end there.

Where things are, from the inside out:

    ledger.py               writes, and what waits for them
    runs.py, streams.py     numbered messages, both ends
    link.py                 one neighbour: streams, sessions, who has seen what
    relaying.py             all neighbours: outboxes, patience
    handshake.py            a past that was lost
    roster.py, identity.py  who is who on disk, and whose records these are
    routing_memory.py       what neighbours announced
    deferred.py             messages that the scheme has taken in and not acted on
    id_memory.py            ids that were seen
    order.py                parking and release where ways differ
    event_log.py, subscription_queue.py, queues.py    durable subscriptions
    arrivals.py             what is delivered at this node
    capacity.py             how much is kept, and what happens when that is all there may be
    watchdog.py             what makes no progress
    contract.py             what clients ask of a durable node, and what it answers
    durable.py              the protocol; settings.py its numbers; messages.py what its nodes say
"""

from siftcast.overlays.durability.durable import DURABLE_MESSAGES, Durable
from siftcast.overlays.durability.errors import NotDurableError, RestoreError
from siftcast.overlays.durability.messages import Acknowledge, ControlRelay, Greet, Relay, Release
from siftcast.overlays.durability.roster import Roster
from siftcast.overlays.durability.routing_memory import forgotten_messages
from siftcast.overlays.durability.settings import DEFAULTS, Settings

__all__ = [
    "DEFAULTS",
    "DURABLE_MESSAGES",
    "Acknowledge",
    "ControlRelay",
    "Durable",
    "Greet",
    "NotDurableError",
    "Relay",
    "Release",
    "RestoreError",
    "Roster",
    "Settings",
    "forgotten_messages",
]
