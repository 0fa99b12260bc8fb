"""A node knows how old an event is: what the sender said, the link, and how long it has been here since."""

import asyncio
from random import Random

import pytest

from siftcast.model import Event
from siftcast.overlays.bounds import Hop
from siftcast.overlays.contract import NodeId
from siftcast.overlays.messages import Publication, Retract
from siftcast.runtimes.live.node import ages as ages_module
from siftcast.runtimes.live.node import echoes as echoes_module
from siftcast.runtimes.live.node.ages import FOR_S, KEPT_MAX, Ages
from siftcast.runtimes.live.node.echoes import Echoes
from siftcast.runtimes.live.node.guests import Waiting
from siftcast.runtimes.live.node.waits import Waits
from siftcast.runtimes.live.wire.node_frames import Age, AgesWanted
from tests.live.asynchronous import on_loop, until
from tests.live.test_connection import joined

DELAYS_MS = {2: 10.0, 3: 40.0}


class Clock:
    """The monotonic clock of `ages`, which goes when it is told to."""

    def __init__(self) -> None:
        self.now_s = 100.0

    @property
    def now_ms(self) -> float:
        return self.now_s * 1_000

    def pass_ms(self, taken_ms: float) -> None:
        self.now_s += taken_ms / 1_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(ages_module, "monotonic", lambda: made.now_s)
    return made


def ages_of(node: NodeId, said: list[AgesWanted] | None = None) -> Ages:
    return Ages(node, DELAYS_MS.get, (lambda _: None) if said is None else said.append, Random(node))


def carrying(event: str) -> Publication:
    return Publication(Event({}, event), 1)


@on_loop
async def test_an_age_grows_by_links_and_by_what_it_stays_and_the_slowest_hop_is_known(clock: Clock) -> None:
    publisher, between, last = ages_of(1), ages_of(3), ages_of(2)
    publisher.begin("e")
    clock.pass_ms(5)
    first = publisher.stamp(carrying("e"))
    assert first == Age(pytest.approx(5.0), pytest.approx(5.0), pytest.approx(clock.now_ms))
    between.came(3, carrying("e"), first)  # over a link of 40 ms
    clock.pass_ms(2)
    second = between.stamp(carrying("e"))
    assert second == Age(
        pytest.approx(47.0), pytest.approx(2.0), pytest.approx(clock.now_ms), pytest.approx(45.0), 3, 3
    )
    last.came(2, carrying("e"), second)  # over a link of 10 ms
    clock.pass_ms(1)
    found = last.of("e", 3.0)
    assert found is not None
    age_ms, hop = found
    assert age_ms == pytest.approx(47 + 10 + 1 + 3)
    assert hop == Hop(3, 3, pytest.approx(45.0))


@on_loop
async def test_what_stays_longest_at_the_last_node_is_slowest_on_the_way_to_the_subscriber(clock: Clock) -> None:
    ages = ages_of(1)
    ages.came(2, carrying("e"), Age(10.0, 4.0, clock.now_ms))
    clock.pass_ms(30)
    assert ages.of("e", 5.0) == (pytest.approx(55.0), Hop(1, None, pytest.approx(35.0)))


@on_loop
async def test_what_waited_in_the_buffers_of_a_node_that_stood_still_is_as_old_as_it_is(clock: Clock) -> None:
    publisher, last = ages_of(1), ages_of(2)
    for number, stood_ms in enumerate((0, 5_000, 0)):
        publisher.begin(f"e{number}")
        sent = publisher.stamp(carrying(f"e{number}"))
        clock.pass_ms(stood_ms)
        last.came(3, carrying(f"e{number}"), sent)
        found = last.of(f"e{number}", 0.0)
        assert found is not None
        assert found == (pytest.approx(40.0 + stood_ms), Hop(3, 2, pytest.approx(40.0 + stood_ms)))


@on_loop
async def test_another_connection_may_have_another_clock_behind_it(clock: Clock) -> None:
    ages = ages_of(1)
    ages.came(2, carrying("a"), Age(1.0, 1.0, clock.now_ms))
    ages.joined(2)
    ages.came(2, carrying("b"), Age(1.0, 1.0, clock.now_ms - 1e6))
    assert ages.of("b", 0.0) == (pytest.approx(11.0), Hop(2, 1, pytest.approx(11.0)))


def test_the_least_of_the_last_minutes_is_what_does_not_wait() -> None:
    waits = Waits()
    assert waits.of(7, 500.0, 1.0) == 0.0
    assert waits.of(7, 500.0, 1.3) == pytest.approx(300.0)
    assert waits.of(7, 1_300.0, 1.7) == 0.0  # less than ever: that did not wait
    assert waits.of(7, 500.0, 1.0) == pytest.approx(100.0)
    # A clock that is a second faster is known for one after two minutes.
    assert waits.of(7, 70_000.0, 71.4) == pytest.approx(1_000.0)
    assert waits.of(7, 140_000.0, 141.4) == 0.0
    assert waits.of(8, 0.0, 141.0) == 0.0


