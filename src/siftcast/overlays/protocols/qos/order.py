"""The one order of all peers: whoever comes first may be the parent, and keeps its place where there are too few.

    those with a claim, the smallest first: a claim is what a bound leaves over beside the direct delay (`claims.py`)
    those who pass on as much as they are asked to, then those whose bandwidth is limited
    wide own wishes before narrow ones, then the tighter bound before the looser one, then by number

Every peer, and every publisher, compares by this order and by what a peer says of itself. It is made of what a peer
wants for its own subscribers, not of what it takes on for others, so nobody moves in it because others do. Hence the
overlay settles from its first peer to its last: the place of a peer can be taken only by one that comes before it, and
how late its events come changes only when one above it moves, which comes before it as well. So once the first k peers
stay where they are, the next one does. Several publishers keep the same children, nobody waits for somebody who waits
for it, and links cannot form a circle once both ends know each other's last word. The order itself changes with
subscriptions and with claims, and of these a peer makes fewer and fewer.

Rejected: an order by all that a peer wants. Whoever adopted a child moved up, and pushed others out who adopted in
turn; 80 peers with four children each, half of them with bounds, did not settle within a minute.
"""

from __future__ import annotations

from siftcast.overlays.protocols.qos.messages import PeerId, Profile, Rank


def rank(profile: Profile) -> Rank:
    """Where a peer stands; the first is the lowest."""
    return profile.claim_ms, not profile.is_open, -profile.own, profile.bound_ms, profile.peer


def has_place(last: Rank | None, of: Rank) -> bool:
    """Whether a peer with such a last child would take one of a rank."""
    return last is None or of < last


def landing(profile: Profile, of: Rank) -> int:
    """Through how many others a peer would get its events if it asked this one, as far as that is known."""
    return profile.depth + (0 if has_place(profile.last, of) else profile.room_below)


def scatter(peer: PeerId, other: PeerId) -> int:
    """By which a peer chooses among others that are alike to it: another one for each, lest one branch take all."""
    return hash((peer, other)) % 1_000_003
