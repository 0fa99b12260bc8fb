"""The failure detector: probes, helpers, suspicion, refutation, and a node that is slow itself."""

import pytest

from siftcast.overlays.contract import CancelTimer, SendMessage, SetTimer
from siftcast.overlays.membership import DetectorOptions, FailureDetector, Finding, Suspicion
from siftcast.overlays.membership.detector_messages import Ack, Ping, ProbeAnswer, ProbeRequest

OPTIONS = DetectorOptions(probe_ms=1_000, answer_ms=300, helpers=2, suspicion_ms_min=2_000, suspicion_ms_max=10_000)
HELPERS = (7, 8)


def detector(*watched, helpers=HELPERS):
    """A detector that watches these, and has probed nobody yet."""
    made = FailureDetector(OPTIONS, lambda count, subject: helpers[:count], lambda peer: peer < 7)
    made.handle_started(0.0, 0.0)
    for peer in watched:
        ((ping, _),) = sent(made.watch(peer, 0.0))
        made.handle_message(peer, Ack(ping.number, 0), 0.0)
    made.handle_timer("detect/tick", 0.0)
    return made


def sent(effects):
    return [(effect.message, tuple(effect.destinations)) for effect in effects if isinstance(effect, SendMessage)]


def timers(effects):
    return {effect.name: effect.after_ms for effect in effects if isinstance(effect, SetTimer)}


def suspect(made, peer=1, missed_by=()):
    """Lets a peer be silent until it is suspected; returns when, and the last effects."""
    ((ping, _),) = sent(made.handle_timer("detect/tick", 1_000.0))
    made.handle_timer("detect/probe", 1_300.0)
    for helper in missed_by:
        made.handle_message(helper, ProbeAnswer(ping.number, peer, None), 1_800.0)
    effects = made.handle_timer("detect/probe", 1_900.0)
    assert made.news.pop() == Finding("suspected", peer)
    return ping, effects


def test_the_one_that_was_silent_longest_is_probed_and_nobody_that_was_heard():
    made = detector(1, 2, 3)
    made.hear(1, 500.0)
    made.hear(3, 300.0)
    ((ping, to),) = sent(made.handle_timer("detect/tick", 1_000.0))
    assert to == (2,)
    assert ping.accused == -1
    for peer in (1, 2, 3):
        made.hear(peer, 1_900.0)
    made.handle_timer("detect/probe", 1_900.0)
    assert sent(made.handle_timer("detect/tick", 2_000.0)) == []


def test_who_is_newly_watched_is_pinged_until_it_agrees():
    made = detector()
    ((_, to),) = sent(made.watch(1, 0.0))
    assert to == (1,)
    assert not made.is_settled
    made.hear(1, 900.0)
    ((again, _),) = sent(made.handle_timer("detect/tick", 1_000.0))
    made.handle_message(1, Ack(again.number, 0), 1_030.0)
    assert made.is_settled
    assert made.delay_ms(1) == 15.0
    assert made.watch(1, 1_100.0) == []


def test_an_answer_says_whether_both_take_each_other_for_neighbours():
    made = detector(1)
    assert sent(made.handle_message(5, Ping(3), 0.0)) == [(Ack(3, 0, mutual=True), (5,))]
    assert sent(made.handle_message(9, Ping(3), 0.0)) == [(Ack(3, 0, mutual=False), (9,))]
    assert sent(made.handle_message(9, Ping(3, errand=True), 0.0)) == [(Ack(3, 0, mutual=True), (9,))]
    made.handle_message(1, Ack(0, 0, mutual=False), 10.0)
    assert made.news == [Finding("stranger", 1)]


def test_an_answer_says_how_far_a_peer_is():
    made = detector(1)
    ((ping, _),) = sent(made.handle_timer("detect/tick", 1_000.0))
    made.handle_message(1, Ack(ping.number, 0), 1_040.0)
    assert made.delay_ms(1) == 20.0
    assert made.handle_timer("detect/probe", 1_300.0) == []
    assert made.news == []


def test_a_silent_peer_is_probed_through_others_before_it_is_suspected():
    made = detector(1)
    ((ping, _),) = sent(made.handle_timer("detect/tick", 1_000.0))
    assert sent(made.handle_timer("detect/probe", 1_300.0)) == [(ProbeRequest(ping.number, 1), HELPERS)]
    assert made.news == []
    made.handle_message(7, ProbeAnswer(ping.number, 1, 0), 1_400.0)
    assert made.handle_timer("detect/probe", 1_900.0) == []
    assert made.state(1) == "found"


def test_a_helper_pings_and_says_what_came_of_it():
    helper = detector()
    effects = helper.handle_message(5, ProbeRequest(42, 1), 0.0)
    ((ping, to),) = sent(effects)
    assert to == (1,)
    assert ping.errand
    assert sent(helper.handle_message(1, Ack(ping.number, 3), 10.0)) == [(ProbeAnswer(42, 1, 3), (5,))]
    assert helper.handle_timer(f"detect/errand/{ping.number}", 300.0) == []
    ((ping, _),) = sent(helper.handle_message(5, ProbeRequest(43, 1), 0.0))
    assert sent(helper.handle_timer(f"detect/errand/{ping.number}", 300.0)) == [(ProbeAnswer(43, 1, None), (5,))]
    assert ProbeRequest(43, 1).introduces == (1,)


def test_a_suspect_is_lost_when_its_time_is_over_and_never_gone():
    made = detector(1)
    _, effects = suspect(made, missed_by=HELPERS)
    assert made.state(1) == "suspected"
    assert timers(effects)["detect/lost/1"] == OPTIONS.suspicion_ms_min
    made.handle_timer("detect/lost/1", 1_900.0 + OPTIONS.suspicion_ms_min)
    assert made.news == [Finding("lost", 1)]
    assert made.state(1) is None


