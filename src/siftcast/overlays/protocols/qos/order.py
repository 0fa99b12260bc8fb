"""The one order of all peers: whoever comes first may be the parent, and keeps its place where there are too few.

    wide before narrow, then the tighter claim before the looser one, then by number

Every peer, and every publisher, compares by this order and by what a peer says of itself. So several publishers keep
the same children, and nobody waits for somebody who waits for it: with preferences of their own, peers were seen to
hold a part of their publishers each, for good. And as a parent comes before its child, links cannot form a circle once
both know each other's last word.

A *claim* is the delay that a peer presents, which need not be the bound it was given (see `bounds.py`).
"""

from __future__ import annotations

from fractions import Fraction

from siftcast.overlays.protocols.qos.messages import PeerId, Profile
from siftcast.space.dz import DzSet

Rank = tuple[Fraction, float, PeerId]


def rank(profile: Profile) -> Rank:
    """Where a peer stands; the first is the lowest."""
    return -profile.wanted.volume, profile.claim_ms, profile.peer


def rank_with(profile: Profile, more: DzSet) -> Rank:
    """Where it would stand if it wanted more."""
    return -profile.wanted.volume_with(more), profile.claim_ms, profile.peer
