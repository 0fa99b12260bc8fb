"""Published maps and a matrix of measured delays, beside the grounds that are drawn.

    BRITE          1,500 routers, two levels, as the BRITE tool wrote it
    AS 1221 …      three providers as Rocketfuel found them: the largest piece of each
    TataNld …      three of the largest graphs of the Internet Topology Zoo
    PlanetLab      490 hosts; delays only, no routers and so no routes

The files are not part of the project. `SIFTCAST_SHARED` names the folder that has them; where it is not set, these rows
are left out, and the page says so. Which maps are read was fixed before any was measured.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from siftcast.experiments.underlay.world import LAST_MILE, Matrix, World
from siftcast.underlay import Network, read_brite, read_latency_matrix, read_rocketfuel, read_topology_zoo

VARIABLE = "SIFTCAST_SHARED"
PROVIDERS = ("AS 1221", "AS 1239", "AS 1755")
GRAPHS = ("TataNld", "Uninett2010", "VtlWavenet2011")
MAPS = ("BRITE", *PROVIDERS, *GRAPHS)
MATRIX = "PlanetLab"


def data_folder() -> Path | None:
    """Where the published files are, if anywhere."""
    named = os.environ.get(VARIABLE)
    found = Path(named) / "data" if named else None
    return found if found is not None and found.is_dir() else None


def read_map(name: str, folder: Path) -> Network:
    """One of the maps, connected."""
    topologies = folder / "topologies"
    if name == "BRITE":
        network = read_brite(topologies / "brite-topdown.brite.gz")
    elif name in PROVIDERS:
        network = read_rocketfuel(topologies / "rocketfuel" / f"{name.removeprefix('AS ')}.latencies.intra")
    else:
        network = read_topology_zoo(topologies / "topohub-topozoo.tar.gz", name)
    return network.largest_component()


def open_ground(ground: str, peers: int, seed: int, *, routers: int = 0) -> World | Matrix:
    """A drawn ground, or a published one: peers on routers of their own as far as there are any."""
    if ground not in (*MAPS, MATRIX):
        return World.draw(ground, peers, seed, routers=routers)
    folder = data_folder()
    assert folder is not None, f"{ground} needs {VARIABLE}"
    rng = np.random.default_rng([seed, peers, 12])
    if ground == MATRIX:
        measured = read_latency_matrix(folder / "latency" / "planetlab-490-rtt-slice1.txt.gz")
        chosen = np.sort(rng.permutation(measured.servers)[:peers])
        return Matrix(measured.latencies_ms[np.ix_(chosen, chosen)])
    network = read_map(ground, folder)
    places = rng.permutation(network.routers)[:peers]
    last_miles_ms = rng.uniform(*LAST_MILE, len(places)) * network.latencies_ms.mean()
    return World(network, places.tolist(), last_miles_ms)
