"""What a ring costs, before it runs: latency, throughput, memory, balance and queues (layering paper, section 4.1).

    printed                                     here
    latency = k1·H + Σ match(store)             `walk_ms`; `scatter_ms` = k1 + the slowest of H, which is what we run
    throughput = min 1 / match(store)           `throughput_s`, times the replicas that share the events
    best H = ⌊subscriptions / M⌋ + 1            `parts_printed`; `parts_needed` has a margin
    H·R·I ≥ N                                   `imbalance`, `least_imbalance`

**Why H needs a margin.** Subscriptions are dealt to parts by a hash, so a part holds a binomial number of them and not
S/H. With S just under H·M the printed formula leaves no room above the mean: about half of all parts overflow, and some
part does nearly always. `parts_needed` takes the least H with

    P(some part > M) ≤ H · exp(−S · KL(M/S ‖ 1/H)) ≤ OVERFLOW            (Chernoff, and the sum over the parts)

which comes to a room of about √(2·ln(H/OVERFLOW)·M) subscriptions: 5 % of M = 10,000, half a percent of a million. It
is the law of the hash and not a guess; growth until the next plan is the caller's to add.

**Queues.** The formulas take nodes to be idle. A node that serves events one by one and gets them at random waits, by
Pollaczek and Khinchine, λ·E[s²] / (2·(1 − ρ)) on average: M/D/1 where all events cost the same, M/G/1 where they fall
in zones of different sizes. That is a prediction for Poisson arrivals; bursts are worse.

match(store) is a table of measured times. Who measures is the caller: planning reads no clock.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, log1p, sqrt

OVERFLOW = 0.001  # the chance that any part of a zone holds more than it may
TIME_MS_MAX = 86_400_000
"""A day: no time that a node or a message takes is longer, and what is worked out from it stays finite."""
_STORE_MAX = 10**12


@dataclass(frozen=True, slots=True)
class MatchTimes:
    """How long a node matches an event, by the subscriptions it is matched with: measured points, lines between them.

    Beyond the last point the time grows as between the last two; it never falls, as noise would have it.
    """

    sizes: tuple[int, ...]
    times_ms: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.times_ms) or not self.sizes:
            raise ValueError("match times are one number or more for as many stores")
        if sorted(set(self.sizes)) != list(self.sizes) or not 0 <= self.sizes[0] <= self.sizes[-1] <= _STORE_MAX:
            raise ValueError(f"stores ascend, from 0 to {_STORE_MAX:,}")
        if not all(0 <= time <= TIME_MS_MAX for time in self.times_ms):
            raise ValueError(f"match times are from 0 to {TIME_MS_MAX:,} ms")
        rising = list(self.times_ms)
        for place in range(1, len(rising)):
            rising[place] = max(rising[place - 1 : place + 1])
        object.__setattr__(self, "times_ms", tuple(rising))

    @classmethod
    def linear(cls, least_ms: float, million_ms: float) -> MatchTimes:
        """Times that are given in place of measured ones: with no subscriptions, and with each million more."""
        return cls((0, 1_000_000), (least_ms, least_ms + million_ms))

    def at(self, store: float) -> float:
        """The time with so many subscriptions."""
        if len(self.sizes) == 1 or store <= self.sizes[0]:
            return self.times_ms[0]
        right = min(bisect_right(self.sizes, store), len(self.sizes) - 1)
        low, high = self.sizes[right - 1], self.sizes[right]
        rise = (self.times_ms[right] - self.times_ms[right - 1]) / (high - low)
        return self.times_ms[right - 1] + rise * (store - low)


@dataclass(frozen=True, slots=True)
class NodeCosts:
    """What a node takes: to match an event, to receive and answer it, to hold a subscription; and the way to it."""

    match: MatchTimes
    hop_ms: float = 0.25
    handling_ms: float = 0.1
    subscription_bytes: float = 2_500.0
    base_bytes: float = 150 * 2.0**20

    def __post_init__(self) -> None:
        if not (0 <= self.hop_ms <= TIME_MS_MAX and 0 <= self.handling_ms <= TIME_MS_MAX):
            raise ValueError(f"times are from 0 to {TIME_MS_MAX:,} ms: {self.hop_ms} and {self.handling_ms}")

    def service_ms(self, store: float) -> float:
        """How long an event keeps a node that matches it with so many subscriptions."""
        return self.handling_ms + self.match.at(store)

    def memory_bytes(self, store: float) -> float:
        """What a node needs to hold so many subscriptions."""
        return self.base_bytes + self.subscription_bytes * store

    def room(self, memory_bytes: float) -> int:
        """How many subscriptions fit into the memory of a node: the paper's M."""
        return max(0, int((memory_bytes - self.base_bytes) / self.subscription_bytes))


