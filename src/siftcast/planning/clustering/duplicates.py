"""Subscriptions that matched the same events get one label.

Nothing tells them apart, and splitting them would send every event twice. Their coordinates still differ: by rounding
where some are landmarks and others were extended to them, and by much more where they are in different base groups,
whose projections differ. So labels are settled after clustering: among equals the label that most of them have counts,
the lowest where several tie. The answer does not depend on the order of rows, and both ways to cluster, in one process
and on Spark, end with it.

Cost: O(matches), about 1 s for 1,000,000 subscriptions.
"""

from __future__ import annotations

import numpy as np

from siftcast.planning.clustering.matched_events import Integers, MatchedEvents


def settle_labels(matched: MatchedEvents, labels: Integers) -> tuple[Integers, Integers]:
    """One label for equal rows, numbered from 0 without gaps; and which of the old labels are still in use."""
    kinds = same_matches(matched)
    span = int(labels.max(initial=0)) + 1
    pairs, counts = np.unique(kinds * span + labels, return_counts=True)
    best = np.lexsort((pairs % span, -counts, pairs // span))
    _, first = np.unique(pairs[best] // span, return_index=True)
    used, settled = np.unique(pairs[best][first] % span, return_inverse=True)
    return settled[kinds], used


def same_matches(matched: MatchedEvents) -> Integers:
    """A number for each row, from 0, equal for rows with the same events."""
    matrix = matched.matrix if matched.matrix.has_sorted_indices else matched.matrix.sorted_indices()
    content, width = matrix.indices.tobytes(), matrix.indices.itemsize
    ends = (matrix.indptr * np.int64(width)).tolist()
    known: dict[tuple[int, bytes], int] = {}
    # `own` tells rows apart that differ only in events which this view leaves out.
    keys = zip(matched.own.tolist(), ends, ends[1:], strict=False)
    numbers = (known.setdefault((own, content[begin:end]), len(known)) for own, begin, end in keys)
    return np.fromiter(numbers, dtype=np.int64, count=len(matched))
