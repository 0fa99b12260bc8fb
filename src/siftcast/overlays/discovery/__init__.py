"""The topology discovery overlay: neighbours by where peers are in the physical network (thesis, section 4.4). A part.

discovery.py   all of it as one part, with the face of `membership.Membership`
neighbourhood.py  the parts below, joined
entering.py    how a peer comes in, and back
placing.py     where a newcomer belongs: cases 1 to 3
walking.py     random walks, by which a peer finds targets
aiming.py      what becomes of a walk: targets, and the distant neighbour
forest.py      landmarks instead of walks: census.py, who they are; landmarks.py, the trees below them
agreeing.py    how two peers become neighbours
links.py       the links of one peer
routes.py      who is before whom, by routes; triangle.py by delays
questions.py   what was asked to be measured, and what for
whereabouts.py a peer's coordinate and last mile
messages.py, options.py

Parts are as in `overlays.membership`: state machines without I/O, which a host owns and hands stimuli.
"""

from siftcast.overlays.discovery.discovery import Discovery
from siftcast.overlays.discovery.options import DiscoveryOptions

__all__ = ["Discovery", "DiscoveryOptions"]
