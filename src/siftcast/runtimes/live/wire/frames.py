"""What travels over a connection: frames, each a header (`framing`) and a msgpack array that begins with its kind.

Here are those of clients and of both; what nodes say to each other is in `node_frames`.

    client                         node                          node
      │ ── Hello(client) ──────────▶ │ ◀───────── Hello(node) ─── │
      │ ◀────────────── Welcome ──── │ ── Welcome ──────────────▶ │
      │ ── Subscribe, Publish ─────▶ │ ── PeerMessage ──────────▶ │
      │ ◀─ Subscribed, Published ─── │                            │
      │ ◀──────────────── Deliver ── │                            │
      │ ◀───────── BoundReported ─── │   (where one was asked for) │
      │ ─ AcknowledgeOffers, Reject▶ │   (durable ones)           │

The first frame is a Hello with the version; an end that cannot speak it says so in a `Failure` and hangs up. Requests
are numbered by whoever asks and answered by that number: with what was asked for, or with a `Failure` whose code is
stable. A `Failure` without a number is about the connection, which is closed after it.

`Deliver` and `Publish` are put together from parts instead of being encoded (`delivery_head`, `publish_frame`): the
event's bytes are there already, the same for everybody, and the rest has a fixed size. The event comes before the
subscription, so that what differs from delivery to delivery is at the end (`framing` says what that is good for).
Several frames are one write, see `connection`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Literal
from zlib import crc32

import msgspec

from siftcast.overlays.bounds import State
from siftcast.overlays.durability.contract import QueuePolicy
from siftcast.runtimes.live.errors import FrameError
from siftcast.runtimes.live.wire.frame import Frame as Frame
from siftcast.runtimes.live.wire.frame import Question as Question
from siftcast.runtimes.live.wire.framing import HEADER_BYTES, difference_of, framed, header_number
from siftcast.runtimes.live.wire.node_frames import (
    AgesWanted,
    Farewell,
    Forgotten,
    Invitation,
    PeerAnswer,
    PeerMessage,
    PeerQuestion,
    Unneeded,
)

VERSION: Final = 4
"""What this end speaks best: 2 has checks in its frames, 3 names nodes by their identities, 4 has bounds on delay."""
BOUNDS: Final = 4
"""The first version with bounds on delay; an older end would not read them, and so would not keep them."""
Role = Literal["node", "client", "joiner"]
"""What whoever calls is; a joiner is a node that asks what it must know to be one of the network."""
OLDEST: Final[dict[Role, int]] = {"client": 2, "node": 3, "joiner": 3}
"""The oldest version that this end still speaks, with each of them."""
FRAME_BYTES_MAX: Final = 1_048_576
HELLO_BYTES_MAX: Final = 16_384
"""What one who has not said who they are may send at once."""


class Hello(Frame, frozen=True, gc=False, tag=1):
    """The first frame of whoever connects.

    A node says which network it means, so that two do not mix; which process it is, so that two with one name are
    noticed; whom it calls, so that an address which leads elsewhere is noticed; and where it can be called itself.
    """

    version: int
    role: Role
    name: str = ""
    token: str = ""
    network: str = ""
    incarnation: str = ""
    called: str = ""
    oldest: int = 0
    """The oldest version that it speaks; 0 for those of version 2, which speak no other."""
    identity: int = 0
    """Who it is, if it is a node."""
    address: str = ""
    """Where other nodes can call it; empty if it does not know."""
    since: int = 0
    """As in `Introduction`."""
    base: str = ""
    """A digest of what all nodes of its network agree on, listed or not; `network` is one of its list, too."""

    def __repr__(self) -> str:
        """Without the token, so that no log or traceback can hold it."""
        return f"Hello(version={self.version}, role={self.role!r}, name={self.name!r}, network={self.network!r})"


class Welcome(Frame, frozen=True, gc=False, tag=2):
    """The answer to a Hello. To a client it comes again when how long its token is good has changed."""

    version: int
    name: str
    heartbeat_ms: float
    frame_bytes_max: int
    event_bytes_max: int
    identity: int = 0
    incarnation: str = ""
    expires_in_ms: float | None = None
    """How long the token of a client is good; by the node's clock, and said as a span, so no clocks are compared."""


class Failure(Frame, frozen=True, gc=False, tag=3):
    """A request, or with request 0 the whole connection, came to nothing."""

    request: int
    code: str
    message: str


