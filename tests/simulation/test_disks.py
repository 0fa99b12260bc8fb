"""Disks of simulated nodes, and clients of durable subscriptions."""

import numpy as np
import pytest

from siftcast.model import Event
from siftcast.overlays.contract import PersistAll, Persisted, PersistFailed, Protocol, PublishRequested, Started
from siftcast.overlays.durability.contract import Offer, OfferRefused, OffersAcknowledged, SubscriberAttached
from siftcast.runtimes.sim import DurableClient, Faults, Simulation


class Writer(Protocol):
    """Writes two records for each event and offers the event; writes down what it meets."""

    def __init__(self, log):
        self.log = log

    def handle(self, stimulus, now):
        self.log.append(stimulus)
        match stimulus:
            case PublishRequested(event):
                changes = [(f"{event.id}-{half}", b"x") for half in "ab"]
                return [Offer("s", 1, event), PersistAll(event.id, changes)]
        return ()


def simulate(**faults):
    log: list = []
    return Simulation([0], lambda node: Writer(log), seed=4, faults=Faults(disk_ms=10, **faults)), log


def test_a_write_survives_a_power_cut_as_a_whole_or_not_at_all():
    kept = []
    for chance in (0.0, 0.5, 1.0):
        sim, log = simulate(write_survives=chance)
        for number in range(40):
            sim.publish(0, Event({}, id=f"e{number}"), at_ms=100.0 * number)
            sim.crash(0, at_ms=100.0 * number + 5)
            sim.restart(0, at_ms=100.0 * number + 6)
        sim.run()
        disk = [item for item in log if isinstance(item, Started)][-1].restored
        halves = [{key[:-2] for key in disk if key.endswith(half)} for half in ("-a", "-b")]
        assert halves[0] == halves[1]
        assert not [item for item in log if isinstance(item, Persisted)]
        kept.append(len(halves[0]))
    assert kept[0] == 0 < kept[1] < kept[2] == 40


def test_a_full_disk_says_so_and_keeps_nothing_until_there_is_room():
    sim, log = simulate()
    sim.fill_disk(0, at_ms=1)
    sim.publish(0, Event({}, id="e"), at_ms=2)
    sim.free_disk(0, at_ms=20)
    sim.publish(0, Event({}, id="f"), at_ms=21)
    sim.crash(0, at_ms=50)
    sim.restart(0, at_ms=51)
    sim.run()
    assert [item for item in log if isinstance(item, PersistFailed)] == [PersistFailed("e", "the disk is full")]
    assert set(log[-1].restored) == {"f-a", "f-b"}


def test_a_damaged_disk_lacks_a_share_and_is_known_to():
    sim, log = simulate()
    for number in range(50):
        sim.publish(0, Event({}, id=f"e{number}"), at_ms=number)
    sim.crash(0, at_ms=100)
    sim.restart(0, at_ms=101, damage=0.3)
    sim.run()
    assert log[-1].damaged
    assert 40 < len(log[-1].restored) < 100


def test_a_client_attaches_whenever_its_node_starts_and_answers_each_offer():
    sim, log = simulate()
    sim.serve(0, DurableClient("s", window=3, answer_ms=2.0, reconnect_ms=4.0))
    sim.publish(0, Event({}, id="e"), at_ms=10)
    sim.crash(0, at_ms=30)
    sim.publish(0, Event({}, id="missed"), at_ms=32)
    sim.restart(0, at_ms=40)
    sim.publish(0, Event({}, id="f"), at_ms=50)
    sim.crash(0, at_ms=51)
    sim.restart(0, at_ms=60)
    sim.run()
    assert log.count(SubscriberAttached("s", 3)) == 3
    assert log.count(OffersAcknowledged("s", (1,))) == 1


def test_a_client_may_refuse_a_share_of_its_offers():
    client = DurableClient("s", refuse=0.5, random=np.random.default_rng(1))
    answers = [type(client.answer(Offer("s", 1, Event({})))[1]) for _ in range(100)]
    assert 25 < answers.count(OfferRefused) < 75
    with pytest.raises(ValueError, match="generator"):
        DurableClient("s", refuse=0.5)


@pytest.mark.parametrize("chance", [-0.1, 1.1, float("nan")])
def test_a_chance_lies_between_0_and_1(chance):
    with pytest.raises(ValueError, match="chance"):
        Faults(write_survives=chance)
