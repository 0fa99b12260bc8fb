"""The underlay: physical networks, the servers on them, and the routes their messages take.

    network.py          routers and links; `attach` puts servers on them
    underlay.py         servers, latencies, arcs, routes, IP multicast
    hops.py             what a route looks like to those who must infer it
    unreachable.py      pairs of servers between which nothing gets through
    measured.py         the same from a matrix of measured latencies
    transit_stub.py     generators: a frozen set of parameters with `build(rng)`
    waxman.py
    hierarchy.py
    balanced_tree.py
    brite.py            readers: a file, plain or gzipped, becomes a network (or, from latencies, an underlay)
    rocketfuel.py
    topology_zoo.py
    latency_matrix.py
    ground_file.py      a network that was measured: hosts, delays, routes; read and written
    ground_underlay.py  the same as an underlay, its gaps filled
    catalogue.py        generators and formats by name, as scenarios choose them

An overlay's message from server to server crosses the arcs of a route, so that stress and resource usage are counted
exactly. Nothing here knows what is sent.
"""

from siftcast.underlay.balanced_tree import BalancedTree
from siftcast.underlay.brite import read_brite
from siftcast.underlay.ground_file import GroundFile, GroundHost, GroundRoute, read_ground, write_ground
from siftcast.underlay.ground_underlay import read_ground_underlay
from siftcast.underlay.hierarchy import Hierarchy
from siftcast.underlay.hops import Hops
from siftcast.underlay.latency_matrix import read_latency_matrix
from siftcast.underlay.measured import MeasuredUnderlay
from siftcast.underlay.network import Network
from siftcast.underlay.rocketfuel import read_rocketfuel
from siftcast.underlay.topology_zoo import list_topology_zoo, read_topology_zoo
from siftcast.underlay.transit_stub import TransitStub
from siftcast.underlay.underlay import Arcs, Underlay
from siftcast.underlay.unreachable import Unreachable
from siftcast.underlay.waxman import Waxman

__all__ = [
    "Arcs",
    "BalancedTree",
    "GroundFile",
    "GroundHost",
    "GroundRoute",
    "Hierarchy",
    "Hops",
    "MeasuredUnderlay",
    "Network",
    "TransitStub",
    "Underlay",
    "Unreachable",
    "Waxman",
    "list_topology_zoo",
    "read_brite",
    "read_ground",
    "read_ground_underlay",
    "read_latency_matrix",
    "read_rocketfuel",
    "read_topology_zoo",
    "write_ground",
]
