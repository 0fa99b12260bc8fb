"""The one order of all peers: whoever comes first may be the parent, and keeps its place where there are too few.

    wide before narrow, then the tighter bound before the looser one, then by number

Every peer, and every publisher, compares by this order and by what a peer says of itself. So several publishers keep
the same children, and nobody waits for somebody who waits for it: with preferences of their own, peers were seen to
hold a part of their publishers each, for good. And as a parent comes before its child, links cannot form a circle once
both know each other's last word.

Rejected: bounds first, claimed only by those that miss theirs. Each that goes up moves others down, who miss theirs
then: of 90 peers that all could not be served, every one claimed in the end, and none kept its place.
"""

from __future__ import annotations

from fractions import Fraction

from siftcast.overlays.protocols.qos.messages import PeerId, Profile
from siftcast.space.dz import DzSet

Rank = tuple[Fraction, float, PeerId]


def rank(profile: Profile) -> Rank:
    """Where a peer stands; the first is the lowest."""
    return -profile.wanted.volume, profile.bound_ms, profile.peer


def nearness(peer: PeerId, other: Profile) -> tuple[bool, float]:
    """By which a peer chooses among others that are alike to it: with room the one that is served soonest.

    Those without room will name their children, so any will do; a different one for each peer, lest one branch of the
    tree take all.
    """
    return (False, other.reach_ms) if other.room else (True, float(hash((peer, other.peer)) % 1_000_003))


def rank_with(profile: Profile, more: DzSet) -> Rank:
    """Where it would stand if it wanted more."""
    return -profile.wanted.volume_with(more), profile.bound_ms, profile.peer
