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
(`Persist` and `PersistAll` as `Persisted`, `MeasureDelay` as `DelayMeasured`, `InferRoute` as `RouteInferred`,
`SetTimer` as `TimerFired`). Whatever must survive a crash is written with `Persist` or `PersistAll` and handed to the
next incarnation when it is started; everything else is gone. Messages between two nodes may be lost, delayed and
reordered if the runtime says so.

Who knows whom: a node begins with `Started.contacts`, and learns of others by messages that *introduce* them
(`Message.introduces`). It may send to, measure and watch every node that was introduced to it, however long ago; the
runtime attaches addresses to such messages, keeps them, and makes connections on demand. A protocol never sees an
address. Whoever is watched is reported when it cannot be reached (`PeerLost`) and when it can again (`PeerFound`);
contacts are watched from the start, others from `Watch` to `Unwatch`. *Lost is not gone*: what waits for a lost peer is
kept, and no time-out ends that. Gone (`PeerGone`) is only who has left in peace (`LeaveRequested`, handing over, then
`Leave`) or was declared gone by a person. A protocol that needs randomness seeds a generator with `Started.nonce`.

Durable publishes and subscriptions are answered by `durability.Durable`, which wraps a scheme; a scheme by itself
knows the ephemeral ones only. What is asked of a durable node beyond this is in `durability.contract`.

When something goes wrong in a runtime:

- *A failed effect never prevents the others.* It is reported, the rest of the turn is carried out, and whoever waits
  for the failed one is answered: a write by `PersistFailed`, a measurement by "no answer", a timer by firing late.
- *An exception inside `handle` stops the node*, because what the call had changed in memory fits nothing any more. The
  runtime drops the object, makes a new one and starts it with what is on disk, as after a crash. So `handle` raises for
  defects only; a request that cannot be met is answered by `Refuse`.
- *Input that stopped a node three times is set aside* and reported: from then on the node meets `InputSetAside` in its
  place, so that one message cannot keep a node down. What is on disk (`Started`) is never set aside: a node that cannot
  start from it stays down and says why.

Rejected: callbacks or coroutines inside protocols, which tie them to one runtime and make a run depend on its
scheduler; one method a stimulus, because a runtime would then have to know each of them (ADR 0008).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from siftcast.model import Event, Subscription

NodeId = int
"""Who a node is: a number of 63 bits that is its own for good; in the simulator 0 … n-1. What is stored or sent names
nodes by it. Names are for people, and addresses are the runtime's affair."""


class Message(msgspec.Struct, frozen=True, gc=False):
    """What nodes say to each other. A scheme's messages are subclasses; `Protocol.messages` lists them."""

    control: ClassVar[bool] = True
    """Whether it keeps the overlay going, rather than carry an event."""
    repeated: ClassVar[bool] = False
    """Whether its sender says it again until it counts, so that nobody else has to keep it or send it again."""

    must_arrive: ClassVar[bool] = False
    """Whether a durable node must not lose it, although what it follows from may have been ephemeral."""
    grown: ClassVar[int] = 0
    """How many of its last fields nodes of the version before do not know; they have defaults."""
    renewed: ClassVar[bool] = False
    """Whether nodes of the version before know none of this form: no network that sends it has a node so old."""

    @property
    def carried(self) -> Event | None:
        """The event it carries, itself or in the message inside it."""
        inside = getattr(self, "content", None)
        found: Event | None = inside.carried if isinstance(inside, Message) else getattr(self, "event", None)
        return found

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        """The nodes it names to whom the receiver may want to talk; the runtime attaches what is needed for that."""
        return ()

    @property
    def event_id(self) -> str | None:
        """The event it carries, for whoever records what happens."""
        return None

    @property
    def overhead_bytes(self) -> int:
        """What a scheme adds to the event it carries, as far as schemes differ in it."""
        return 0

    @property
    def signature(self) -> str:
        """The same for a message that is sent again, by which a runtime knows input that has stopped a node before."""
        return repr(self)


# -- stimuli -----------------------------------------------------------------------------------------


class Stimulus(msgspec.Struct, frozen=True, gc=False):
    """Something that happened to a node."""


