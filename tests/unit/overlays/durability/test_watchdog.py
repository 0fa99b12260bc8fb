"""What makes no progress although nothing keeps it from going on is reported, with its age."""

import pytest

from siftcast.model import Event, Filter
from siftcast.overlays.contract import MessageReceived, PeerLost, Report, SendMessage, SetTimer, TimerFired
from siftcast.overlays.durability import Acknowledge, ControlRelay, Greet, Relay, Settings
from siftcast.overlays.durability.watchdog import WATCH_TIMER
from siftcast.overlays.messages import Announce, Publication
from tests.unit.overlays.durability.single_node import KEEPER, SingleNode, answer, of

STALL_MS = 1_000.0


@pytest.fixture
def node():
    """A node that neighbour 1 wants everything of."""
    made = SingleNode((1,), Settings(stall_ms=STALL_MS))
    made.tell(MessageReceived(1, ControlRelay((5, 1, 0, 50), 1, Announce((("s", Filter.parse("TRUE"), 1),)))))
    return made


def wait(node, ms):
    """Lets time pass; the reports that the watchdog makes of it."""
    node.now += ms
    return [(each.what, dict(each.facts)) for each in of(node.tell(TimerFired(WATCH_TIMER)), Report)]


def test_a_link_whose_neighbour_is_there_and_does_not_answer_is_reported_with_its_age_and_opened_again(node):
    node.publish("a")
    node.silent = True
    assert wait(node, STALL_MS / 2) == []
    node.now += STALL_MS
    found = node.tell(TimerFired(WATCH_TIMER))
    (report,) = of(found, Report)
    assert (report.what, report.facts["what"], report.facts["messages"]) == ("makes no progress", "link to 1", 1)
    assert report.facts["age_s"] >= STALL_MS / 1_000
    assert [each.destinations for each in of(found, SendMessage) if isinstance(each.message, Greet)] == [(1,)]
    (stalled,) = node.durable.state()["stalled"]
    assert stalled["what"] == "link to 1"


def test_it_is_said_again_at_twice_the_age_and_not_in_between(node):
    node.publish("a")
    node.silent = True
    said = [len(wait(node, STALL_MS)) for _ in range(8)]
    assert said == [1, 1, 0, 1, 0, 0, 0, 1]


def test_it_is_said_once_when_it_goes_on(node):
    node.publish("a")
    node.silent = True
    node.now += STALL_MS
    (greeting,) = [each.message for each in of(node.tell(TimerFired(WATCH_TIMER)), SendMessage)][-1:]
    node.tell(answer(1, greeting))
    node.tell(MessageReceived(1, Acknowledge(KEEPER, greeting.keeper, greeting.stream, 1, (), (), greeting.chapter, 0)))
    assert node.durable.state()["stalled"] == []
    assert wait(node, STALL_MS) == [("goes on again", {"what": "link to 1"})]
    assert wait(node, STALL_MS) == []


def test_what_waits_for_a_neighbour_that_is_lost_is_no_stall(node):
    node.tell(PeerLost(1))
    node.publish("a")
    assert wait(node, 10 * STALL_MS) == []
    assert node.durable.state()["stalled"] == []


def test_a_write_that_the_disk_does_not_answer_is_reported(node):
    node.slow = True
    node.publish("a")
    ((what, facts),) = wait(node, STALL_MS)
    assert (what, facts["what"]) == ("makes no progress", "write to disk")
    node.slow = False
    node.tell(node.write())
    assert wait(node, 1.0) == [("goes on again", {"what": "write to disk"})]


def test_an_event_that_nobody_releases_is_reported_while_all_neighbours_are_there(node):
    node.subscribe()
    parked = Relay((5, 50), 1, 1, Publication(Event({}, id="e"), 1), True, ("1:", 7), False)
    node.tell(MessageReceived(1, parked))
    assert node.durable.state()["events_parked"] == 1
    found = {facts["what"]: facts for _, facts in wait(node, STALL_MS)}
    assert found["parked events"]["events"] == 1
    node.tell(PeerLost(1))
    assert node.durable.state()["stalled"] == []


def test_nothing_is_watched_any_more_when_nothing_waits():
    node = SingleNode((1,), Settings(stall_ms=STALL_MS))
    node.now += STALL_MS
    found = node.tell(TimerFired(WATCH_TIMER))
    assert not [effect for effect in found if isinstance(effect, SetTimer)]
