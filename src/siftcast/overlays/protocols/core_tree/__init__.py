"""Core-based trees (section 4.5 of the third seed): events go by a few well-placed peers, and trees follow the ground.

near.py       the neighbours of a peer and their delays
weights.py    what links weigh: delay, and how unlike two neighbours' interests are
way.py        the way to one target, without circles at any time
spanning.py   the leader, and the tree that leads to it
votes.py      core selection
relays.py     the ways to the cores (Algorithm 8)
beats.py      what neighbours tell each other
branch.py     links on one tree, and what is wanted over each
trees.py      the tree of a cell and that of the cores, joined
passing.py    events
messages.py   what peers say to each other
options.py    what can be chosen
node.py       all of it: a peer
"""

from siftcast.overlays.protocols.core_tree.node import CoreTree
from siftcast.overlays.protocols.core_tree.options import CoreTreeSettings

__all__ = ["CoreTree", "CoreTreeSettings"]
