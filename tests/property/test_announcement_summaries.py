"""What covering and merging announce and retract is what they would by asking every announced filter in turn."""

from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Filter
from siftcast.overlays.announcements import Covering, Merging
from siftcast.overlays.merging import merge

symbols = st.lists(st.sampled_from("pqrs"), min_size=1, max_size=3).map(
    lambda some: "s IN (" + ", ".join(f"'{one}'" for one in some) + ")"
)
ranges = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda ends: f"x BETWEEN {min(ends)} AND {max(ends)}")
choices = st.lists(st.integers(0, 9), min_size=1, max_size=4).map(lambda some: f"x IN ({', '.join(map(str, some))})")
others = st.sampled_from(["TRUE", "FALSE", "s LIKE '%p'", "s LIKE 'p%' AND x < 3", "x IS NULL", "x IS NOT NULL", "b"])
one_term = st.one_of(symbols, ranges, choices, others)
filters = st.lists(one_term, min_size=1, max_size=2).map(lambda terms: Filter.parse(" AND ".join(terms)))
changes = st.lists(st.tuples(filters, st.integers(0, 40)), min_size=1, max_size=25)


class CoveringInTurn:
    """Asks every announced filter, and looks through all that is kept back."""

    def __init__(self):
        self.shown, self.covered = {}, {}

    def add(self, entry):
        by = next((id for id, shown in self.shown.items() if shown[1].covers(entry[1])), None)
        if by is not None:
            self.covered[entry[0]] = by, entry
            return [], []
        taken = [id for id, shown in self.shown.items() if entry[1].covers(shown[1])]
        self.shown[entry[0]] = entry
        for id in taken:
            self.covered[id] = entry[0], self.shown.pop(id)
        for id, (by, covered) in self.covered.items():
            if by in taken:
                self.covered[id] = entry[0], covered
        return [entry], taken

    def remove(self, id):
        if self.covered.pop(id, None) is not None:
            return [], []
        del self.shown[id]
        orphans = [entry for by, entry in self.covered.values() if by == id]
        announce = []
        for entry in orphans:
            del self.covered[entry[0]]
        for entry in orphans:
            new, old = self.add(entry)
            announce = [kept for kept in announce if kept[0] not in old] + new
        return announce, [id]


class MergingInTurn:
    """Tries to merge with every group, in their order."""

    def __init__(self):
        self.groups = {}

    @property
    def shown(self):
        return {id: entry for id, (entry, _) in self.groups.items()}

    def add(self, entry):
        retract, merged, members = [], entry, {entry[0]: entry}
        while True:
            unions = ((id, merge(shown[1], merged[1])) for id, (shown, _) in self.groups.items())
            id, union = next((pair for pair in unions if pair[1] is not None), (None, None))
            if id is None:
                break
            members = {**self.groups.pop(id)[1], **members}
            retract.append(id)
            first = next(iter(members.values()))
            merged = first[0], union, first[2]
        self.groups[merged[0]] = merged, members
        return [merged], [id for id in retract if id != merged[0]]

    def remove(self, id):
        group = next(group for group, (_, members) in self.groups.items() if id in members)
        _, members = self.groups.pop(group)
        del members[id]
        announced, retracted = {}, {group: None}
        for entry in members.values():
            new, old = self.add(entry)
            for gone in old:
                if announced.pop(gone, None) is None:
                    retracted[gone] = None
            for shown in new:
                announced[shown[0]] = shown
                retracted.pop(shown[0], None)
        return list(announced.values()), list(retracted)


def assert_alike(summary, in_turn, some_changes):
    wanted = []
    for number, (filter_, choice) in enumerate(some_changes):
        if wanted and choice < 16:  # two of five changes are removals
            id = wanted.pop(choice % len(wanted))
            assert summary.remove(id) == in_turn.remove(id)
        else:
            wanted.append(f"s{number}")
            entry = f"s{number}", filter_, number
            assert summary.add(entry) == in_turn.add(entry)
        assert summary.announced() == list(in_turn.shown.values())


@given(changes)
def test_covering_tells_what_asking_in_turn_would(some_changes):
    assert_alike(Covering(), CoveringInTurn(), some_changes)


@given(changes)
def test_merging_tells_what_trying_in_turn_would(some_changes):
    assert_alike(Merging(), MergingInTurn(), some_changes)


@given(st.lists(filters, min_size=2, max_size=8))
def test_union_of_two_filters_knows_its_own_form(some_filters):
    for one in some_filters:
        for other in some_filters:
            union = merge(one, other)
            if union is not None:
                assert union.alternatives == Filter.parse(str(union)).alternatives
                assert union.covers(one)
                assert union.covers(other)


def test_what_was_kept_back_comes_back_in_the_order_it_was_kept_back():
    summary = Covering()
    texts = ["x < 3", "y < 3", "x < 4", "y < 4", "x < 2", "x < 9 OR y < 9", "x < 1", "y < 2"]
    told = [summary.add((text, Filter.parse(text), 0)) for text in texts]
    assert told[5] == ([("x < 9 OR y < 9", Filter.parse(texts[5]), 0)], ["x < 4", "y < 4"])
    announced, retracted = summary.remove("x < 9 OR y < 9")
    assert [id for id, _, _ in announced] == ["x < 4", "y < 4"]
    assert retracted == ["x < 9 OR y < 9"]
    assert summary.remove("x < 2") == ([], [])
    assert [id for id, _, _ in summary.remove("x < 4")[0]] == ["x < 3"]
