"""A random view: a small sample of the network that changes all the time. Cyclon, as a part of a protocol.

Every `exchange_ms` a node takes the name it has kept longest out of its view and sends that node a few others, and
itself as the youngest; it is sent as many back, which take the places of those it sent.

    p: a7 b3 c1 d5          q: e2 f4 g1
      ── Exchange(p0, b3, c1) ──▶     a was the oldest, and was q: p forgets q, q learns p
      ◀── ExchangeReply(f4, g1) ──
    p: d5 f4 g1 …           q: e2 p0 b3 c1

So links turn around, and the number of nodes that know a node stays near the size of a view: nobody is known to many,
nobody is forgotten. Whoever is dead is sent something once, does not answer, and has been taken out already: a dead
node is in no view after about as many exchanges as a view has names. No node knows everyone, whatever the size.

Whoever answers is kept if there is room after the exchange. In full views there is none, and links turn around as in
the paper. In a young network, where views hold a name or two, turning a link around would cut a node off that is given
nothing for it; the paper has views filled by random walks before the first exchange.

Invariants: never itself in the view; never over `size`; a name once.

Ages count exchanges. They are kept as the exchange at which a name would have been new (`_born`), so that all grow
older without being touched.

This is one choice of the peer-sampling framework (Jelasity, Voulgaris, Guerraoui, Kermarrec, van Steen, "Gossip-based
peer sampling", ACM TOCS 2007), which the thesis on quality of service (section 2.8) takes for its partial views of 5 %
of all peers: ask the oldest, push and pull, keep by swapping. The plain gossip of that framework are other choices:
`oldest=False` asks a peer drawn at random, `swapping=False` does not prefer what was received to what was sent (its
*blind* view selection), `healing=h` drops the h oldest names first (its *healer*). Views of 5 % are `size`.

Paper: Voulgaris, Gavidia, van Steen, "CYCLON: inexpensive membership management for unstructured P2P overlays", 2005:
in-degrees of 20 ± a few with views of 20 in networks of 100,000.

Cost: two messages for each node and `exchange_ms`, of `exchanged` names each; O(size) for each message.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from siftcast.overlays.contract import Effect, Message, NodeId, SendMessage, SetTimer

TIMERS = "random/"
_EXCHANGE = "random/exchange"

Aged = tuple[NodeId, int]
"""A node, and how many exchanges ago it was known to be there."""


class _Names(Message, frozen=True, gc=False):
    repeated: ClassVar[bool] = True

    names: tuple[Aged, ...]

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return tuple(node for node, _ in self.names)


class Exchange(_Names, frozen=True, gc=False):
    """Some of the sender's view and the sender itself; the same number is wanted back."""


class ExchangeReply(_Names, frozen=True, gc=False):
    """Some of the sender's view, in exchange."""


RANDOM_MESSAGES: tuple[type[Message], ...] = (Exchange, ExchangeReply)


@dataclass(frozen=True, slots=True)
class RandomViewOptions:
    """Names kept, names in a message, and how often they are exchanged; the rest as the framework has it."""

    size: int = 20
    exchanged: int = 8
    exchange_ms: float = 5_000.0
    oldest: bool = True
    swapping: bool = True
    healing: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.exchanged <= self.size:
            raise ValueError(f"of {self.size} names, {self.exchanged} cannot be exchanged")
        if not 0 <= self.healing <= self.size:
            raise ValueError(f"healing drops 0 to {self.size} names, not {self.healing}")
        if not 0 < self.exchange_ms < float("inf"):
            raise ValueError(f"exchange_ms is a time longer than 0: {self.exchange_ms}")


