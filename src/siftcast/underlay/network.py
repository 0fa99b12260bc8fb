"""A physical network: routers and the links between them, each with a latency and a kind.

    router   0 … routers - 1        kinds: "transit", "stub", "router"
    link     0 … links - 1          joins two routers and carries both ways; kinds: "transit", "stub", …

A network is data only. Generators and file readers make it, and `attach` puts servers on its routers, which gives
the `Underlay` that answers questions about routes. Links of latency 0 and several links between two routers are
allowed (real maps hold both), links from a router to itself are not: no route would ever use one.

Invariant: every array has one entry per router or link, ends are routers of this network, latencies are finite and at
least 0. It is checked once, when the network is made. Cost: O(routers + links).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from siftcast.model.errors import UnderlayError
from siftcast.underlay.underlay import Underlay

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Texts = npt.NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class Network:
    """Routers and undirected links; `domains` numbers the domain of each router where there are any, else -1."""

    routers: int
    tails: Integers
    heads: Integers
    latencies_ms: Floats
    router_kinds: Texts
    link_kinds: Texts
    domains: Integers
    names: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.routers < 1:
            raise UnderlayError("a network needs at least one router")
        lengths = {len(self.tails), len(self.heads), len(self.latencies_ms), len(self.link_kinds)}
        if len(lengths) != 1:
            raise UnderlayError(f"tails, heads, latencies and kinds of links differ in length: {sorted(lengths)}")
        if len(self.router_kinds) != self.routers or len(self.domains) != self.routers:
            raise UnderlayError(f"there must be one kind and one domain for each of {self.routers} routers")
        if self.names and len(self.names) != self.routers:
            raise UnderlayError(f"{len(self.names)} names for {self.routers} routers; give one each, or none")
        ends = np.concatenate((self.tails, self.heads))
        if len(ends) and (ends.min() < 0 or ends.max() >= self.routers):
            raise UnderlayError(f"every link must join two of the routers 0 … {self.routers - 1}")
        if (self.tails == self.heads).any():
            raise UnderlayError(f"link {int(np.argmax(self.tails == self.heads))} joins a router to itself")
        if not (np.isfinite(self.latencies_ms).all() and (self.latencies_ms >= 0).all()):
            raise UnderlayError("latencies must be finite numbers of milliseconds of at least 0")

    @classmethod
    def of(cls, routers: int, links: Sequence[tuple[int, int, float]], *, names: Sequence[str] = ()) -> Network:
        """A network of one kind of router, from links given as (tail, head, latency in ms)."""
        return cls(
            routers=routers,
            tails=np.array([link[0] for link in links], dtype=np.int64),
            heads=np.array([link[1] for link in links], dtype=np.int64),
            latencies_ms=np.array([link[2] for link in links], dtype=np.float64),
            router_kinds=np.full(routers, "router"),
            link_kinds=np.full(len(links), "link"),
            domains=np.full(routers, -1, dtype=np.int64),
            names=tuple(names),
        )

    @property
    def links(self) -> int:
        """How many links there are; each carries both ways, so there are twice as many arcs."""
        return len(self.tails)

    @property
    def degrees(self) -> Integers:
        """The number of links at each router."""
        counts: Integers = np.bincount(np.concatenate((self.tails, self.heads)), minlength=self.routers)
        return counts

    @property
    def components(self) -> Integers:
        """The number of the connected component of each router."""
        graph = coo_array((np.ones(self.links), (self.tails, self.heads)), shape=(self.routers, self.routers))
        labels: Integers = connected_components(graph, directed=False)[1].astype(np.int64)
        return labels

    @property
    def is_connected(self) -> bool:
        """Whether every router reaches every other."""
        return bool((self.components == 0).all())

    def largest_component(self) -> Network:
        """The network without the routers that are cut off from its largest component."""
        labels = self.components
        kept = labels == np.argmax(np.bincount(labels))
        new_number = np.cumsum(kept) - 1
        crosses = kept[self.tails]
        return Network(
            routers=int(kept.sum()),
            tails=new_number[self.tails[crosses]],
            heads=new_number[self.heads[crosses]],
            latencies_ms=self.latencies_ms[crosses],
            router_kinds=self.router_kinds[kept],
            link_kinds=self.link_kinds[crosses],
            domains=self.domains[kept],
            names=tuple(name for name, keep in zip(self.names, kept, strict=True) if keep) if self.names else (),
        )

    def summary(self) -> str:
        """The network in one line: size, degrees, latencies, kinds of links."""
        parts = [f"{self.routers:,} routers, {self.links:,} links ({2 * self.links:,} arcs)"]
        if self.links:
            degrees = self.degrees
            parts.append(f"degree {degrees.min()}–{degrees.max()}, mean {degrees.mean():.2f}")
            parts.append(f"latency {self.latencies_ms.min():.4g}–{self.latencies_ms.max():.4g} ms")
            kinds, counts = np.unique(self.link_kinds, return_counts=True)
            if len(kinds) > 1:
                parts.append(", ".join(f"{count:,} {kind}" for kind, count in zip(kinds, counts, strict=True)))
        components = int(self.components.max()) + 1
        parts.append("connected" if components == 1 else f"in {components} pieces")
        return "; ".join(parts)

    def attach(
        self,
        servers: int,
        rng: np.random.Generator,
        access_ms: float | npt.ArrayLike = 1.0,
        *,
        router_kind: str | None = None,
    ) -> Underlay:
        """Servers on random routers over access links; on distinct routers as long as there are enough.

        `access_ms` is one latency for all or one each; `router_kind` keeps servers to routers of one kind.
        """
        if servers < 1:
            raise UnderlayError(f"at least one server must be attached, not {servers}")
        candidates = np.arange(self.routers)
        if router_kind is not None:
            candidates = np.flatnonzero(self.router_kinds == router_kind)
            if not len(candidates):
                kinds = ", ".join(np.unique(self.router_kinds))
                raise UnderlayError(f"no router is of the kind '{router_kind}'; there are: {kinds}")
        # Full rounds over all candidates first, so that no router has two servers more than another.
        rounds = [rng.permutation(candidates) for _ in range(-(-servers // len(candidates)))]
        return self.attach_at(np.concatenate(rounds)[:servers], access_ms)

    def attach_at(self, routers: npt.ArrayLike, access_ms: float | npt.ArrayLike = 1.0) -> Underlay:
        """One server on each of these routers, in this order, over an access link."""
        places = np.asarray(routers, dtype=np.int64)
        latencies = np.broadcast_to(np.asarray(access_ms, dtype=np.float64), places.shape)
        if not (np.isfinite(latencies).all() and (latencies >= 0).all()):
            raise UnderlayError("access latencies must be finite numbers of milliseconds of at least 0")
        return self._with_servers(places, latencies)

    def routers_as_servers(self) -> Underlay:
        """Every router is a server itself: server i is router i, and there are no access links."""
        return self._with_servers(np.arange(self.routers), None)

    def _with_servers(self, places: Integers, access_ms: Floats | None) -> Underlay:
        if places.ndim != 1 or not len(places):
            raise UnderlayError("at least one server must be attached")
        if places.min() < 0 or places.max() >= self.routers:
            raise UnderlayError(f"servers must be attached to routers 0 … {self.routers - 1}")
        if len(set(self.components[places].tolist())) > 1:
            raise UnderlayError(
                "some servers could not reach each other, because the network is in pieces;"
                " use network.largest_component()"
            )
        return Underlay.over_routers(
            self.routers, self.tails, self.heads, self.latencies_ms, places, access_ms, self.names
        )
