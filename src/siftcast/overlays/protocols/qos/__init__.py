"""The QoS overlay: peers that want events within a time, below parents that want at least what they do (thesis, ch. 2).

messages.py     what peers say
options.py      what a node can be told
order.py        the one order of all peers: who may be whose parent
claims.py       whether a bound is kept, and what is claimed for it
delays.py       how far away other nodes are
budget.py       bandwidth: what a place may receive
rates.py        bytes per second in parts of the content space
regions.py      parts of the content space as peers declare them
children.py     whom a peer passes on to, and who has to go when there are too many
parent_link.py  what a peer knows of a parent
choosing.py     whom it asks
parents.py      whom it gets events from: each point from one peer, or from all its publishers
place.py        what all places of a node do, and the one that publishes
peer.py         a place that subscribes, for one class of bounds
news.py         what a node has heard of publishers and peers
node.py         the node
"""

from siftcast.overlays.protocols.qos.messages import PeerId
from siftcast.overlays.protocols.qos.node import Qos
from siftcast.overlays.protocols.qos.options import QosSettings

__all__ = ["PeerId", "Qos", "QosSettings"]
