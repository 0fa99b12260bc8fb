"""The suite that every scheme passes: each event reaches exactly the matching subscribers, once.

A scheme's tests are a class of a few lines that inherits `SchemeConformance` and says how the scheme is set up on a
`Case`: a random topology (a tree, and where the scheme can, a graph with cycles), a content space, and the interests
known beforehand, which planned schemes may use as a forecast but must not rely on. Hypothesis then subscribes,
unsubscribes, replaces and publishes in any order, and compares with what the filters themselves say.

Nothing of a scheme's insides is asked for. That events arrive at most once at each node is checked on the messages.
After each step the network comes to rest (`Protocol.is_settled`), with timers where a scheme has some. Where a scheme
says whom its nodes begin with, they may talk to nobody else who was not introduced to them.
Every history ends with a subscription to everything and an event from the other end, so that none shows nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import (
    AdvertiseRequested,
    NodeId,
    Protocol,
    PublishRequested,
    Stimulus,
    SubscribeRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.tables import TableFactory, matcher_tables
from siftcast.space import ContentSpace, SourceTrees, Tree

SPACE = Schema([Attribute("value", "int", (0, 9), 1)], name="conformance")
"""What partitioned schemes may cut. Events also have a `kind`, which they may not, and values beyond the domain."""
FILTERS = (
    "value = 3",
    "value < 4",
    "value >= 7",
    "value BETWEEN 2 AND 6",
    "value BETWEEN 0 AND 9",
    "value IN (0, 5, 9)",
    "value != 5",
    "value = 1 OR value = 8",
    "kind = 'x'",
    "kind LIKE 'x%' AND value > 5",
    "kind = 'y' OR value = 2",
    "kind IS NULL AND value < 8",
    "value IS NULL",
    "NOT value = 4",
    "value = 42",
    "TRUE",
)
Factory = Callable[[NodeId], Protocol]
Contacts = Callable[[NodeId], Iterable[NodeId]]


@dataclass(frozen=True, slots=True)
class Case:
    """What a scheme is set up on."""

    tree: Tree
    graph: SourceTrees
    space: ContentSpace
    interests: tuple[tuple[NodeId, Filter], ...]
    tables: TableFactory
    distances: tuple[tuple[float, ...], ...]

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        return self.tree.nodes


@dataclass(frozen=True, slots=True)
class Step:
    """Something that is done to a node: `subscribe`, `unsubscribe` or `publish`."""

    action: str
    node: int
    id: str
    filter: str
    attributes: dict[str, Any]


events = st.fixed_dictionaries(
    {}, optional={"value": st.integers(-1, 11) | st.none(), "kind": st.sampled_from(["x", "xy", "y", None])}
)
steps = st.builds(
    Step,
    st.sampled_from(["subscribe", "subscribe", "publish", "publish", "unsubscribe"]),
    st.integers(0, 7),
    st.sampled_from("abcdefgh"),
    st.sampled_from(FILTERS),
    events,
)


@st.composite
def topologies(draw: st.DrawFn) -> tuple[Tree, SourceTrees]:
    """A random tree, and a graph that has it among its edges."""
    count = draw(st.integers(1, 8))
    edges = [(draw(st.integers(0, node - 1)), node) for node in range(1, count)]
    more = draw(st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=6))
    lengths = {edge: float(draw(st.integers(1, 3))) for edge in edges}
    for a, b in sorted(more):
        if a != b and (a, b) not in lengths and (b, a) not in lengths:
            lengths[a, b] = float(draw(st.integers(1, 3)))
    return Tree(range(count), edges), SourceTrees.shortest(lengths, nodes=range(count))


class SchemeConformance:
    """Inherit, and say how the scheme is set up."""

    advertises: ClassVar[bool] = False
    """Whether publishers must say beforehand what they publish."""

    def factory(self, case: Case) -> Factory:
        """Makes the nodes of the scheme."""
        raise NotImplementedError

    def set_up(self, case: Case) -> tuple[Factory, Contacts | None]:
        """The nodes, and whom each begins with, where the scheme says so."""
        return self.factory(case), None

    @settings(suppress_health_check=[HealthCheck.differing_executors])
    @given(topologies(), st.lists(steps, min_size=1, max_size=25), st.integers(0, 2**32), st.booleans())
    def test_each_event_reaches_exactly_the_matching_subscribers_once(
        self, topology: tuple[Tree, SourceTrees], steps: list[Step], seed: int, known: bool
    ) -> None:
        tree, graph = topology
        count = len(tree)
        wanted = [(step.node % count, Filter.parse(step.filter)) for step in steps if step.action == "subscribe"]
        case = Case(
            tree,
            graph,
            ContentSpace(SPACE),
            tuple(wanted) if known else (),
            matcher_tables("brute_force"),
            tuple(tuple(float(len(tree.spanning((a, b))) - 1) for b in range(count)) for a in range(count)),
        )
        factory, contacts = self.set_up(case)
        net = Loopback(tree.nodes, factory, seed, contacts=contacts)
        self.rest(net)
        if self.advertises:
            for node in tree.nodes:
                self._do(net, node, AdvertiseRequested((Subscription(f"all-{node}", Filter.parse("TRUE")),)))
        held: dict[str, tuple[int, Filter]] = {}
        for number, step in enumerate(steps):
            node = step.node % count
            if step.action == "subscribe":
                at = held[step.id][0] if step.id in held else node
                filter_ = Filter.parse(step.filter)
                self._do(net, at, SubscribeRequested((Subscription(step.id, filter_),)))
                held[step.id] = at, filter_
            elif step.action == "unsubscribe":
                at = held.pop(step.id)[0] if step.id in held else node
                self._do(net, at, UnsubscribeRequested((step.id,)))
            else:
                self._publish(net, node, Event(step.attributes, id=f"e{number}"), held)
        everything = Subscription("everything", Filter.parse("TRUE"))
        self._do(net, 0, SubscribeRequested((everything,)))
        held[everything.id] = 0, everything.filter
        self._publish(net, count - 1, Event({"value": 3, "kind": "x"}, id="last"), held)

    def _do(self, net: Loopback, node: NodeId, stimulus: Stimulus) -> None:
        net.tell(node, stimulus)
        self.rest(net)

    def rest(self, net: Loopback) -> None:
        """Lets the network come to rest."""
        net.rest()

    def _publish(self, net: Loopback, node: int, event: Event, held: dict[str, tuple[int, Filter]]) -> None:
        net.delivered.clear()
        net.sent.clear()
        self._do(net, node, PublishRequested(event))
        expected = Counter((at, event.id, id) for id, (at, filter_) in held.items() if filter_.matches(event))
        assert Counter(net.delivered) == expected, f"{event} published at {node}"
        assert not net.refused
        self.check_messages(net, node)

    def check_messages(self, net: Loopback, publisher: NodeId) -> None:
        """Whatever else a scheme promises about the messages of one event."""
