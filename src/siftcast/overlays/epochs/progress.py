"""How far a node is with a view, as it tells the coordinator.

What keeps an older epoch open is what waits in it on disks: relays, events that are parked, and messages that a scheme
has deferred. Open searches of a ring are not counted. Whatever a durable event still has to become is one of the three,
at the publisher's node or where that was answered; a search that is open there as well only makes it ask twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from siftcast.overlays.contract import NodeId
from siftcast.overlays.durability import Durable
from siftcast.overlays.envelopes import FIRST, EpochControl, opened
from siftcast.overlays.epochs.epochs import Epochs
from siftcast.overlays.epochs.messages import EPOCH_MESSAGES, Progress
from siftcast.overlays.epochs.view import Holdings, View

_OF_NO_EPOCH = frozenset(kind for kind in EPOCH_MESSAGES if "epoch" not in kind.__struct_fields__)


def progress_of(
    epochs: Epochs,
    durable: Durable | None,
    view: View | None,
    *,
    number: int,
    life: int,
    missing: Callable[[int], int],
    ended: Collection[NodeId],
    wards: Mapping[NodeId, Holdings],
) -> Progress:
    """What a node answers in a round; `missing` counts those it cannot reach in an epoch."""
    settling = draining = 0
    if view is not None:
        newest = view.newest.number
        settling = missing(newest)
        for peer, message in () if durable is None else durable.waiting():
            epoch = opened(message)[0] or FIRST
            if isinstance(message, EpochControl):
                settling += message.initial and epoch == newest
            elif not message.control and type(message) not in _OF_NO_EPOCH and peer not in ended:
                draining += epoch < view.used
        draining += durable is not None and durable.is_parking
    guardian = epochs.guardian
    return Progress(
        number,
        0 if view is None else view.version,
        life,
        epochs.activity,
        settling,
        draining,
        epochs.initial_sent,
        epochs.initial_taken,
        epochs.guards,
        (0, True) if guardian is None else (guardian.serial, not guardian.is_behind),
        holdings_of(durable),
        is_empty(durable),
        () if durable is None else durable.heirs,
        tuple(wards.items()),
    )


def holdings_of(durable: Durable | None) -> Holdings:
    """What a node holds that no other may have."""
    if durable is None:
        return Holdings()
    unanswered = durable.queues.unanswered
    return Holdings(len(unanswered), sum(unanswered.values()), durable.relays_waiting)


def is_empty(durable: Durable | None) -> bool:
    """Whether a node holds nothing for anybody."""
    if durable is None:
        return True
    return not len(durable.queues) and not any(not message.control for _, message in durable.waiting())
