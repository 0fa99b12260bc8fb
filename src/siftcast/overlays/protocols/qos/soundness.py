"""Whether what another node says can be so: a message that cannot is ignored, and stops nobody.

Nodes compute with what others say of themselves: how late, how deep, how much room. Numbers that are negative, not
numbers, or larger than any network is would spread, or could not be said again.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from siftcast.overlays.contract import Message
from siftcast.overlays.protocols.qos.messages import Advert, Connect, Forward, Hint, News, Profile, Rank, Status
from siftcast.space.dz import DzSet

_LEVELS_MAX = 100_000
_BEAT_MAX = 1 << 62


def is_sound(message: Message, length: int) -> bool:
    """Whether a message can be so, in a space in which the expressions of events have so many places."""
    match message:
        case Forward(point=point, elapsed_ms=elapsed_ms):
            return 0.0 <= elapsed_ms < inf and _is_cell(point, length)
        case Connect(child=child):
            return _is_profile(child)
        case Status():
            is_place = message.reach_ms >= 0.0 and 0 <= message.depth <= _LEVELS_MAX
            return is_place and _is_rank(message.last) and _are_profiles(message.profile)
        case Hint():
            return _is_rank(message.last) and _are_profiles((*message.profile, *message.others))
        case News():
            return (
                _are_profiles(message.profiles)
                and all(_is_advert(each) for each in message.adverts)
                and all(cell >= 0 and 0.0 <= rate < inf for cell, rate in message.rates)
            )
        case _:
            return True


def _is_cell(point: DzSet, length: int) -> bool:
    return len(point) == 1 and point.items[0].length == length and not point.items[0].stars


def _are_profiles(profiles: Iterable[Profile]) -> bool:
    return all(_is_profile(each) for each in profiles)


def _is_profile(profile: Profile) -> bool:
    levels = profile.depth, profile.room_below
    amounts = profile.own, profile.bound_ms, profile.reach_ms, profile.spare
    return (
        all(0 <= each <= _LEVELS_MAX for each in levels)
        and all(each >= 0.0 for each in amounts)
        and profile.claim_ms == profile.claim_ms
        and _is_rank(profile.last)
    )


def _is_advert(advert: Advert) -> bool:
    return 0 <= advert.beat < _BEAT_MAX and _is_rank(advert.last)


def _is_rank(rank: Rank | None) -> bool:
    return rank is None or all(each == each for each in rank)  # not a number is nobody's place
