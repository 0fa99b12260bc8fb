"""Numbered streams against a network that loses, repeats and reorders, with ends that crash."""

from hypothesis import given
from hypothesis import strategies as st

from siftcast.overlays.durability.runs import RunSet
from siftcast.overlays.durability.streams import EARLY_MAX, Incoming, Outgoing

steps = st.lists(st.sampled_from(["add", "send", "resend", "move", "lose", "acknowledge", "rewind"]), max_size=120)


@given(steps, st.randoms(use_true_random=False), st.integers(1, 5))
def test_whatever_happens_on_the_way_all_arrives_once_and_in_order(steps, random, window):
    out: Outgoing[str] = Outgoing()
    into: Incoming[str] = Incoming()
    under_way: list[tuple[int, str]] = []
    added: list[str] = []
    arrived: list[str] = []

    def move():
        number, item = under_way.pop(random.randrange(len(under_way)))
        arrived.extend(each for _, each in into.receive(number, item))

    for step in steps:
        match step:
            case "add":
                added.append(f"item {len(added)}")
                assert out.add(added[-1]) == len(added)
            case "send":
                under_way += out.unsent(window)
            case "resend":
                under_way += out.overdue(3)
            case "move" if under_way:
                move()
            case "lose" if under_way:
                under_way.pop(random.randrange(len(under_way)))
            case "acknowledge":
                out.settle(into.taken, ())
            case "rewind":
                out.rewind()
        assert arrived == added[: len(arrived)]
    while out.waiting:
        out.rewind()
        under_way += out.unsent(window)
        while under_way:
            move()
        out.settle(into.taken, ())
    assert arrived == added


@given(st.integers(1, 6), st.integers(0, 20))
def test_at_most_a_window_is_under_way(window, count):
    out: Outgoing[int] = Outgoing()
    for item in range(count):
        out.add(item)
    taken = 0
    while taken < count:
        sent = out.unsent(window)
        assert [number for number, _ in sent] == list(range(taken + 1, min(count, taken + window) + 1))
        assert out.unsent(window) == []
        taken += len(sent)
        out.settle(taken, ())


def test_what_is_kept_but_unfinished_stays_and_does_not_fill_the_window():
    out: Outgoing[str] = Outgoing()
    for item in "abc":
        out.add(item)
    assert len(out.unsent(2)) == 2
    assert out.settle(2, ((1, 1),)) == [(2, "b")]
    assert out.base == 1
    assert out.unsent(2) == [(3, "c")]
    assert out.settle(3, ()) == [(1, "a"), (3, "c")]


def test_items_from_an_earlier_life_keep_their_numbers():
    out: Outgoing[str] = Outgoing(7)
    out.restore(4, "d")
    out.restore(6, "f")
    assert out.add("g") == 7
    assert out.unsent(9) == [(4, "d"), (6, "f"), (7, "g")]


def test_a_receiver_that_lost_its_disk_begins_where_the_sender_is():
    into: Incoming[str] = Incoming()
    into.skip(41)
    assert into.receive(42, "x") == [(42, "x")]
    assert into.receive(41, "w") == []


def test_what_comes_early_is_kept_up_to_a_bound():
    into: Incoming[int] = Incoming()
    for number in range(2, EARLY_MAX + 10):
        assert into.receive(number, number) == []
    assert len(into.receive(1, 1)) == EARLY_MAX + 1


@given(st.lists(st.tuples(st.integers(0, 12), st.sets(st.integers(1, 12))), max_size=12), st.randoms())
def test_acknowledgements_in_any_order_settle_what_the_furthest_say(drawn, random):
    """An open number is done once an acknowledgement that reaches it does not list it; late ones change nothing."""
    out: Outgoing[int] = Outgoing()
    for item in range(12):
        out.add(item)
    done: set[int] = set()
    history: list[tuple[int, set[int]]] = []
    for kept, listed in sorted(drawn, key=lambda each: each[0]):
        done |= {number for number in range(1, kept + 1) if number not in listed}
        history.append((kept, {number for number in range(1, kept + 1) if number not in done}))
    random.shuffle(history)
    for kept, open_ in history:
        out.settle(kept, RunSet(open_).runs)
    assert set(range(1, 13)) - out.waiting.keys() == done