def test_confirmations_that_come_later_shorten_the_time():
    made = detector(1)
    ping, effects = suspect(made, missed_by=(7,))
    before = timers(effects)["detect/lost/1"]
    assert before > OPTIONS.suspicion_ms_min
    after = timers(made.handle_message(8, ProbeAnswer(ping.number, 1, None), 1_950.0))["detect/lost/1"]
    assert after + 50.0 < before
    assert made.handle_message(8, ProbeAnswer(ping.number, 1, None), 1_960.0) == []


def test_a_suspect_learns_it_and_refutes_with_a_higher_incarnation():
    accused = detector()
    ((ack, to),) = sent(accused.handle_message(5, Ping(9, accused=0), 0.0))
    assert (ack, to) == (Ack(9, 1), (5,))
    assert accused.health.score == 1  # others accuse it: perhaps it is slow
    assert sent(accused.handle_message(6, Ping(10, accused=0), 0.0)) == [(Ack(10, 1), (6,))]


def test_a_suspect_is_pinged_on_also_through_others_until_its_time_is_over():
    made = detector(1)
    suspect(made)
    for time in (2_000.0, 3_000.0):
        (ping, to), (request, helpers) = sent(made.handle_timer("detect/tick", time))
        assert (ping.accused, to) == (0, (1,))
        assert request == ProbeRequest(ping.number, 1, accused=0)
        assert helpers == HELPERS


def test_an_answer_to_a_later_ping_acquits_and_a_late_one_does_not():
    made = detector(1)
    ping, effects = suspect(made)
    assert made.handle_message(1, Ack(ping.number, 0), 2_000.0) == []
    assert made.state(1) == "suspected"
    accusation = next(message for message, _ in sent(effects) if isinstance(message, Ping))
    assert accusation.accused == 0
    assert made.handle_message(1, Ack(accusation.number, 1), 2_100.0) == [CancelTimer("detect/lost/1")]
    assert made.news == [Finding("found", 1)]


def test_a_refutation_counts_also_through_a_helper():
    made = detector(1)
    ping, _ = suspect(made)
    made.handle_message(7, ProbeAnswer(ping.number, 1, 0), 2_000.0)  # as old as the accusation
    assert made.state(1) == "suspected"
    made.handle_message(7, ProbeAnswer(ping.number, 1, 1), 2_000.0)
    assert made.state(1) == "found"


def test_helpers_that_do_not_answer_either_make_a_node_doubt_itself():
    made = detector(1)
    _, effects = suspect(made)
    assert made.health.score == 2
    assert timers(effects)["detect/lost/1"] == 3 * OPTIONS.suspicion_ms_max
    honest = detector(1)
    suspect(honest, missed_by=HELPERS)
    assert honest.health.score == 0


def test_a_node_that_did_not_run_accuses_nobody_of_the_silence():
    made = detector(1, 2)
    effects = made.handle_timer("detect/tick", 60_000.0)
    assert sent(effects) == []
    assert made.health.score == 1
    ((_, _),) = sent(made.handle_timer("detect/tick", 61_000.0))
    assert made.news == []


def test_a_verdict_that_comes_late_is_put_off():
    made = detector(1)
    suspect(made, missed_by=HELPERS)
    effects = made.handle_timer("detect/lost/1", 100_000.0)
    assert timers(effects) == {"detect/lost/1": OPTIONS.probe_ms}
    assert made.news == []
    made.handle_timer("detect/lost/1", 100_000.0 + OPTIONS.probe_ms)
    assert made.news == [Finding("lost", 1)]


def test_answers_in_time_restore_the_trust_of_a_node_in_itself():
    made = detector(1)
    made.health.worsen(20)
    assert made.health.score == 8
    assert made.health.patient(10.0) == 90.0
    for number in range(1, 10):
        ((ping, _),) = sent(made.handle_timer("detect/tick", 1_000.0 * number))
        made.handle_message(1, Ack(ping.number, 0), 1_000.0 * number)
    assert made.health.score == 0


def test_who_is_no_longer_watched_is_not_judged():
    made = detector(1)
    suspect(made)
    assert made.unwatch(1) == [CancelTimer("detect/lost/1")]
    assert made.handle_timer("detect/lost/1", 50_000.0) == []
    assert made.news == []


def test_without_helpers_silence_is_suspected_at_once_and_nobody_is_waited_for():
    made = detector(1, helpers=())
    made.handle_timer("detect/tick", 1_000.0)
    effects = made.handle_timer("detect/probe", 1_300.0)
    assert made.news == [Finding("suspected", 1)]
    assert timers(effects)["detect/lost/1"] == 2 * OPTIONS.suspicion_ms_min  # twice, as it may be its own fault


def test_a_suspicion_shrinks_with_the_logarithm_of_its_confirmations():
    held = Suspicion(0, begun_ms=100.0, min_ms=10.0, max_ms=90.0, expected=3, probes_before=0)
    deadlines = [held.deadline_ms]
    for confirmer in (1, 2, 3, 4):
        assert held.confirm(confirmer, 0)
        deadlines.append(held.deadline_ms)
    assert deadlines == pytest.approx([190.0, 150.0, 126.6, 110.0, 110.0], abs=0.01)
    assert not held.confirm(4, 0)
    assert not held.confirm(5, 1)


@pytest.mark.parametrize(
    "wrong",
    [{"answer_ms": 500.0}, {"helpers": -1}, {"suspicion_ms_min": 0.0}, {"suspicion_ms_max": 1.0}, {"answer_ms": 0.0}],
)
def test_options_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=r"\w"):
        DetectorOptions(**wrong)
