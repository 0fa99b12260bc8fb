"""Sets of keys, however they are merged, selected and laid out, hold what the lists they came from hold."""

from itertools import chain

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from siftcast.matching import Matcher
from siftcast.matching.tiles.keys import KEY_MAX, KEY_MIN
from siftcast.matching.tiles.memberships import Membership
from siftcast.matching.tiles.sets import Intervals, KeySets, SetBuilder, merge_sets

KEYS = [KEY_MIN, -(10**12), -70, *range(-6, 300, 3), 10**12, KEY_MAX]


@st.composite
def intervals(draw: st.DrawFn) -> Intervals:
    """A few intervals in ascending order: dense ones that get bits, and sparse ones that are searched."""
    ends = sorted(draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=40, unique=True)))
    if draw(st.booleans()):
        return tuple((end, end) for end in ends)
    ends = ends if len(ends) % 2 == 0 else [*ends, ends[-1]]
    return tuple(zip(ends[::2], ends[1::2], strict=True))


demands = st.lists(st.none() | intervals(), min_size=1, max_size=12)


def built(rows: list[Intervals | None]) -> KeySets | None:
    builder = SetBuilder()
    for row, demanded in enumerate(rows):
        if demanded is not None:
            builder.add(row, demanded)
    return builder.finish(None) if any(rows) else None


def allows(demanded: Intervals | None, key: int) -> bool:
    return demanded is None or any(low <= key <= high for low, high in demanded)  # type: ignore[operator]


def within_hull(demanded: Intervals | None, key: int) -> bool:
    return demanded is None or demanded[0][0] <= key <= demanded[-1][1]  # type: ignore[operator]


def check(sets: KeySets | None, rows: list[Intervals | None], seed: int) -> None:
    """Asks the sets about every key, with the rows at random positions, as an index would: only inside hulls."""
    assert (sets is None) == (not any(rows))
    if sets is None:
        return
    order = np.random.default_rng(seed).permutation(len(rows)).astype(np.int32)
    keys = np.array([[0, key] for key in KEYS], np.int64)
    hits = [[position for position, row in enumerate(order) if within_hull(rows[row], key)] for key in KEYS]
    offsets = np.cumsum([0] + [len(found) for found in hits])
    positions = np.array(list(chain.from_iterable(hits)), np.int32)
    membership = Membership.of(sets, 1, order)
    kept, bounds = membership.keep_members((positions, offsets), keys, membership.cells_of(keys))
    for number, key in enumerate(KEYS):
        expected = [position for position in hits[number] if allows(rows[order[position]], key)]
        assert kept[bounds[number] : bounds[number + 1]].tolist() == expected


@given(demands, demands, st.data())
def test_merged_and_selected_sets_hold_the_same_keys(
    first: list[Intervals | None], second: list[Intervals | None], data: st.DataObject
) -> None:
    seed = data.draw(st.integers(0, 99))
    check(built(first), first, seed)
    parts = [(0, built(first)), (len(first), built(second))]
    moved = [sets.moved(start, (), None) for start, sets in parts if sets is not None]
    both = [*first, *second]
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(both), max_size=len(both))))
    chosen = [row for row, kept in zip(both, keep, strict=True) if kept]
    if moved:
        merged = merge_sets(moved)
        check(merged, both, seed)
        if any(chosen):
            selected = merged.select(keep)
            check(selected, chosen, seed)
            assert set(selected.sets.tolist()) == set(range(len(selected.begins) - 1))  # no set is left over


@given(st.lists(st.sets(st.integers(0, 130), min_size=70), min_size=1, max_size=6), st.booleans())
def test_string_sets_survive_growth_removal_and_reloading(lists: list[set[int]], negated: bool) -> None:
    """Each generation brings strings between the known ones, so that all ranks move when segments are merged."""
    matcher, alive = Matcher("tiles"), dict[str, set[str]]()
    for generation, numbers in enumerate(lists):
        words = {f"w{number:03}{'abcdef'[generation]}" for number in numbers}
        matcher.add(f"s{generation}", f"s {'NOT ' if negated else ''}IN ({', '.join(map(repr, sorted(words)))})")
        matcher.settle()
        alive[f"s{generation}"] = words
        if generation == 2:
            matcher.remove("s1")
            del alive["s1"]
            matcher = Matcher.from_bytes(matcher.to_bytes())
    asked = [f"w{number:03}{letter}" for number in range(0, 131, 10) for letter in "abcg"]
    expected = [[id for id, words in alive.items() if (text in words) is not negated] for text in asked]
    assert [matcher.match({"s": text}) for text in asked] == expected
    assert list(map(sorted, matcher.match_batch(pa.table({"s": asked})).to_pylist())) == expected
    assert matcher.stats()["undecided"] == 0