class Started(Stimulus, frozen=True, gc=False):
    """The node runs; `restored` holds what an earlier incarnation persisted.

    `clock_ms` is the calendar's time in milliseconds at `now`, where `now` itself does not go on from one incarnation
    to the next; None where it does. `damaged` says that some of what was persisted is known to be lost. `nonce` is a
    number of 63 bits that the runtime draws for this life alone. `contacts` are the nodes to begin with: the neighbours
    of a plan, or those through which it enters a network.
    """

    restored: Mapping[str, bytes] = {}
    clock_ms: float | None = None
    damaged: bool = False
    nonce: int = 0
    contacts: tuple[NodeId, ...] = ()


class InputSetAside(Stimulus, frozen=True, gc=False):
    """A stimulus that stopped the node three times came once more and is not handed in; whoever asked is answered."""

    stimulus: Stimulus
    reason: str


class MessageReceived(Stimulus, frozen=True, gc=False):
    """A message came in from another node."""

    sender: NodeId
    message: Message


class TimerFired(Stimulus, frozen=True, gc=False):
    """A timer that was set has run out."""

    name: str


class SubscribeRequested(Stimulus, frozen=True, gc=False):
    """Subscribers of this node want something; an id that is known is given its new filter.

    `durable` ones outlive their node's absence. With `restored`, they are of an earlier life, and the network knows.
    """

    subscriptions: tuple[Subscription, ...]
    durable: bool = False
    restored: bool = False


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
    """A publisher of this node has an event; its id must be its own in the whole network.

    With `durable`, a durable node answers once it is safe, or with `Refuse`; it may be asked for again with the same
    id, and counts once.
    """

    event: Event
    durable: bool = False


class PeerLost(Stimulus, frozen=True, gc=False):
    """A node that is watched cannot be reached. It may come back, and what waits for it is kept."""

    peer: NodeId


class PeerFound(Stimulus, frozen=True, gc=False):
    """A node that is watched can be reached, again or for the first time; neither end knows what the other has kept."""

    peer: NodeId


class ContactsFound(Stimulus, frozen=True, gc=False):
    """Further nodes through which this one may enter the network, besides `Started.contacts`."""

    nodes: tuple[NodeId, ...]


class PeerResumed(Stimulus, frozen=True, gc=False):
    """A node that was lost can be reached again, and both ends still have what they had: they are durable."""

    peer: NodeId


class PeerGone(Stimulus, frozen=True, gc=False):
    """A node has left in peace or was declared gone: it does not come back, and what waits for it goes elsewhere.

    One that `left` in peace has handed over what it held.
    """

    peer: NodeId
    left: bool = False


class MessageReturned(Stimulus, frozen=True, gc=False):
    """What waited for a node that is gone now comes back to its sender."""

    peer: NodeId
    message: Message


class ApplyRequested(Stimulus, frozen=True, gc=False):
    """A person wants the network planned by other settings.

    With `over`, nobody but the runtime wants it: in place of the plan of that number, unless that has changed by then,
    or people want something of the network.
    """

    settings: bytes
    over: int = 0


class PlanChanged(Stimulus, frozen=True, gc=False):
    """A plan was made for the network as it is now: the node prepares for its epoch, beside those that go on."""

    plan: Any


class EpochUsed(Stimulus, frozen=True, gc=False):
    """All nodes are prepared for an epoch: what is published from now on belongs to it."""

    epoch: int


class EpochRetired(Stimulus, frozen=True, gc=False):
    """Nothing of an epoch is on its way any more: what belongs to it is dropped."""

    epoch: int


class LeaveRequested(Stimulus, frozen=True, gc=False):
    """The node is to leave: it hands over what it holds for others, and then wants to `Leave`."""


class Persisted(Stimulus, frozen=True, gc=False):
    """What was to be persisted under this key is safe."""

    key: str


class PersistFailed(Stimulus, frozen=True, gc=False):
    """What was to be persisted under this key is not, say because the disk is full; nothing of it was written."""

    key: str
    reason: str


