"""What a routing scheme is: a state machine without I/O.

A runtime feeds a protocol stimuli and carries out the effects it returns:

        stimulus, now                 effects
    ───────────────────▶ Protocol ───────────────▶
    MessageReceived       handle()    SendMessage
    TimerFired                        SetTimer
    SubscribeRequested                Deliver
    PublishRequested                  Persist …

One object stands for one node. It has no clock (`now` is an argument, in milliseconds), no sockets and no randomness
but a generator handed over when it is made, so the simulator and the live network run the very same object, and a run
can be repeated from its seed. Stimuli are named in the past tense, effects in the imperative.

Effects of one call are carried out in order. A protocol never waits: what takes time comes back as a stimulus
(`Persist` as `Persisted`, `MeasureDelay` as `DelayMeasured`, `InferRoute` as `RouteInferred`, `SetTimer` as
`TimerFired`). Whatever must survive a crash is written with `Persist` and handed to the next incarnation when it is
made; everything else is gone. Messages between two nodes may be lost, delayed and reordered if the runtime says so.

Rejected: callbacks or coroutines inside protocols, which tie them to one runtime and make a run depend on its
scheduler; one method a stimulus, because a runtime would then have to know each of them (ADR 0008).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from siftcast.model import Event, Subscription

NodeId = int
"""Nodes are numbered; a runtime that knows them by name keeps the list."""


class Message(msgspec.Struct, frozen=True, gc=False):
    """What nodes say to each other. A scheme's messages are subclasses; `Protocol.messages` lists them."""

    control: ClassVar[bool] = True
    """Whether it keeps the overlay going, rather than carry an event."""

    @property
    def event_id(self) -> str | None:
        """The event it carries, for whoever records what happens."""
        return None

    @property
    def overhead_bytes(self) -> int:
        """What a scheme adds to the event it carries, as far as schemes differ in it."""
        return 0


# -- stimuli -----------------------------------------------------------------------------------------


class Stimulus(msgspec.Struct, frozen=True, gc=False):
    """Something that happened to a node."""


class Started(Stimulus, frozen=True, gc=False):
    """The node runs; `restored` holds what an earlier incarnation persisted."""

    restored: Mapping[str, bytes] = {}


class MessageReceived(Stimulus, frozen=True, gc=False):
    """A message came in from another node."""

    sender: NodeId
    message: Message


class TimerFired(Stimulus, frozen=True, gc=False):
    """A timer that was set has run out."""

    name: str


class SubscribeRequested(Stimulus, frozen=True, gc=False):
    """Subscribers of this node want something; an id that is known is given its new filter."""

    subscriptions: tuple[Subscription, ...]


class UnsubscribeRequested(Stimulus, frozen=True, gc=False):
    """Subscribers of this node no longer want something; unknown ids mean nothing."""

    ids: tuple[str, ...]


class AdvertiseRequested(Stimulus, frozen=True, gc=False):
    """Publishers of this node say what they are going to publish."""

    advertisements: tuple[Subscription, ...]


class UnadvertiseRequested(Stimulus, frozen=True, gc=False):
    """Publishers of this node will not publish this any more."""

    ids: tuple[str, ...]


class PublishRequested(Stimulus, frozen=True, gc=False):
    """A publisher of this node has an event; its id must be its own in the whole network."""

    event: Event


class PeerLost(Stimulus, frozen=True, gc=False):
    """The connection to a node broke."""

    peer: NodeId


class PeerFound(Stimulus, frozen=True, gc=False):
    """The connection to a node stands again; both ends are told, and neither knows what the other has kept."""

    peer: NodeId


class Persisted(Stimulus, frozen=True, gc=False):
    """What was to be persisted under this key is safe."""

    key: str


class DelayMeasured(Stimulus, frozen=True, gc=False):
    """The answer to `MeasureDelay`; None if the node did not answer."""

    peer: NodeId
    delay_ms: float | None


class RouteInferred(Stimulus, frozen=True, gc=False):
    """The answer to `InferRoute`: the routers on the way, None for those that do not tell their name."""

    peer: NodeId
    routers: tuple[str | None, ...]


# -- effects -----------------------------------------------------------------------------------------


class Effect(msgspec.Struct, frozen=True, gc=False):
    """Something a node wants done."""


class SendMessage(Effect, frozen=True, gc=False):
    """Sends a message to each destination: as many copies, or one that the network multiplies.

    Network multicast exists in simulated underlays only; it is the yardstick that schemes are compared with.
    """

    message: Message
    destinations: Sequence[NodeId]
    multicast: bool = False


class Deliver(Effect, frozen=True, gc=False):
    """Hands an event to subscribers of this node."""

    event: Event
    subscriptions: Sequence[str]


class Refuse(Effect, frozen=True, gc=False):
    """Tells whoever asked that a request was not accepted, and why."""

    request: str
    reason: str


class SetTimer(Effect, frozen=True, gc=False):
    """Sets a timer; one of the same name is replaced."""

    name: str
    after_ms: float


class CancelTimer(Effect, frozen=True, gc=False):
    """Drops a timer, if there is one."""

    name: str


class Persist(Effect, frozen=True, gc=False):
    """Keeps data under a key beyond a crash; None forgets the key. Answered by `Persisted` once it is safe."""

    key: str
    data: bytes | None


class MeasureDelay(Effect, frozen=True, gc=False):
    """Asks how far away a node is."""

    peer: NodeId


class InferRoute(Effect, frozen=True, gc=False):
    """Asks which routers lie on the way to a node."""

    peer: NodeId


class Spent(Effect, frozen=True, gc=False):
    """Accounts for work: how many routing tables were matched with an event, and how many keys looked up.

    It changes nothing; whoever compares schemes reads it. Tables of the node's own subscribers do not count.
    """

    matches: int
    lookups: int = 0


Effects = Sequence[Effect]
NOTHING: tuple[Effect, ...] = ()


class Protocol(ABC):
    """One node's part in a scheme."""

    messages: ClassVar[tuple[type[Message], ...]] = ()
    """All messages of the scheme, so that a runtime can read them from a wire."""

    @abstractmethod
    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        """Takes in what happened, and says what is to be done about it. `now` is in milliseconds."""

    def state(self) -> Mapping[str, Any]:
        """Facts about what the node holds, for people and checkers; `entries` counts its routing state."""
        return {}
