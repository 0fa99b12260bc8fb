"""What can be chosen about a discovery overlay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from siftcast.overlays.membership.detector import DetectorOptions
from siftcast.overlays.membership.random_view import RandomViewOptions

Heuristic = Literal["nearest", "best", "worst", "link", "random", "landmarks"]
"""Which peers become targets: the nearest of those that a walk visits; those nearer to the walker than to any of their
neighbours (DBest), than to the farthest of them (DWorst), or than the way of the walk (MLink); any (TarRand); or the
same for all, `landmarks`, without a walk."""
Routes = Literal["auto", "traceroute", "triangle", "none"]
"""What decides who lies on the way to whom: routes, and delays where there are none; routes alone; delays alone;
nothing, which makes every target a neighbour (DOnly)."""
Source = Literal["probes", "coordinates"]
"""Where the delays to visited peers come from: each is measured; or predicted, and only the best are measured."""


@dataclass(frozen=True, slots=True)
class DiscoveryOptions:
    """How neighbours are found, and how many.

    `degree` is the most neighbours beside distant ones, 0 for no limit, which there never is with landmarks; `targets`,
    to how many peers a walk finds out the route, or how many landmarks there are (k_L); `ttl`, how many peers each
    branch of a walk visits; `selectivity`, to which share of its neighbours a peer passes a walk on (σ). `slack` is how
    much longer than the direct way one over a peer may be that counts as on the way (ε). Every `walk_ms` a peer
    measures its neighbours, and with a chance of `walking_share` it walks again. `request_ms` is how long it waits for
    answers.
    """

    heuristic: Heuristic = "nearest"
    degree: int = 10
    targets: int = 10
    ttl: int = 100
    selectivity: float = 0.1
    routes: Routes = "auto"
    slack: float = 0.1
    source: Source = "probes"
    has_distant: bool = True
    walk_ms: float = 60_000.0
    walking_share: float = 0.2
    request_ms: float = 5_000.0
    sample: RandomViewOptions = field(default_factory=RandomViewOptions)
    detection: DetectorOptions = field(default_factory=DetectorOptions)

    def __post_init__(self) -> None:
        for name, value, known in (
            ("heuristic", self.heuristic, get_args(Heuristic)),
            ("routes", self.routes, get_args(Routes)),
            ("source", self.source, get_args(Source)),
        ):
            if value not in known:
                raise ValueError(f"{name} is one of {', '.join(known)}, not {value!r}")
        if self.degree < 0 or self.degree == 1:
            raise ValueError(f"degree is at least 2, or 0 for no limit, not {self.degree}")
        if self.targets < 1 or self.ttl < 1:
            raise ValueError(f"a walk visits at least 1 peer for 1 target, not {self.ttl} for {self.targets}")
        if not 0 < self.selectivity <= 1:
            raise ValueError(f"selectivity is a share above 0, not {self.selectivity}")
        if not 0 <= self.slack < float("inf"):
            raise ValueError(f"slack is a share of a delay, not {self.slack}")
        if not 0 <= self.walking_share <= 1:
            raise ValueError(f"walking_share is a share, not {self.walking_share}")
        if not (0 < self.walk_ms < float("inf") and 0 < self.request_ms < float("inf")):
            raise ValueError("walk_ms and request_ms are times longer than 0")
