"""Plans of live networks: made by every node alike, from what an epoch says."""

from siftcast.model import Filter
from siftcast.overlays.contract import MessageReceived
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.durability.routing_memory import RoutingMemory
from siftcast.overlays.envelopes import EpochControl
from siftcast.overlays.epochs.messages import Guard
from siftcast.overlays.epochs.view import Epoch
from siftcast.overlays.messages import Announce, Publication, Retract
from siftcast.runtimes.live.node.planning import PlanSettings, survey_of
from siftcast.schemes import scheme

LINKS = [(11, 12), (12, 13)]


def tree_of(nodes, links):
    epoch = Epoch(2, nodes, ("",) * len(nodes), (), PlanSettings({}, links).encode())
    ground, _ = survey_of(scheme("filter-based"), None)(epoch)
    return ground.tree


def test_links_hold_as_far_as_both_ends_are_there_and_others_are_leaves():
    tree = tree_of((11, 12, 13, 14), LINKS)
    assert sorted(tree.edges) == [(0, 1), (0, 3), (1, 2)]  # 14 has joined
    assert sorted(tree_of((11, 13), LINKS).edges) == [(0, 1)]  # 12 is away
    assert tree_of((11, 12), []) is None


def test_settings_of_an_epoch_do_not_depend_on_the_order_of_options():
    first, second = PlanSettings({"a": 1, "b": 2}), PlanSettings({"b": 2, "a": 1})
    assert first.encode() == second.encode()
    assert PlanSettings.decode(first.encode()) == first
    assert PlanSettings.decode(b"") == PlanSettings()


def test_rows_of_an_epoch_are_restored_in_its_envelope_and_forgotten_with_it():
    ledger = Ledger()
    kinds = (Announce, Retract, Publication, EpochControl, Guard)
    memory = RoutingMemory(ledger, 1, kinds)
    row = ("s", Filter.parse("TRUE"), 2)
    memory.note(2, Announce((row,)))
    memory.note(2, EpochControl(3, Announce((row, ("t", Filter.parse("a = 1"), 2)))))
    memory.note(2, Guard(9, (row,), anew=True))
    (written,) = (effect.changes for effect in ledger.flush())
    kept = {key: data for key, data in written if data is not None}
    again = RoutingMemory(Ledger(), 1, kinds)
    restored = list(again.restore(kept))
    assert MessageReceived(2, Announce((row,), anew=True)) in restored
    assert MessageReceived(2, Guard(9, (row,), anew=True)) in restored
    assert [each.message.epoch for each in restored if isinstance(each.message, EpochControl)] == [3]
    again.forget_epoch(1)
    assert len(again) == 4
    again.forget_epoch(3)
    assert len(again) == 2  # what a guardian knows belongs to no epoch
    again.forget_sender(2)
    assert len(again) == 0
