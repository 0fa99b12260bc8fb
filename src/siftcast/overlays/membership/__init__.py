"""Peer sampling: who else is there, in small views that no size of the network makes larger. Parts, not protocols.

partial_view.py     neighbours that stay connected (HyParView); what they say is in view_messages.py
neighbour_requests.py  who was asked to be a neighbour, and has not answered
spare_names.py      names to replace a neighbour with
random_view.py      a random sample that keeps changing (Cyclon)
detector.py         who is silent, and whose fault that is (SWIM with Lifeguard); its messages in detector_messages.py
errands.py          probes for others
suspicion.py        how long a silent peer is given
health.py           how far a node trusts itself
membership.py       all of it as one part

A part is a state machine without I/O, as a protocol is, but it does not stand by itself: it has messages, timers under
a prefix of its own and `handle…` methods that return effects, and a host hands in what concerns it. What it found out
is in its `news`, which the host takes out after each call. A protocol takes a part by owning one; none inherits.

Rejected: parts that call their host back, which would see it in the middle of a change; one class for all of it, as a
protocol that wants a random sample must not pay for neighbours.
"""

from siftcast.overlays.membership.detector import DetectorOptions, FailureDetector, Finding
from siftcast.overlays.membership.health import Health
from siftcast.overlays.membership.membership import Member, Membership, MembershipOptions
from siftcast.overlays.membership.partial_view import Neighbouring, PartialView, PartialViewOptions
from siftcast.overlays.membership.random_view import RandomView, RandomViewOptions
from siftcast.overlays.membership.suspicion import Suspicion

__all__ = [
    "DetectorOptions",
    "FailureDetector",
    "Finding",
    "Health",
    "Member",
    "Membership",
    "MembershipOptions",
    "Neighbouring",
    "PartialView",
    "PartialViewOptions",
    "RandomView",
    "RandomViewOptions",
    "Suspicion",
]