class Heartbeat(Frame, frozen=True, gc=False, tag=4):
    """Says that one is there. With `echo`, the other end sends the number back at once with `echo` false.

    A node that sends it back to another says where it is (`node.coordinates`); older ends leave that out.
    """

    number: int = 0
    echo: bool = False
    coordinate: tuple[float, float, float, float] | None = None


class Publish(Frame, frozen=True, gc=False, tag=5):
    """An event of a client. With `durable` it is answered once it is on the node's disk."""

    request: int
    event: msgspec.Raw
    durable: bool = False


class Published(Frame, frozen=True, gc=False, tag=6):
    """The answer to `count` publishes, numbered from `first`."""

    first: int
    count: int = 1


class Subscribe(Frame, frozen=True, gc=False, tag=7):
    """A client wants events; it chooses the number under which they come. `durable` names one that outlives it.

    Of a durable one at most `window` events are under way unanswered. With `start` (a position) or `since_ms` (the
    calendar) it begins there once more. Without a policy, a bound or a bandwidth it keeps those it has.
    """

    request: int
    subscription: int
    filter: str
    durable: str | None = None
    window: int = 256
    start: int | None = None
    since_ms: float | None = None
    policy: QueuePolicy | None = None
    delay_ms_max: float | None = None
    bandwidth: float | None = None


class Replace(Frame, frozen=True, gc=False, tag=8):
    """A client wants something else under a number it uses already.

    A bound or a bandwidth that is left out stays as it is, and 0 takes it away.
    """

    request: int
    subscription: int
    filter: str
    delay_ms_max: float | None = None
    bandwidth: float | None = None


class Unsubscribe(Frame, frozen=True, gc=False, tag=9):
    """A client wants nothing more under this number; a durable subscription stays, and holds what comes."""

    request: int
    subscription: int


class Subscribed(Frame, frozen=True, gc=False, tag=10):
    """The answer to Subscribe, Replace, Unsubscribe and EndDurable."""

    request: int


class Deliver(Frame, frozen=True, gc=False, tag=11):
    """An event for these subscriptions of the connection; a durable one says at which position of its queue.

    Where one of them has a bound, it says how old the event is when it arrives, if that is known.
    """

    event: msgspec.Raw
    subscriptions: tuple[int, ...]
    position: int = 0
    attempt: int = 1
    age_ms: float | None = None


class Dropped(Frame, frozen=True, gc=False, tag=12):
    """So many deliveries were dropped because the client did not keep up."""

    count: int


class AcknowledgeOffers(Frame, frozen=True, gc=False, tag=13):
    """A client has dealt with these events of a durable subscription."""

    subscription: int
    positions: tuple[int, ...]


class Reject(Frame, frozen=True, gc=False, tag=14):
    """A client could not deal with an event of a durable subscription."""

    subscription: int
    position: int
    reason: str


class Describe(Frame, frozen=True, gc=False, tag=15):
    """Asks a node about itself."""

    request: int


class Description(Frame, frozen=True, gc=False, tag=16):
    """What a node says about itself."""

    request: int
    facts: dict[str, Any]


class EndDurable(Frame, frozen=True, gc=False, tag=18):
    """A client has no more use for a durable subscription; all it holds is dropped."""

    request: int
    name: str


class ReadDeadLetters(Frame, frozen=True, gc=False, tag=19):
    """Asks what a durable subscription refused too often, beyond a position."""

    request: int
    name: str
    after: int = 0


