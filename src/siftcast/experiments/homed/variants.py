"""Row H6: digests that many nodes share, k-ary cubes, filters carried by beats; and nodes of many subscriptions.

Each variant is a network of its own that is asked for the same: events reach all that want them, once, and what that
costs. It beats for a while first, as rows of k-ary cubes and filters are told by beats.

    duplicates   digests of the topic alone, so that some sixteen nodes share one; their places are divided by further
                 bits that identify them, or not (a tree)
    addressed    events that name the one node that is to have them (digest + identifier)
    k-ary        rows of k digits, where a node knows all digits of a row or the nearest two
    piggyback    filters themselves are known of so many places beyond a split; digests are coarse
    positions    eight subscriptions a node, which share one position or are dealt out to four
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from siftcast.experiments.homed.growth import publish
from siftcast.experiments.homed.network import RECEIVER, Network
from siftcast.model import Event

Found = dict[str, Any]
_IDLE_MS = 20_000.0


@dataclass(frozen=True, slots=True)
class Variant:
    """Options of the scheme, and what is done with it."""

    kind: str
    options: dict[str, Any]
    each: int = 1
    addressed: bool = False


_COARSE = {"bits": 16}
_ONERECEIVERPIC = {"attributes": "topic", "bits": 33}
VARIANTS = {
    "plain": Variant("k-ary", {}),
    "4-ary, all digits": Variant("k-ary", {"arity": 4, "layout": "full"}),
    "4-ary, nearest two": Variant("k-ary", {"arity": 4, "layout": "neighbours"}),
    "16-ary, all digits": Variant("k-ary", {"arity": 16, "layout": "full"}),
    "16-ary, nearest two": Variant("k-ary", {"arity": 16, "layout": "neighbours"}),
    "equal digests by identifier": Variant("duplicates", {**_ONERECEIVERPIC, "duplicates": "identifier"}),
    "equal digests in a tree": Variant("duplicates", {**_ONERECEIVERPIC, "duplicates": "tree"}),
    "one receiver by its identifier": Variant("addressed", {"receivers": RECEIVER, "bits": 48}, addressed=True),
    "coarse digests": Variant("piggyback", _COARSE),
    "coarse digests, filters of 4 places": Variant("piggyback", {**_COARSE, "piggyback": 4}),
    "coarse digests, filters of 16 places": Variant("piggyback", {**_COARSE, "piggyback": 16}),
    "coarse digests, filters of 64 places": Variant("piggyback", {**_COARSE, "piggyback": 64}),
    "eight subscriptions, one position": Variant("positions", {}, each=8),
    "eight subscriptions, four positions": Variant("positions", {"positions": 4}, each=8),
}


def measure_variant(name: str, nodes: int, seed: int, events: int) -> Found:
    """One variant: what events cost, what tables hold, and what beats carry."""
    variant = VARIANTS[name]
    network = Network("topics", nodes, seed, variant.options, events=events, each=variant.each)
    network.run(_IDLE_MS)
    network.heard.clear()
    found: Found = {
        "variant": name,
        "kind": variant.kind,
        "nodes": nodes,
        "entries": fmean(network.facts("entries")),
        "splits": fmean(network.facts("depth")),
        "places": fmean(network.facts("places")),
    }
    published = network.world.events
    if variant.addressed:
        published = _address(network, published)
    found["events"] = publish(network, published, network.publishers)
    found["filters_per_beat"] = network.heard["filters"] / max(network.heard["beats"], 1)
    return found


def _address(network: Network, events: tuple[Event, ...]) -> tuple[Event, ...]:
    """Names one of those who want it as the only receiver of each event; what nobody wants is left as it is."""
    addressed = []
    for number, event in enumerate(events):
        wanting = sorted(network.wanting(event))
        named = {RECEIVER: wanting[number % len(wanting)]} if wanting else {}
        addressed.append(Event({**event.attributes, **named}, id=event.id))
    return tuple(addressed)
