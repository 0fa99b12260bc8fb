"""The QoS overlay: peers that want events within a time, below parents that want at least what they do (thesis, ch. 2).

messages.py   what peers say
options.py    what a node can be told
order.py      the one order of all peers: who may be whose parent
bounds.py     whether a bound is kept
regions.py    parts of the content space as peers declare them
children.py   whom a peer passes on to, and who has to go when there are too many
parents.py    whom it gets events from: each point from one peer, or from all its publishers
peer.py       the places of a node: one that publishes, one that subscribes for each class of bounds
news.py       what a node has heard of publishers and peers
recent.py     the events of the last seconds
node.py       the node
"""

from siftcast.overlays.protocols.qos.messages import PeerId
from siftcast.overlays.protocols.qos.node import Qos
from siftcast.overlays.protocols.qos.options import QosSettings

__all__ = ["PeerId", "Qos", "QosSettings"]
