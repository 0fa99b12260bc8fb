"""What cannot be so is ignored by a QoS node, whoever says it; and it outlives what an earlier life of it has said."""

from math import inf, nan

import msgspec
import pytest

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import Deliver, MessageReceived, SendMessage, Started, SubscribeRequested, TimerFired
from siftcast.overlays.protocols.qos import Qos
from siftcast.overlays.protocols.qos.messages import Advert, Connect, Forward, Hint, News, Profile, Status
from siftcast.overlays.protocols.qos.rates import Rates
from siftcast.overlays.protocols.qos.soundness import is_sound
from siftcast.overlays.tables import matcher_tables
from siftcast.space.dz import DzSet, DzSpace

SPACE = DzSpace.of(Schema([Attribute("x", "int", (0, 63), 1)]))
EVERYTHING = DzSet.parse("{ε}")
PROFILE = Profile((7, 1), EVERYTHING, 1.0, 50.0, inf, True, 10.0, 1, None, 0, inf)
STATUS = Status(1, (7, 1), (PROFILE,), EVERYTHING, DzSet(), frozenset(), 10.0, 1, None, 1, 1)
NEWS = News(adverts=(Advert(7, EVERYTHING, 1),), profiles=(PROFILE,), rates=((3, 10.0),), asks=False)
EVENT = Event({"x": 5}, id="e")
FORWARD = Forward((1,), EVENT, DzSet([SPACE.of_event(EVENT)]), 1.0)


def changed(message, **fields):
    return msgspec.structs.replace(message, **fields)


WRONG_PROFILES = [
    changed(PROFILE, **{name: value})
    for name, value in (
        ("depth", 2**63), ("depth", -1), ("room_below", 2**63), ("own", nan), ("bound_ms", -1.0), ("reach_ms", nan),
        ("spare", -1.0), ("claim_ms", nan), ("last", (nan, True, 0.0, 0.0, (1, 1))),
    )
]  # fmt: skip
WRONG = [
    *(changed(FORWARD, point=DzSet.parse(text)) for text in ("{}", "{ε}", "{0}")),
    *(changed(FORWARD, elapsed_ms=value) for value in (nan, inf, -1.0)),
    changed(STATUS, depth=2**63),
    changed(STATUS, reach_ms=nan),
    *(changed(NEWS, rates=((cell, rate),)) for cell, rate in ((-1, 1.0), (1, inf), (1, nan), (1, -1.0))),
    changed(NEWS, adverts=(Advert(7, EVERYTHING, 2**63),)),
    *(changed(STATUS, profile=(wrong,)) for wrong in WRONG_PROFILES),
    *(changed(NEWS, profiles=(wrong,)) for wrong in WRONG_PROFILES),
    *(Connect(1, wrong, EVERYTHING, 1) for wrong in WRONG_PROFILES),
    *(Hint(1, (7, 1), (), None, (wrong,), 1, 1) for wrong in WRONG_PROFILES),
]


def node(*, now=0.0):
    made = Qos(1, SPACE, matcher_tables("brute_force"))
    made.handle(Started(nonce=1), now)
    made.handle(SubscribeRequested((Subscription("s", Filter.parse("x >= 0"), bandwidth=1e6),)), now)
    return made


def test_what_nodes_say_is_sound():
    for message in (FORWARD, STATUS, NEWS, Connect(1, PROFILE, EVERYTHING, 1), changed(STATUS, reach_ms=inf)):
        assert is_sound(message, SPACE.length)


@pytest.mark.parametrize("message", WRONG, ids=lambda each: type(each).__name__)
def test_what_cannot_be_so_stops_no_node_and_leaves_nothing_behind(message):
    assert not is_sound(message, SPACE.length)
    made = node()
    made.handle(MessageReceived(7, message), 1.0)
    for now in (1_001.0, 2_001.0, 9_001.0):
        made.handle(TimerFired("qos/round"), now)
    assert made.state()["publishing"] == ()
    effects = made.handle(MessageReceived(7, FORWARD), 9_002.0)
    assert [effect.event for effect in effects if isinstance(effect, Deliver)] == [EVENT]


def test_cells_of_another_space_are_passed_over():
    rates = Rates(1, 4, 1_000.0)
    rates.hear([(1 << 40, 5.0), (3, 5.0)], 0.0)
    assert rates.of(EVERYTHING, DzSet(), 0.0) == 5.0


def test_rates_are_counted_from_when_counting_began_whatever_the_clock_says():
    for began in (0.0, 1e9):
        rates = Rates(1, SPACE.length, 1_000.0)
        for second in range(12):
            rates.expire(began + 1_000.0 * second)
            rates.count(EVENT, SPACE.of_event(EVENT))
        per_second = rates.of(EVERYTHING, EVERYTHING, began + 12_000.0)
        assert per_second == pytest.approx(rates.of(EVERYTHING, EVERYTHING, began + 12_000.0))
        assert 5 < per_second < 50  # an event of some ten bytes each second


def test_what_an_earlier_life_has_advertised_does_not_silence_this_one():
    made = node()
    made.handle(MessageReceived(7, changed(NEWS, adverts=(Advert(1, EVERYTHING, 10**15),))), 1.0)
    assert made.state()["publishing"] == ()  # it publishes nothing now
    effects = made.handle(MessageReceived(7, changed(NEWS, asks=True)), 2.0)
    assert News in [type(each.message) for each in effects if isinstance(each, SendMessage)]
    assert made.next_number() > 10**15


def test_a_subscription_that_gets_a_narrower_filter_wants_less():
    made = node()
    made.handle(SubscribeRequested((Subscription("s", Filter.parse("x < 8")),)), 1.0)
    (place,) = made.places.values()
    assert place.wanted == SPACE.of_filter("x < 8", 16)


def test_a_subscription_that_gets_another_bound_is_no_newer_and_gets_nothing_twice():
    made = node()
    made.handle(MessageReceived(7, FORWARD), 5_000.0)
    made.handle(SubscribeRequested((Subscription("s", Filter.parse("x >= 0"), delay_ms_max=900.0),)), 5_001.0)
    (number,) = (number for number, place in made.places.items() if not place.is_empty)
    again = made.handle(MessageReceived(7, changed(FORWARD, to=(number,))), 5_002.0)
    assert [effect for effect in again if isinstance(effect, Deliver)] == []
    before = Event({"x": 6}, id="before")
    on_its_way = Forward((number,), before, DzSet([SPACE.of_event(before)]), 3_000.0)
    late = made.handle(MessageReceived(7, on_its_way), 5_003.0)
    assert [effect.event for effect in late if isinstance(effect, Deliver)] == [before]
