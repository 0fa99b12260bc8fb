"""HOMED under the simulator: whoever wants an event gets it, once, whatever came before it, as soon as it is quiet.

Every network runs with `strict_introductions`. What the printed algorithms miss in the same situations is in the study.
"""

from collections import Counter

import pytest

from siftcast.runtimes.sim import Faults
from siftcast.space.digests import is_within
from tests.simulation.homed_network import BLIND, HomedNetwork

KINDS = {
    "binary": {},
    "neighbours": {"arity_bits": 3, "layout": "neighbours"},
    "tree": {"duplicates": "tree", "contacts": 2},
    "full": {"arity_bits": 2},
    "positions": {"positions": 3, "piggyback": 3},
}
each_kind = pytest.mark.parametrize(
    "settings",
    [pytest.param(each, id=name, marks=() if name == "binary" else pytest.mark.full) for name, each in KINDS.items()],
)


@each_kind
def test_nodes_that_join_at_the_same_time_miss_nothing_and_get_nothing_twice(settings):
    net = HomedNetwork(60, joining_ms=50.0, **settings).run(1_000)
    assert all(protocol.is_settled for protocol in net.simulation.protocols.values())
    net.expect_exact(8)


def test_at_rest_every_summary_contains_the_digests_of_all_beyond_its_split():
    net = HomedNetwork(70, joining_ms=100.0).run(600)
    homes = [home for node in net.running for home in net.homes(node)]
    paths = {home.place: {split.id: split.side for split in home.table.splits} for home in homes}
    for home in homes:
        beyond = 0
        for split in home.table.splits:
            there = [other for other in homes if paths[other.place].get(split.id) == 1 - split.side]
            assert there
            assert all(is_within(other.digest, split.summary) for other in there)
            beyond += len(there)
        assert beyond == len(homes) - 1, "the subtrees beyond a path are everybody else, once"


def test_paths_are_about_as_long_as_the_logarithm_and_tables_as_small():
    net = HomedNetwork(128, joining_ms=300.0, heartbeat_ms=2_000.0).run(900)
    states = [protocol.state() for protocol in net.simulation.protocols.values()]
    assert sum(state["depth"] for state in states) / 128 < 7 + 3
    assert max(state["depth"] for state in states) < 2 * 7 + 4
    assert max(state["entries"] for state in states) <= 4 * 20


def test_who_subscribes_is_known_to_all_who_must_know_before_it_is_settled():
    net = HomedNetwork(30).run(1_300)
    net.subscribe(7, "late", "x = 3 AND y = 97")
    protocol = net.simulation.protocols[7]
    while net.run(5).simulation.protocols[7] and not protocol.is_settled:
        pass
    got, expected, _ = net.publish(20, x=3, y=97)
    assert (7, "late") in expected
    assert got == expected


@each_kind
def test_interests_that_change_are_followed_and_places_move(settings):
    net = HomedNetwork(24, **settings).run(1_300)
    before = {home.place for node in net.running for home in net.homes(node)}
    for round in range(6):
        node = net.random.choice(net.running)
        net.subscribe(node, f"s{node}", net.draw())
        net.subscribe(net.random.choice(net.running), f"more{round}", net.draw())
        net.unsubscribe(net.random.choice(list(net.held)))
        net.run(250)
        net.expect_exact(2)
    net.run(1_000)
    net.expect_exact(6)
    assert before - {home.place for node in net.running for home in net.homes(node)}, "nobody moved"


def test_a_node_whose_drift_is_allowed_stays_where_it_is():
    net = HomedNetwork(15, drift=1.0).run(1_300)
    before = net.homes(4)[0].place
    net.subscribe(4, "far", "x > 90 AND y > 90")
    net.run(1_000)
    assert net.homes(4)[0].place == before
    got, expected, _ = net.publish(9, x=95, y=95)
    assert got == expected
    assert (4, "far") in got


def test_a_node_without_subscriptions_takes_no_place_and_publishes_all_the_same():
    net = HomedNetwork(30).run(1_000)
    net.unsubscribe("s9")
    net.run(1_500)
    assert net.homes(9) == ()
    for node in net.running:
        assert all(place[0] != 9 for home in net.homes(node) for split in home.table.splits for place in split.contacts)
    got, expected, _ = net.publish(9, x=50, y=50)
    assert expected
    assert got == expected


def test_events_to_a_place_that_has_just_moved_are_handed_over():
    net = HomedNetwork(30, move_ms=1.0).run(1_300)
    for _ in range(8):
        node = net.random.choice(net.running)
        net.subscribe(node, f"s{node}", net.draw())
        net.run(40)
        got, expected, _ = net.publish(x=net.random.randrange(100), y=50)
        assert set(expected) - set(got) <= {(node, f"s{node}")}, "only who has just subscribed may miss it"
        assert len(got) == len(set(got))


# -- who comes and goes ----------------------------------------------------------------------------------


@each_kind
def test_a_third_of_the_nodes_crash_at_once_and_the_others_find_each_other(settings):
    net = HomedNetwork(45, **settings).run(2_000)
    net.crash(*net.random.sample(net.running, 15))
    net.run(3_000)
    net.expect_exact(6)


