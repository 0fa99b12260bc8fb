"""The underlay that a scenario names: drawn or read, then with the impairments that the scenario asks for.

Each impairment draws from a stream of its own, so that neither changes the network or the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from siftcast.runtimes.sim.scenario import UnderlaySpec
from siftcast.underlay import MeasuredUnderlay, Underlay
from siftcast.underlay.catalogue import draw_network, read_topology

Floats = npt.NDArray[np.float64]


def build_underlay(spec: UnderlaySpec, folder: Path, seed: int) -> Underlay:
    """The servers and what lies between them; a file is looked for in `folder`, so that a scenario runs from anywhere.

    Who was measured are the servers, all of them or the first so many.
    """
    underlay = _servers(spec, folder, np.random.default_rng(seed))
    if spec.asymmetry:
        underlay = underlay.with_asymmetry(spec.asymmetry, np.random.default_rng((seed, 1)))
    if spec.unreachable:
        underlay = underlay.with_unreachable(spec.unreachable, np.random.default_rng((seed, 2)))
    return underlay


def planned_ms(underlay: Underlay) -> Floats:
    """The latencies that a plan is made from: it avoids pairs that cannot reach each other."""
    unreachable = underlay.unreachable
    return underlay.latencies_ms if unreachable is None else unreachable.avoided(underlay.latencies_ms)


def reachable_contacts(underlay: Underlay, contacts: Mapping[int, Iterable[int]]) -> dict[int, tuple[int, ...]]:
    """Contacts of all servers, with others beside those that cannot be reached: a way to each of them.

    Whoever names contacts to a peer that cannot reach them has to name it others. Each server on the way has the next
    one for a contact, so that who was to hang together by contacts still does.
    """
    named = {server: dict.fromkeys(others) for server, others in contacts.items()}
    if underlay.unreachable is not None:
        for server, others in contacts.items():
            for other in others:
                for one, next_one in pairwise(underlay.unreachable.way(server, other)):
                    named[one][next_one] = None
    return {server: tuple(others) for server, others in named.items()}


def _servers(spec: UnderlaySpec, folder: Path, rng: np.random.Generator) -> Underlay:
    if spec.generator is not None:
        network = draw_network(spec.generator, spec.options, rng)
    else:
        found = read_topology(folder / str(spec.file), str(spec.format), spec.name, spec.options)
        if isinstance(found, MeasuredUnderlay):
            return found if spec.servers is None else found.first(spec.servers)
        network = found.largest_component()
    if spec.servers is None:
        return network.routers_as_servers()
    return network.attach(spec.servers, rng, spec.access_ms)
