"""A trace that counts messages instead of recording each."""

import pytest

from siftcast.model import DataError
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Faults, Simulation
from siftcast.runtimes.sim.checkers import exactly_once, node_stress
from tests.simulation.test_simulation import Note, Scripted, event, send_notes

FAULTS = Faults(loss=0.2, detect_ms=20)


def run(trace, faults=FAULTS, count=200):
    log: list = []
    sim = Simulation(range(2), lambda node: Scripted(node, send_notes(count), log), faults=faults, trace=trace, seed=4)
    sim.publish(0, event(1))
    sim.publish(0, event(2), at_ms=50)
    sim.crash(1, at_ms=50.5)
    sim.run()
    return sim.trace, log


def test_counts_are_those_of_the_records_and_nothing_else_changes():
    whole, whole_log = run(Trace())
    counted, log = run(Trace(messages=False))
    assert log == whole_log
    rows = whole.record_table().to_pylist()
    kinds = ("sent", "received", "lost", "dropped")
    assert counted.counts == {(kind, Note.__name__): sum(row["kind"] == kind for row in rows) for kind in kinds}
    assert counted.counts["dropped", "Note"] > 100
    assert counted.record_table().to_pylist() == [row for row in rows if row["kind"] not in kinds]


def test_calm_networks_count_alike():
    counted, _ = run(Trace(messages=False), Faults(detect_ms=20), 7)
    assert counted.counts == {("sent", "Note"): 14, ("received", "Note"): 7, ("dropped", "Note"): 7}


def test_checkers_of_messages_refuse_such_a_trace_and_others_do_not(tmp_path):
    counted, _ = run(Trace(messages=False))
    counted.save(tmp_path)
    for trace in (counted, Trace.load(tmp_path)):
        assert trace.counts == counted.counts
        assert exactly_once(trace, settle_ms=5).events == 2
        with pytest.raises(DataError, match="counted, not recorded"):
            node_stress(trace, 2)
