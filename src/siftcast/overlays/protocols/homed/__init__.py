"""HOMED: a peer overlay in which nodes of similar interests are near each other (paper 004).

cube.py           vertices, identifiers, and how two places divide what one of them covered
cover_table.py    the splits on the path of a place, contacts and summaries beyond each
home.py           a place of a node: joining, dividing, beats, ending
holders.py        who has a place as a contact, and when those are too many
spreading.py      how all who must know hear that more is wanted, before it counts
interests.py      subscriptions as digests, dealt out to a node's positions
acquaintances.py  who else is known, so that networks that came apart meet again
node.py           the protocol: all of it joined, and events
messages.py       what nodes say to each other
options.py        what can be chosen
post.py           what is sent and watched in one turn

The printed algorithms find each of d neighbours on their own and lose some; they are in the study of the paper. Here a
place remembers the splits by which its cover came about, one subtree beyond each: the tables are complete by
construction, whoever comes and goes.
"""

from siftcast.overlays.protocols.homed.messages import CONTROL_MESSAGES, Cast
from siftcast.overlays.protocols.homed.node import Homed
from siftcast.overlays.protocols.homed.options import HomedSettings

__all__ = ["CONTROL_MESSAGES", "Cast", "Homed", "HomedSettings"]
