"""Whom a peer of the QoS overlay asks for what it misses, for what comes too late, and to come higher."""

from siftcast.overlays.protocols.qos.choosing import Choosing
from siftcast.overlays.protocols.qos.messages import Profile
from siftcast.overlays.protocols.qos.order import rank
from siftcast.overlays.protocols.qos.parent_link import Parent, Surroundings
from siftcast.overlays.protocols.qos.regions import Pieces
from siftcast.space.dz import DzSet

INF = float("inf")
ME, PUBLISHER = (9, 1), (0, 0)
WANTED = DzSet(["00"])
PIECES = Pieces(WANTED)


def _profile(number, wanted="0", *, reach_ms=10.0, depth=1, is_full=False, spare=INF, own=1.0, claim_ms=INF):
    last = (INF, False, -1.0, INF, (0, 1)) if is_full else None
    region = DzSet([wanted])
    return Profile((number, 1), region, own, INF, claim_ms, spare == INF, reach_ms, depth, last, int(is_full), spare)


OWN_RANK = rank(_profile(9, "00", own=0.25))


def _choosing(*known, bound_ms=INF, delays=None, lasts=None, links=None, aside=(), is_weary=False):
    measured = {each.peer[0]: 5.0 for each in known} if delays is None else delays
    around = Surroundings(lambda: known, measured, lasts or {0: (INF, False, -1.0, INF, (0, 1))}, 0.0, 100.0, measured)
    return Choosing(ME, bound_ms, PIECES, links or {}, aside, {PUBLISHER: PIECES.all}, is_weary, around)


def _asked(choosing):
    return choosing.for_missing(PIECES.all, OWN_RANK)


def test_of_those_before_it_a_peer_asks_whoever_takes_on_least_and_then_who_has_room_soonest():
    other, deep, near = _profile(1, "11"), _profile(2, depth=3), _profile(3, depth=2)
    after = _profile(4, own=0.1)
    assert _asked(_choosing(other, deep, near, after)) == {near.peer: PIECES.all}
    assert _asked(_choosing(other, after)) == {other.peer: PIECES.all}
    assert _asked(_choosing(after)) == {}
    assert _asked(_choosing(near, aside={near.peer})) == {}
    assert _asked(_choosing(_profile(1, reach_ms=INF))) == {}, "it is not served itself"


def test_who_was_refused_often_asks_whoever_has_a_place():
    full, free = _profile(1, is_full=True), _profile(2, "11")
    assert _asked(_choosing(full, free)) == {full.peer: PIECES.all}
    assert _asked(_choosing(full, free, is_weary=True)) == {free.peer: PIECES.all}


def test_a_parent_that_serves_already_is_asked_first_unless_it_is_sated():
    parent, better = _profile(1, "11"), _profile(2)
    link = Parent(WANTED, 0.0, granted=WANTED)
    assert _asked(_choosing(parent, better, links={parent.peer: link})) == {parent.peer: PIECES.all}
    link.is_sated = True
    assert _asked(_choosing(parent, better, links={parent.peer: link})) == {better.peer: PIECES.all}


def test_who_has_no_bandwidth_left_is_asked_for_what_it_receives_anyway():
    assert _asked(_choosing(_profile(1, "11", spare=0.0))) == {}
    assert _asked(_choosing(_profile(1, spare=0.0, own=2.0, claim_ms=1.0))) == {(1, 1): PIECES.all}


def test_of_those_that_keep_the_bound_the_one_that_gets_events_last_is_asked():
    soon, later, late = _profile(1, reach_ms=5.0), _profile(2, reach_ms=20.0), _profile(3, reach_ms=30.0)
    full = _profile(4, reach_ms=24.0, is_full=True)
    known = (soon, later, late, full)
    assert _choosing(*known, bound_ms=30.0).timely(PIECES.all, OWN_RANK) == (later.peer,)
    assert _choosing(later, bound_ms=30.0, delays={}).timely(PIECES.all, OWN_RANK) == (), "nobody knows how far it is"
    assert _choosing(late, full, bound_ms=30.0).timely(PIECES.all, OWN_RANK) == ()


def test_publishers_are_asked_where_they_have_a_place_for_it():
    assert _choosing(bound_ms=30.0, lasts={0: None}).timely(PIECES.all, OWN_RANK) == (PUBLISHER,)
    claimed = rank(_profile(9, "00", own=0.25, claim_ms=1.0))
    assert _choosing(bound_ms=30.0).timely(PIECES.all, claimed) == (PUBLISHER,), "somebody goes for it"
    link = Parent(WANTED, 0.0, granted=WANTED)
    assert _choosing(links={PUBLISHER: link}).publishers_have_place(PIECES.all, OWN_RANK), "it has one already"


def test_a_peer_rises_only_to_where_there_is_room_and_not_too_much_is_taken_on():
    high, full, other = _profile(1, depth=2), _profile(2, depth=1, is_full=True), _profile(3, "11", depth=1)
    assert _choosing(high, full, other).shallower(PIECES.all, 4, OWN_RANK) == high.peer
    assert _choosing(high).shallower(PIECES.all, 3, OWN_RANK) is None, "it is there already"
    assert _choosing(high).shallower(0, 4, OWN_RANK) is None, "it needs nobody"
    assert _choosing(high, bound_ms=12.0).shallower(PIECES.all, 4, OWN_RANK) is None, "its bound would be missed"