def test_a_place_and_its_sibling_crash_together():
    net = HomedNetwork(30).run(1_500)
    victim = next(
        home
        for node in net.running
        for home in net.homes(node)
        if home.table.splits and home.table.splits[-1].count == 1
    )
    sibling = next(iter(victim.table.splits[-1].contacts))[0]
    net.crash(*{victim.place[0], sibling})
    net.run(1_500)
    net.expect_exact(6)


def test_silent_crashes_are_found_out_by_beats_alone():
    net = HomedNetwork(30, faults=Faults(detect_ms=BLIND)).run(1_500)
    net.crash(*net.random.sample(net.running, 6))
    net.run(5_000)
    net.expect_exact(6)


def test_a_crash_is_repaired_by_those_who_knew_the_lost_node_or_know_one_who_did():
    net = HomedNetwork(30).run(2_000)
    victim = net.homes(17)[0]
    holders = {
        node
        for node in net.running
        for home in net.homes(node)
        for split in home.table.splits
        if victim.place in split.contacts
    }
    quiet = net.sent(net.now - 400.0)
    net.crash(17)
    begun = net.now
    net.run(400)
    kinds = {name for _, _, name in quiet}
    more = [(node, peer) for node, peer, name in net.sent(begun) if name not in kinds]
    assert more == [], "no message is about a crash: beats go on, and each holder acts for itself"
    assert holders
    for node in holders:
        for home in net.homes(node):
            assert all(victim.place not in split.contacts for split in home.table.splits)


def test_who_leaves_in_peace_is_missed_by_nobody_and_nothing_is_lost_meanwhile():
    net = HomedNetwork(30).run(1_500)
    leaving = net.random.sample(net.running[1:], 8)
    for node in leaving:
        net.leave(node)
        got, expected, _ = net.publish()
        assert got == expected
    net.run(500)
    assert not set(leaving) & set(net.running)
    net.expect_exact(5)


def test_a_tenth_of_all_messages_lost_and_the_rest_in_any_order_spoils_no_table():
    net = HomedNetwork(30, faults=Faults(loss=0.1, jitter_ms=30.0, reorder=True, detect_ms=BLIND)).run(2_500)
    for _ in range(10):
        node = net.random.choice(net.running)
        net.subscribe(node, f"s{node}", net.draw())
        net.run(100)
    net.simulation.change_faults(Faults(detect_ms=50.0), at_ms=net.now)
    net.run(2_000)
    net.expect_exact(6)


def test_a_network_that_was_cut_in_two_is_whole_again():
    net = HomedNetwork(30).run(1_500)
    side = net.random.sample(net.running, 12)
    net.simulation.cut([side], at_ms=net.now)
    net.run(3_000)
    newcomer = next(node for node in net.running if node not in side)
    net.subscribe(newcomer, "new there", net.draw())
    net.subscribe(side[0], "new here", net.draw())
    net.run(1_000)
    net.simulation.heal(at_ms=net.now)
    net.run(3_000)
    net.expect_exact(8)


def test_nodes_that_come_and_go_all_the_time_leave_a_network_that_misses_nothing():
    net = HomedNetwork(25).run(1_300)
    for _ in range(12):
        node = net.random.choice(net.running)
        net.crash(node)
        net.simulation.restart(node, at_ms=net.now + 300.0)
        net.subscribe(node, f"s{node}", net.draw(), at_ms=net.now + 320.0)
        net.run(100)
    net.run(3_000)
    assert len(net.running) == 25
    net.expect_exact(6)


def test_a_founder_that_comes_back_enters_the_network_it_once_founded():
    net = HomedNetwork(20).run(1_500)
    net.crash(0)
    net.run(1_000)
    net.simulation.restart(0, at_ms=net.now)  # it has no contacts, so it founds another
    net.subscribe(0, "again", "x >= 0", at_ms=net.now + 10.0)
    net.run(3_000)
    realms = {home.realm for node in net.running for home in net.homes(node)}
    assert realms == {(0.0, 0)}
    net.expect_exact(8)


# -- bits that are not wanted any more -------------------------------------------------------------------


def test_bits_that_nobody_wants_any_more_are_cleared_lazily_and_set_again_at_once():
    net = HomedNetwork(12, interests=False).run(1_100)
    for node in range(1, 12):
        net.subscribe(node, f"s{node}", "x < 10 AND y < 10")
    net.run(1_000)
    net.subscribe(5, "wide", "x > 80 AND y > 80")
    net.run(1_000)
    _, _, carried = net.publish(10, x=90, y=90)
    assert carried
    net.unsubscribe("wide")
    net.run(1_100)
    assert net.publish(10, x=90, y=90)[0] == []
    net.run(40_000)
    got, expected, carried = net.publish(10, x=90, y=90)
    assert (got, expected, carried) == ([], [], 0), "nobody is bothered any more"
    net.subscribe(8, "wide", "x > 80 AND y > 80")
    net.run(500)
    got, expected, _ = net.publish(10, x=90, y=90)
    assert got == expected == [(8, "wide")]