class DelayMeasured(Stimulus, frozen=True, gc=False):
    """The answer to `MeasureDelay`; None if the node did not answer."""

    peer: NodeId
    delay_ms: float | None


class RouteInferred(Stimulus, frozen=True, gc=False):
    """The answer to `InferRoute`: the routers on the way, None for those that do not tell their name.

    `status` is `ok`; `partial` where the way was followed to the last router named here and no farther; `unavailable`
    where nothing could be found out: then there are no routers here, and that says nothing about the way. `delays_ms`
    is how far each router is, one way, None where it was not measured; the first is the node's own last mile.
    """

    peer: NodeId
    routers: tuple[str | None, ...]
    status: Literal["ok", "partial", "unavailable"] = "ok"
    delays_ms: tuple[float | None, ...] = ()


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


class Watch(Effect, frozen=True, gc=False):
    """Asks to hear when a node cannot be reached and when it can: at once, if it can be now."""

    peer: NodeId


class Unwatch(Effect, frozen=True, gc=False):
    """Asks to hear nothing more of a node; a connection to it may end."""

    peer: NodeId


class Leave(Effect, frozen=True, gc=False):
    """The node goes for good. It has handed over everything, and those who watch it learn `PeerGone`.

    With a `reason` it was not let in, or is not a member any more, and nobody learns anything.
    """

    reason: str = ""


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


class PersistAll(Effect, frozen=True, gc=False):
    """Keeps several changes, all of them or none; answered by `Persisted` or `PersistFailed` with this key.

    The key names the write and is not itself kept.
    """

    key: str
    changes: Sequence[tuple[str, bytes | None]]


class Defer(Effect, frozen=True, gc=False):
    """A message is taken in and not acted on yet: the scheme waits for something else first.

    A durable node keeps it under the name, and hands it in again after a crash; nobody else does anything about it.
    Without a message, what was deferred under the name is done, by the effects before this one.
    """

    name: str
    message: Message | None


class Report(Effect, frozen=True, gc=False):
    """Tells whoever runs the node something they should know, with the facts that belong to it.

    `routine` is what somebody asked for, or what ends a trouble, so that nobody has to look after it.
    """

    what: str
    facts: Mapping[str, str | int | float]
    routine: bool = False


class MeasureDelay(Effect, frozen=True, gc=False):
    """Asks how far away a node is."""

    peer: NodeId


class InferRoute(Effect, frozen=True, gc=False):
    """Asks which routers lie on the way to a node."""

    peer: NodeId


class ExpectDelay(Effect, frozen=True, gc=False):
    """Reports how late events will come to subscriptions that have a bound, for schemes that know.

    `reach_ms` is over the links there are, and infinite where some are missing; `direct_ms` is the delay to the
    farthest publisher itself, below which nobody can get unless a way over others is shorter. `taken_on_share` is what
    of all that comes in is passed on for others alone. A runtime reports them beside what it measures.
    """

    subscriptions: Sequence[str]
    reach_ms: float
    direct_ms: float
    taken_on_share: float = 0.0


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

    @property
    def is_settled(self) -> bool:
        """Whether nothing that it was asked or has heard still waits in it for an answer or for a timer.

        A network is at rest once all its nodes are settled and nothing is on its way. Timers that tick for ever, and
        what waits for peers that are lost, do not count. What a node does as soon as it hears of something needs no
        word about it, so most schemes are always settled.
        """
        return True

    @property
    def is_heard(self) -> bool:
        """Whether all nodes that must know what the ephemeral subscriptions of this one want have heard it.

        Clients are answered then, or after some seconds. Where it is passed on with the next message and nobody says
        that it has come, there is nothing to wait for.
        """
        return True

    @property
    def can_leave(self) -> bool:
        """Whether it answers `LeaveRequested`, sooner or later, by `Leave`; others can only be taken down."""
        return False

    def way_of(self, event: Event) -> str | None:
        """A name for the way an event takes, in a scheme where events of one node may take several to another.

        Two events of a node with the same way must pass the same nodes to each destination. None, if all do.
        """
        return None

    def state(self) -> Mapping[str, Any]:
        """Facts about what the node holds, for people and checkers; `entries` counts its routing state."""
        return {}