def walk_ms(costs: NodeCosts, stores: Sequence[float], waits_ms: Sequence[float] = ()) -> float:
    """The latency of an event that visits the nodes one after the other; with what it waits at each."""
    return sum(costs.hop_ms + costs.service_ms(store) for store in stores) + sum(waits_ms)


def scatter_ms(costs: NodeCosts, stores: Sequence[float], waits_ms: Sequence[float] = ()) -> float:
    """The latency of an event sent to all of the nodes at once: the publisher sends H copies, the slowest decides."""
    if not stores:
        return 0.0
    slowest = max(
        costs.service_ms(store) + (waits_ms[place] if waits_ms else 0.0) for place, store in enumerate(stores)
    )
    return (len(stores) - 1) * costs.handling_ms + costs.hop_ms + slowest


def throughput_s(costs: NodeCosts, stores: Sequence[float], replicas: int = 1) -> float:
    """Events per second that the most loaded of the visited nodes can take; replicas share them."""
    slowest = max((costs.service_ms(store) for store in stores), default=0.0)
    return replicas * 1_000 / slowest if slowest else inf


def wait_ms(rate_s: float, services_ms: Sequence[tuple[float, float]]) -> float:
    """How long an event waits at a node on average; services are shares of its events with the time of each."""
    total = sum(share for share, _ in services_ms)
    if not total or not rate_s:
        return 0.0
    mean = sum(share * time for share, time in services_ms) / total
    square = sum(share * time**2 for share, time in services_ms) / total
    rate_ms = rate_s / 1_000
    busy = rate_ms * mean
    return rate_ms * square / (2 * (1 - busy)) if busy < 1 else inf


# -- parts of a zone ---------------------------------------------------------------------------------


def parts_printed(subscriptions: int, room: int) -> int:
    """The paper's best H, which leaves no room above the mean."""
    return subscriptions // room + 1


def parts_needed(subscriptions: int, room: int, overflow: float = OVERFLOW) -> int:
    """The least H with which no part holds more than fit, but for so small a chance."""
    if room < 1:
        raise ValueError("a node must have room for a subscription")
    low, high = 1, 1
    while overflow_chance(subscriptions, high, room) > overflow:
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if overflow_chance(subscriptions, middle, room) <= overflow else (middle + 1, high)
    return high


def overflow_chance(subscriptions: int, parts: int, room: int) -> float:
    """At most how likely any of the parts holds more than fit, where a hash deals the subscriptions."""
    if subscriptions <= room:
        return 0.0
    held, even = (room + 1) / subscriptions, 1 / parts
    if held <= even or parts == 1:
        return 1.0
    distance = held * log(held / even)
    if held < 1:
        distance += (1 - held) * (log1p(-held) - log1p(-even))
    return min(1.0, parts * exp(-subscriptions * distance))


def largest_part(subscriptions: float, parts: int, overflow: float = OVERFLOW) -> float:
    """What the fullest part holds at most, but for so small a chance (Bernstein): more than an even share."""
    if parts == 1:
        return subscriptions
    even, unlikely = subscriptions / parts, log(parts / overflow)
    return min(subscriptions, even + unlikely / 3 + sqrt(unlikely**2 / 9 + 2 * even * unlikely))


# -- balance -----------------------------------------------------------------------------------------


def imbalance(loads: Sequence[float]) -> float:
    """I: the largest load of a node over the mean; 1 is perfect."""
    total = sum(loads)
    return max(loads) * len(loads) / total if total else 1.0


def least_imbalance(nodes: int, replicas: int, parts: int) -> float:
    """The I that H·R·I ≥ N asks for where all subscriptions and events have one rendezvous value."""
    return max(1.0, nodes / (parts * replicas))