class Letter(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """An event that was refused too often, how often, and the last reason."""

    position: int
    refusals: int
    reason: str
    event: msgspec.Raw


class DeadLetters(Frame, frozen=True, gc=False, tag=20):
    """The answer to ReadDeadLetters: as many as fit a frame, and whether there are more."""

    request: int
    letters: list[Letter]
    more: bool = False


class Expired(Frame, frozen=True, gc=False, tag=21):
    """So many waiting events of a durable subscription were dropped, because it held more than its policy allows."""

    subscription: int
    count: int
    reason: str


class Ended(Frame, frozen=True, gc=False, tag=22):
    """Nothing more comes under this number, though the client did not ask for that."""

    subscription: int
    code: str
    message: str


class BoundReported(Frame, frozen=True, gc=False, tag=38):
    """How the bound of a subscription stands, and for how long it has (`overlays.bounds`).

    The slowest hop led from one node to another, by their names; an empty one is the subscriber.
    """

    subscription: int
    delay_ms_max: float
    state: State
    for_ms: float
    counted: int
    in_time: int
    slow_ms: float | None = None
    slow_from: str = ""
    slow_to: str = ""
    reach_ms: float | None = None
    direct_ms: float | None = None
    taken_on_share: float | None = None


class Inquire(Frame, frozen=True, gc=False, tag=30):
    """A client asks all nodes something (`inquiries`); the answer is a `Description`."""

    request: int
    question: Question
    content: bytes


class Operate(Frame, frozen=True, gc=False, tag=36):
    """A client has the node leave its network, forget another, read its configuration again, or plan otherwise.

    `what` is the node to forget, or the configuration to `apply`; with `replan` the plan follows from what all nodes
    have measured. The answer is a `Description`.
    """

    request: int
    action: Literal["leave", "forget", "apply", "replan", "reload"]
    what: str = ""


AnyFrame = (
    Hello
    | Welcome
    | Failure
    | Heartbeat
    | Publish
    | Published
    | Subscribe
    | Replace
    | Unsubscribe
    | Subscribed
    | Deliver
    | Dropped
    | AcknowledgeOffers
    | Reject
    | Describe
    | Description
    | PeerMessage
    | EndDurable
    | ReadDeadLetters
    | DeadLetters
    | Expired
    | Ended
    | Inquire
    | PeerQuestion
    | PeerAnswer
    | Invitation
    | Farewell
    | Forgotten
    | Unneeded
    | Operate
    | BoundReported
    | AgesWanted
)


def _plain_text(value: object) -> str:
    """A text of a class of its own, such as NumPy's, as what it is."""
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"{type(value).__name__} has no form on the wire")


_encode = msgspec.msgpack.Encoder(enc_hook=_plain_text).encode
_decode: Callable[[bytes | memoryview], Frame] = msgspec.msgpack.Decoder(AnyFrame).decode
# An array of three: the kind, the event, and an array of one number of four bytes.
_DELIVERY: Final = bytes((0x93, 11))
_DELIVERY_TAIL: Final = bytes((0x91, 0xCE))
_NO_TAIL: Final = bytes(len(_DELIVERY_TAIL) + 4)
_DELIVERY_BYTES: Final = len(_DELIVERY) + len(_NO_TAIL)
_DELIVERY_CHECK: Final = crc32(_DELIVERY)
_DELIVERY_NUMBER: Final = int.from_bytes(_DELIVERY, "big")
_DELIVERY_BITS: Final = 8 * len(_DELIVERY)
DELIVERY_HEAD_BYTES: Final = HEADER_BYTES + len(_DELIVERY)
SUBSCRIPTION_MAX: Final = 2**32 - 1
# The kind, a number of four bytes, and the event.
_PUBLISH: Final = bytes((0x93, 5, 0xCE))
# An array of four: the same, and true.
_PUBLISH_DURABLE: Final = bytes((0x94, 5, 0xCE))
_TRUE: Final = b"\xc3"


def spoken(role: Role) -> str:
    """The versions that this end speaks, in words."""
    return f"{VERSION}" if OLDEST[role] == VERSION else f"{OLDEST[role]} to {VERSION}"


def encode_frame(frame: Frame) -> bytes:
    """A frame with its header."""
    return framed(_encode(frame))


def encode_body(frame: Frame) -> bytes:
    """A frame without its header."""
    return _encode(frame)


def decode_frame(body: bytes | memoryview) -> Frame:
    """The frame behind bytes without their header; raises FrameError."""
    try:
        return _decode(body)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise FrameError(f"not a frame of version {VERSION}: {error}") from None


def delivery_head(event: bytes) -> int:
    """What a `Deliver` to one subscription begins with: XOR the subscription's difference, DELIVERY_HEAD_BYTES long.

    The event follows, and then the subscription's tail.
    """
    check = crc32(_NO_TAIL, crc32(event, _DELIVERY_CHECK))
    return header_number(_DELIVERY_BYTES + len(event), check) << _DELIVERY_BITS | _DELIVERY_NUMBER


@lru_cache(maxsize=1_024)
def delivery_tail(subscription: int) -> tuple[bytes, int]:
    """How a `Deliver` to this subscription ends, and by what that changes how it begins.

    The same objects for the same number, as far as they are remembered: whoever delivers to many can tell by `is`.
    """
    tail = _DELIVERY_TAIL + subscription.to_bytes(4, "big")
    return tail, difference_of(tail) << _DELIVERY_BITS


def publish_frame(request: int, event: bytes, *, durable: bool = False) -> bytes:
    """A `Publish` put together from parts."""
    number = request.to_bytes(4, "big")
    if durable:
        return framed(b"".join((_PUBLISH_DURABLE, number, event, _TRUE)))
    return framed(b"".join((_PUBLISH, number, event)))
