"""Who guards a node: a former guardian finds out that it is one, and says so to no coordinator."""

from siftcast.model import Filter
from siftcast.overlays.contract import EpochUsed, MessageReceived, PeerFound, SendMessage
from siftcast.overlays.epochs.epochs import Epochs
from siftcast.overlays.epochs.guarding import GuardianChosen
from siftcast.overlays.epochs.messages import Guard, Guarded, Unguarded

WARD, FORMER, CURRENT = 1, 2, 3
ROW = ("s", Filter.parse("TRUE"), WARD)


def node(identity):
    return Epochs(identity, None, (), guarded=True)


def hear(epochs, sender, message):
    return [
        effect for effect in epochs.handle(MessageReceived(sender, message), 0.0) if isinstance(effect, SendMessage)
    ]


def test_a_node_tells_a_former_guardian_once_another_has_everything():
    ward = node(WARD)
    ward.handle(GuardianChosen(CURRENT), 0.0)
    serial = ward.guardian.serial
    assert hear(ward, FORMER, Guarded(serial)) == [], "the other one does not have it yet"
    assert hear(ward, CURRENT, Guarded(serial)) == []
    assert hear(ward, FORMER, Guarded(1)) == [SendMessage(Unguarded(), (FORMER,))]
    ward.handle(GuardianChosen(None), 0.0)
    assert hear(ward, FORMER, Guarded(1)) == [], "better a former one than none"


def test_a_former_guardian_asks_and_then_claims_nothing_until_it_is_chosen_again():
    former = node(FORMER)
    hear(former, WARD, Guard(7, (ROW,), anew=True))
    said = SendMessage(Guarded(7), (WARD,))
    assert former.handle(EpochUsed(2), 0.0) == [said]
    assert former.handle(PeerFound(WARD), 0.0) == [said]
    assert former.handle(PeerFound(CURRENT), 0.0) == []
    assert former.guards == ((WARD, 7),)
    hear(former, WARD, Unguarded())
    assert former.guards == ()
    assert former.handle(EpochUsed(3), 0.0) == []
    hear(former, WARD, Guard(9, (ROW,), anew=True))
    assert former.guards == ((WARD, 9),)