class RandomView:
    """The random view of one node."""

    __slots__ = ("_born", "_clock", "_node", "_options", "_random", "_sent", "_sent_to")

    def __init__(self, node: NodeId, options: RandomViewOptions, random: Random) -> None:
        self._node = node
        self._options = options
        self._random = random
        self._clock = 0
        self._born: dict[NodeId, int] = {}
        self._sent: tuple[NodeId, ...] = ()
        self._sent_to: NodeId | None = None

    def __len__(self) -> int:
        return len(self._born)

    def __contains__(self, node: object) -> bool:
        return node in self._born

    @property
    def names(self) -> tuple[NodeId, ...]:
        """Whom it holds."""
        return tuple(self._born)

    def age(self, node: NodeId) -> int:
        """How many exchanges ago a node of the view was known to be there."""
        return self._clock - self._born[node]

    def sample(self, count: int, without: Iterable[NodeId] = ()) -> list[NodeId]:
        """So many nodes at random, or all there are."""
        others = [node for node in self._born if node not in without]
        return self._random.sample(others, min(count, len(others)))

    # -- what happens to the node ------------------------------------------------------------------------

    def handle_started(self, contacts: Iterable[NodeId]) -> list[Effect]:
        """Begins with the contacts."""
        for each in contacts:
            self.add(each)
        return [SetTimer(_EXCHANGE, self._random.random() * self._options.exchange_ms)]

    def handle_timer(self, name: str) -> list[Effect]:
        """Exchanges names with one of those it holds."""
        again = SetTimer(_EXCHANGE, self._options.exchange_ms)
        self._clock += 1
        if not self._born:
            return [again]
        if self._options.oldest:
            peer = min(self._born, key=self._born.__getitem__)
        else:
            peer = self._random.choice(tuple(self._born))
        del self._born[peer]
        chosen = self.sample(self._options.exchanged - 1)
        self._sent, self._sent_to = tuple(chosen), peer
        clock, born = self._clock, self._born
        names = ((self._node, 0), *((node, clock - born[node]) for node in chosen))
        return [again, SendMessage(Exchange(names), (peer,))]

    def handle_message(self, sender: NodeId, message: Message) -> list[Effect]:
        """Takes in one of `RANDOM_MESSAGES`."""
        if isinstance(message, Exchange):
            chosen = self.sample(self._options.exchanged, (sender,))
            clock, born = self._clock, self._born
            reply = ExchangeReply(tuple((node, clock - born[node]) for node in chosen))
            self._merge(message.names, chosen)
            return [SendMessage(reply, (sender,))]
        assert isinstance(message, ExchangeReply)
        if sender == self._sent_to:
            sent, self._sent, self._sent_to = self._sent, (), None
            self._merge(message.names, sent)
        else:
            self._merge(message.names, ())  # too late to swap: it only fills what is empty
        self.add(sender)
        return []

    def add(self, node: NodeId) -> None:
        """Takes a node in that is known to be there, if there is room."""
        if node != self._node and len(self._born) < self._options.size:
            self._born.setdefault(node, self._clock)

    def forget(self, node: NodeId) -> None:
        """Takes a node out."""
        self._born.pop(node, None)

    def _merge(self, names: Iterable[Aged], sent: Iterable[NodeId]) -> None:
        """Puts names in; of too many, the oldest go first (healing), then those that were sent away, then any."""
        born, options = self._born, self._options
        fresh: list[NodeId] = []
        for node, age in names:
            if node == self._node:
                continue
            if node not in born:
                fresh.append(node)
                born[node] = self._clock - age
            elif self._clock - age > born[node]:
                born[node] = self._clock - age
        excess = len(born) - options.size
        if excess > 0 and options.healing:
            for node in sorted(born, key=born.__getitem__)[: min(excess, options.healing)]:
                del born[node]
            excess = len(born) - options.size
        if excess > 0 and options.swapping:
            # What was received keeps its place before what was sent, and what does not fit after that is left out.
            leaving = [node for node in sent if node in born and node not in fresh][:excess]
            rest = excess - len(leaving)
            for node in (*leaving, *(fresh[-rest:] if rest else ())):
                born.pop(node, None)
            excess = len(born) - options.size
        if excess > 0:
            for node in self._random.sample(tuple(born), excess):
                del born[node]
