"""Transit-stub networks as GT-ITM draws them: domains that carry traffic for others, and domains that do not.

    transit domain ── transit domain        `transit_domains` of about `transit_routers` routers each
        │                                    50–100 ms inside and between them
    transit router ── stub domain            about `stubs_per_router` on each transit router, 10–40 ms
                      └ routers              about `stub_routers` in each, 1–5 ms

Sizes vary from domain to domain and from router to router, but their totals are exact: single units are moved
between random boxes that all start at the mean, and none is emptied. So the default, Kyra's set-up, has
20 · 5 · (1 + 3 · 8) = 2,500 routers for every seed. It also has 4,469 links (the paper counts 8,938 arcs): a stub
domain is a random tree, and random links inside stub domains fill up what all others leave of `links`.

Transit domains are linked pairwise with probability `domain_link_share`, each link between random routers of the two;
the routers of one transit domain with `transit_link_share`.

A share of the stub domains may have a second link, to another transit domain if there is one. These links
are drawn from a stream of their own and come last: with the same seed, networks of different `multi_homed_share` are
the same but for them, and so are all draws that follow. A route may cross such a stub domain; there are no policies.

`TransitStub.underlay_chapter()` has the 1,584 routers of the thesis's chapter on underlays, whose shape it leaves open.
Cost: O(links + routers of a domain squared).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from siftcast.model.errors import UnderlayError
from siftcast.underlay.network import Network
from siftcast.underlay.parameters import COUNT_MAX, Range, require, require_count, require_range

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TransitStub:
    """Parameters of a transit-stub network; the defaults are the set-up of the Kyra paper."""

    transit_domains: int = 20
    transit_routers: int = 5
    stubs_per_router: int = 3
    stub_routers: int = 8
    links: int | None = 4_469
    domain_link_share: float = 0.7
    transit_link_share: float = 0.8
    stub_link_share: float = 0.42
    transit_ms: Range = (50.0, 100.0)
    inter_domain_ms: Range = (50.0, 100.0)
    transit_stub_ms: Range = (10.0, 40.0)
    stub_ms: Range = (1.0, 5.0)
    size_moves: int = 3
    multi_homed_share: float = 0.0

    def __post_init__(self) -> None:
        for name in ("transit_domains", "transit_routers", "stubs_per_router", "stub_routers"):
            require_count(name, getattr(self, name), least=1)
        for name in ("domain_link_share", "transit_link_share", "stub_link_share", "multi_homed_share"):
            require(name, getattr(self, name), least=0, most=1)
        for name in ("transit_ms", "inter_domain_ms", "transit_stub_ms", "stub_ms"):
            require_range(name, getattr(self, name))
        require_count("size_moves", self.size_moves, least=0)
        if self.routers > COUNT_MAX:
            raise UnderlayError(f"a network of {self.routers:,} routers is too large; at most {COUNT_MAX:,} are drawn")

    @classmethod
    def underlay_chapter(cls) -> TransitStub:
        """1,584 routers: 4 transit domains of 4, 7 stub domains a router of 14 each."""
        return cls(transit_domains=4, transit_routers=4, stubs_per_router=7, stub_routers=14, links=None)

    @property
    def routers(self) -> int:
        """How many routers every such network has."""
        return self.transit_domains * self.transit_routers * (1 + self.stubs_per_router * self.stub_routers)

    def build(self, rng: np.random.Generator) -> Network:
        """Draws a network."""
        (second_links,) = rng.spawn(1)
        drawing = _Drawing(self, rng)
        drawing.draw_transit()
        drawing.draw_stubs()
        drawing.draw_second_links(second_links)
        return drawing.network()


@dataclass(slots=True)
class _Drawing:
    """A network in the making: links so far, and the routers of each domain."""

    parameters: TransitStub
    rng: np.random.Generator
    links: list[tuple[int, int, float, str]] = field(default_factory=list)
    transit: list[Integers] = field(default_factory=list)
    stubs: list[Integers] = field(default_factory=list)
    gateways: list[int] = field(default_factory=list)

    def draw_transit(self) -> None:
        """Transit domains, inside and between."""
        asked = self.parameters
        sizes = _varied(asked.transit_domains, asked.transit_routers, asked.size_moves, self.rng)
        self.transit = np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1])
        for domain in self.transit:
            for a, b in _random_graph(len(domain), asked.transit_link_share, self.rng):
                self._link(int(domain[a]), int(domain[b]), asked.transit_ms, "transit")
        for a, b in _random_graph(len(self.transit), asked.domain_link_share, self.rng):
            tail, head = int(self.rng.choice(self.transit[a])), int(self.rng.choice(self.transit[b]))
            self._link(tail, head, asked.inter_domain_ms, "inter-domain")

    def draw_stubs(self) -> None:
        """Stub domains: one link each to a transit router, then those inside, until there are enough."""
        asked, rng = self.parameters, self.rng
        transit_routers = asked.transit_domains * asked.transit_routers
        stubs = _varied(transit_routers, asked.stubs_per_router, asked.size_moves, rng)
        sizes = _varied(int(stubs.sum()), asked.stub_routers, asked.size_moves, rng)
        self.stubs = np.split(transit_routers + np.arange(sizes.sum()), np.cumsum(sizes)[:-1])
        self.gateways = np.repeat(np.arange(transit_routers), stubs).tolist()
        for gateway, domain in zip(self.gateways, self.stubs, strict=True):
            self._link(gateway, int(rng.choice(domain)), asked.transit_stub_ms, "transit-stub")
        spare: list[tuple[int, int]] = []
        for domain in self.stubs:
            tree = _random_tree(len(domain), rng)
            for a, b in sorted(tree):
                self._link(int(domain[a]), int(domain[b]), asked.stub_ms, "stub")
            pairs = ((a, b) for b in range(len(domain)) for a in range(b))
            spare.extend((int(domain[a]), int(domain[b])) for a, b in pairs if (a, b) not in tree)
        for place in np.sort(rng.permutation(len(spare))[: self._extra_links(spare)]):
            tail, head = spare[place]
            self._link(tail, head, asked.stub_ms, "stub")

    def _extra_links(self, spare: list[tuple[int, int]]) -> int:
        """How many links inside stub domains there must be beside those that connect them."""
        asked = self.parameters
        if asked.links is None:
            tree_links = sum(len(domain) - 1 for domain in self.stubs)
            return max(0, round(asked.stub_link_share * (tree_links + len(spare))) - tree_links)
        extra = asked.links - len(self.links)
        if not 0 <= extra <= len(spare):
            fewest, most = len(self.links), len(self.links) + len(spare)
            raise UnderlayError(
                f"a network of this draw has between {fewest:,} and {most:,} links, not {asked.links:,};"
                " change 'links', or set it to None and let 'stub_link_share' decide"
            )
        return extra

    def draw_second_links(self, rng: np.random.Generator) -> None:
        """A second transit link for a share of the stub domains."""
        asked = self.parameters
        home = np.repeat(np.arange(len(self.transit)), [len(domain) for domain in self.transit])
        for stub in np.sort(rng.permutation(len(self.stubs))[: round(asked.multi_homed_share * len(self.stubs))]):
            gateway = self.gateways[stub]
            candidates = np.flatnonzero(home != home[gateway])
            if not len(candidates):
                candidates = np.flatnonzero(np.arange(len(home)) != gateway)
            if not len(candidates):
                raise UnderlayError("a stub domain can only be multi-homed where there are two transit routers")
            second, inside = int(rng.choice(candidates)), int(rng.choice(self.stubs[stub]))
            latency_ms = rng.uniform(*asked.transit_stub_ms)
            self.links.append((second, inside, latency_ms, "transit-stub"))

    def network(self) -> Network:
        """What was drawn."""
        tails, heads, latencies_ms, kinds = zip(*self.links, strict=True) if self.links else ((), (), (), ())
        domains = [*self.transit, *self.stubs]
        sizes = [len(domain) for domain in domains]
        transit_routers = sum(sizes[: len(self.transit)])
        return Network(
            routers=sum(sizes),
            tails=np.array(tails, dtype=np.int64),
            heads=np.array(heads, dtype=np.int64),
            latencies_ms=np.array(latencies_ms, dtype=np.float64),
            router_kinds=np.repeat(("transit", "stub"), (transit_routers, sum(sizes) - transit_routers)),
            link_kinds=np.array(kinds, dtype=np.str_),
            domains=np.repeat(np.arange(len(domains)), sizes),
        )

    def _link(self, tail: int, head: int, latency_ms: Range, kind: str) -> None:
        self.links.append((tail, head, float(self.rng.uniform(*latency_ms)), kind))


def _varied(boxes: int, mean: int, moves: int, rng: np.random.Generator) -> Integers:
    """Random sizes of at least 1 with this mean exactly: units moved between random boxes, some times a box."""
    sizes = np.full(boxes, mean, dtype=np.int64)
    for giver, taker in rng.integers(0, boxes, size=(moves * boxes, 2)):
        if sizes[giver] > 1:
            sizes[giver] -= 1
            sizes[taker] += 1
    return sizes


def _random_tree(nodes: int, rng: np.random.Generator) -> set[tuple[int, int]]:
    """A random tree over 0 … nodes - 1, as pairs a < b: in random order, each joins one that came before."""
    order = rng.permutation(nodes)
    joins = ((int(order[rng.integers(0, place)]), int(order[place])) for place in range(1, nodes))
    return {(min(pair), max(pair)) for pair in joins}


def _random_graph(nodes: int, share: float, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Each pair a < b with this probability; drawn again until connected, and with a random tree if that fails."""
    rows, columns = np.triu_indices(nodes, 1)
    for _ in range(100):
        chosen = rng.random(len(rows)) < share
        pairs = list(zip(rows[chosen].tolist(), columns[chosen].tolist(), strict=True))
        if _is_connected(nodes, pairs):
            return pairs
    return sorted({*pairs, *_random_tree(nodes, rng)})


def _is_connected(nodes: int, pairs: list[tuple[int, int]]) -> bool:
    reached, waiting = {0}, [0]
    while waiting:
        node = waiting.pop()
        near = {b if a == node else a for a, b in pairs if node in (a, b)} - reached
        reached |= near
        waiting.extend(near)
    return len(reached) == nodes