def test_known_filters_keep_events_from_nodes_whose_digest_alone_wants_them():
    carried = []
    for piggyback in (0, 8):
        net = HomedNetwork(12, interests=False, piggyback=piggyback).run(1_100)
        for node in range(1, 12):
            net.subscribe(node, f"s{node}", f"x = {8 * node} AND y = {8 * node}")
        net.run(4_000)
        carried.append(0)
        for node in range(1, 12):  # in the cell of a subscription, and beside it
            got, expected, sent = net.publish(0, x=8 * node + 1, y=8 * node)
            assert got == expected == []
            carried[-1] += sent
        net.expect_exact(6)
    assert carried[1] < carried[0] / 2


def test_a_widened_filter_takes_the_place_of_the_known_one_before_it_counts():
    net = HomedNetwork(10, interests=False, piggyback=10).run(1_100)
    for node in range(1, 10):
        net.subscribe(node, f"s{node}", f"x = 4 AND y = {node}")
    net.run(4_000)
    assert any(split.filters for home in net.homes(3) for split in home.table.splits)
    net.subscribe(6, "s6", "x IN (4, 5) AND y = 6")  # the same cell, so no bit is new
    net.run(60)
    got, expected, _ = net.publish(3, x=5, y=6)
    assert got == expected == [(6, "s6")]


def test_receivers_are_selected_by_their_identifiers():
    net = HomedNetwork(20, interests=False, receivers="to").run(1_100)
    for node in range(1, 20):
        net.subscribe(node, f"s{node}", "x < 50")
    net.run(1_500)
    got, _, all_carried = net.publish(0, x=1, y=1)
    assert len(got) == 19
    got, _, carried = net.publish(0, x=1, y=1, to=7)
    assert got == [(7, "s7")]
    assert carried < all_carried / 2
    got, _, _ = net.publish(0, x=1, y=1, to=[3, 4])
    assert got == [(3, "s3"), (4, "s4")]
    assert net.publish(0, x=70, y=1, to=7)[0] == []


def test_several_positions_of_a_node_are_narrower_than_one():
    digests = {}
    for positions in (1, 4):
        net = HomedNetwork(15, positions=positions).run(1_100)
        for corner in range(4):
            net.subscribe(3, f"c{corner}", f"x BETWEEN {25 * corner} AND {25 * corner + 5} AND y < 9")
        net.run(1_000)
        digests[positions] = [home.digest.bit_count() for home in net.homes(3)]
        net.expect_exact(6)
    assert len(digests[1]) == 1
    assert len(digests[4]) == 4
    assert max(digests[4]) < digests[1][0]


def test_one_seed_gives_one_run():
    trouble = Faults(loss=0.1, jitter_ms=30.0, reorder=True, detect_ms=50.0)
    runs = [HomedNetwork(20, seed, faults=trouble).run(2_000) for seed in (3, 3, 4)]
    first, second, third = (net.simulation.trace.digest() for net in runs)
    assert first == second != third


# -- nobody is a contact of too many -------------------------------------------------------------------------


def held_by(net):
    """How many places have each place as a contact."""
    homes = [home for node in net.running for home in net.homes(node)]
    return Counter(place for home in homes for split in home.table.splits for place in split.contacts)


def test_places_that_came_early_are_contacts_of_few_more_than_others():
    net = HomedNetwork(300).run(1_100)
    before = sum(held_by(net).values()) / 300
    net.run(2_000)
    held = held_by(net)
    assert sum(held.values()) / 300 >= before, "no contact went without another one in its stead"
    assert max(held.values()) <= 3 * before, "the first place was a contact of all others"
    net.expect_exact(3)


@pytest.mark.parametrize(
    ("contacts", "seed"), [(1, 1), (2, 2), *(pytest.param(1, seed, marks=pytest.mark.full) for seed in range(3, 8))]
)
def test_no_summary_loses_a_bit_that_counts_while_contacts_are_exchanged(contacts, seed):
    net = HomedNetwork(50, seed, joining_ms=2_000.0, contacts=contacts, heartbeat_ms=100.0, drift=1.0)
    counted, exchanged, known = {}, 0, {}
    for step in range(180):
        if step % 4 == 0 and 18 <= step < 140:  # some while others still join, and while contacts are exchanged
            net.subscribe(net.random.choice(net.running), f"more{step}", net.draw(5))
        net.run(100)
        homes = {home.place: home for node in net.running for home in net.homes(node) if home.state == "placed"}
        for place, home in homes.items():
            if net.simulation.protocols[place[0]].is_settled:
                counted[place] = home.digest
        paths = {place: {split.id: split.side for split in home.table.splits} for place, home in homes.items()}
        for place, home in homes.items():
            for split in home.table.splits:
                there = [other for other in counted if paths[other].get(split.id) == 1 - split.side]
                lost = [other for other in there if not is_within(counted[other], split.summary)]
                assert not lost, f"at {net.now:.0f} ms {place} does not know beyond {split.rank} what {lost} want"
                before = known.get((place, split.id), set())
                exchanged += len(before - set(split.contacts))
                known[place, split.id] = set(split.contacts)
    assert len(counted) == 50
    assert exchanged > 15
    net.expect_exact(6)