@on_loop
async def test_an_event_is_as_old_as_when_it_was_here_first(clock: Clock) -> None:
    ages = ages_of(1)
    ages.begin("e")
    clock.pass_ms(30)
    ages.came(2, carrying("e"), Age(500.0, 1.0, clock.now_ms))  # it has been round, and others measured badly
    assert ages.of("e", 0.0) == (pytest.approx(30.0), Hop(2, 1, pytest.approx(11.0)))


@on_loop
async def test_nothing_is_said_where_nothing_is_known(clock: Clock) -> None:
    ages = ages_of(1)
    assert ages.stamp(carrying("e")) is None
    ages.came(2, carrying("e"), None)
    ages.came(99, carrying("e"), Age(1.0, 1.0, clock.now_ms))  # over a link that was not measured
    ages.came(2, Retract(("e",)), Age(1.0, 1.0, clock.now_ms))
    nan, inf, sent_ms = float("nan"), float("inf"), clock.now_ms
    unstamped = [Age(1.0, 1.0, nan), Age(1.0, 1.0, inf)]
    wrong_ages = [Age(*wrong, sent_ms) for wrong in ((-1.0, 0.0), (nan, 0.0), (1.0, 2.0), (inf, 1.0), (1.0, -1.0))]
    for wrong in unstamped + wrong_ages:
        ages.came(2, carrying("e"), wrong)
    assert ages.of("e", 0.0) is None
    ages.begin("e")
    assert ages.stamp(Retract(("e",))) is None


@on_loop
async def test_only_the_last_events_are_remembered(clock: Clock) -> None:
    ages = ages_of(1)
    for number in range(KEPT_MAX + 1):
        ages.begin(str(number))
    assert ages.of("0", 0.0) is None
    assert ages.of("1", 0.0) is not None


@on_loop
async def test_who_wants_ages_says_so_once_and_whoever_hears_it_passes_it_on_once(clock: Clock) -> None:
    said: list[AgesWanted] = []
    heard: list[AgesWanted] = []
    wanting, other = ages_of(1, said), ages_of(2, heard)
    assert not wanting.is_wanted
    wanting.want(True)
    wanting.want(True)
    assert wanting.is_wanted
    (frame,) = said
    other.heard(frame)
    other.heard(frame)
    assert other.is_wanted
    assert heard == [frame]
    wanting.heard(frame)  # it comes back over a cycle
    assert said == [frame]
    other.heard(AgesWanted(7, 1, FOR_S * 1_000))  # it is wanted for as long already
    assert heard == [frame]
    newcomer = other.said_to_newcomer()
    assert newcomer is not None
    assert newcomer.for_ms == pytest.approx(FOR_S * 1_000)
    for each in (wanting, other):
        each.stop()


@on_loop
async def test_wanting_ends_when_nobody_says_it_any_more(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ages_module, "_ROUND_S", 0.001)
    ages = ages_of(1)
    ages.heard(AgesWanted(7, 1, FOR_S * 1_000))
    ages.begin("e")
    assert ages.is_wanted
    clock.pass_ms(FOR_S * 1_000 + 1)
    while ages.is_wanted:
        await asyncio.sleep(0.001)
    assert ages.of("e", 0.0) is None
    assert ages.said_to_newcomer() is None


@on_loop
async def test_who_still_wants_it_says_it_again_before_it_ends(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ages_module, "_ROUND_S", 0.001)
    said: list[AgesWanted] = []
    ages = ages_of(1, said)
    ages.want(True)
    clock.pass_ms(FOR_S * 500)
    ages.want(True)  # as it is told each second
    await asyncio.sleep(0.01)
    assert len(said) == 1
    clock.pass_ms(FOR_S * 500 - 1)
    await until(lambda: len(said) == 2)
    assert ages.is_wanted
    assert [frame.number for frame in said] == [1, 2]
    assert said[0].origin == said[1].origin
    ages.want(False)
    clock.pass_ms(FOR_S * 1_000 + 1)
    await until(lambda: not ages.is_wanted)
    assert len(said) == 2


@on_loop
async def test_what_waits_for_a_connection_says_how_old_its_event_is_when_it_is_sent() -> None:
    waiting, age = Waiting(asyncio.get_running_loop(), lambda _: None), 1
    waiting.put(7, b"plain")
    waiting.put(7, lambda: b"%d ms" % age)
    age = 5
    assert waiting.take(7) == [b"plain", b"5 ms"]
    assert waiting.take(7) == []


@on_loop
async def test_a_link_is_as_long_for_ages_as_it_was_at_best_because_waits_are_added(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(echoes_module, "monotonic", lambda: clock.now_s)
    loop = asyncio.get_running_loop()
    echoes = Echoes()
    connection, _, _ = joined(loop)
    for number, taken_ms in enumerate((80.0, 20.0, 60.0, 24.0, 90.0), 1):
        echoes.ask(7, connection, None)
        clock.pass_ms(taken_ms)
        echoes.answered(number, 7)
    assert (echoes.delays_ms, echoes.least_ms) == ({7: pytest.approx(30.0)}, {7: pytest.approx(10.0)})
    echoes.forget(7)
    assert (echoes.delays_ms, echoes.least_ms) == ({}, {})
