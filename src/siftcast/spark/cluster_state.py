"""What a stream of clusters knows between two micro-batches, and how it survives a restart.

The state is the recent matches of every subscription and the clusters that are installed, with the coordinates that
the next clustering is compared with. It is one file per micro-batch, written whole or not at all; the file is the
commit of its micro-batch, and only the last two are kept. Numbers of subscriptions mean something only together with
the ids, and matches only together with the filters, so the state remembers a fingerprint of both and refuses to
continue with others.

Size: 24 bytes per match and 8 per coordinate, which is 1.3 kB for a subscription with 20 matches in 100 dimensions.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from siftcast.model import DataError
from siftcast.planning.clustering import MatchedEvents, SubscriptionClusters, matched_events
from siftcast.planning.clustering.matched_events import Integers
from siftcast.spark.matched_numbers import ranks_within
from siftcast.spark.recent_matches import RecentMatches
from siftcast.spark.stream_folders import numbered, numbered_path, write_again

_KEPT = 2
_FITTED = ("labels_", "centres_", "coordinates_")


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Recent matches after a micro-batch, the version of the clusters, and the clusters if there are any yet."""

    batch: int
    version: int
    recent: RecentMatches
    clusters: SubscriptionClusters | None

    def matched(self, count: int, recent: int) -> MatchedEvents:
        """The recent matches of `count` subscriptions as clustering reads them."""
        pairs = self.recent
        return matched_events(pairs.subscriptions, pairs.events, pairs.positions, count=count, recent=recent)


NO_STATE = ClusterState(-1, 0, RecentMatches(*(np.empty(0, np.int64) for _ in range(3))), None)


def with_matches(state: ClusterState, batch: int, fresh: RecentMatches, recent: int) -> ClusterState:
    """The state after the matches of another micro-batch, whose events are all newer."""
    old = state.recent
    begin = int(old.positions.max(initial=-1)) + 1
    subscriptions = np.concatenate([old.subscriptions, fresh.subscriptions])
    events = np.concatenate([old.events, fresh.events])
    positions = np.concatenate([old.positions, fresh.positions + begin])
    # An event that comes again, in every column the same, is one event, as new as it was the last time.
    by_event = np.lexsort((-positions, events, subscriptions))
    again = (np.diff(subscriptions[by_event]) == 0) & (np.diff(events[by_event]) == 0)
    once = by_event[np.concatenate([[True], ~again])[: len(by_event)]]
    order = once[np.lexsort((-positions[once], subscriptions[once]))]
    kept = order[ranks_within(subscriptions[order]) < recent]
    return replace(state, batch=batch, recent=RecentMatches(subscriptions[kept], events[kept], positions[kept]))


class StateFolder:
    """The states of a stream in a folder; the newest counts."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._folder = folder
        self._fingerprint = fingerprint

    def read(self, template: SubscriptionClusters) -> ClusterState:
        """The newest state, or an empty one; `template` has the parameters of the clusters."""
        known = numbered(self._folder, ".npz")
        if not known:
            return NO_STATE
        path = numbered_path(self._folder, known[-1], ".npz")
        with np.load(path, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
        if str(arrays["fingerprint"]) != self._fingerprint:
            raise DataError(f"{path}: was written with other subscriptions; start with another checkpoint and output")
        clusters = None
        if "labels_" in arrays:
            clusters = SubscriptionClusters(**template.get_params())
            for name in _FITTED:
                setattr(clusters, name, arrays[name])
            clusters.placements_ = ()  # a stream places nobody: it clusters all of them again
        recent = RecentMatches(arrays["subscriptions"], arrays["events"], arrays["positions"])
        return ClusterState(known[-1], int(arrays["version"]), recent, clusters)

    def write(self, state: ClusterState) -> None:
        """Commits a micro-batch."""
        arrays: dict[str, Any] = {
            "fingerprint": np.array(self._fingerprint),
            "version": np.array(state.version),
            "subscriptions": state.recent.subscriptions,
            "events": state.recent.events,
            "positions": state.recent.positions,
        }
        if state.clusters is not None:
            arrays |= {name: getattr(state.clusters, name) for name in _FITTED}
        content = io.BytesIO()
        np.savez(content, **arrays)
        write_again(numbered_path(self._folder, state.batch, ".npz"), content.getvalue())
        for old in numbered(self._folder, ".npz")[:-_KEPT]:
            numbered_path(self._folder, old, ".npz").unlink(missing_ok=True)


def labels_of(state: ClusterState, count: int) -> Integers:
    """The installed clusters, all without one if there are none."""
    if state.clusters is None:
        return np.full(count, -1, dtype=np.int64)
    labels: Integers = state.clusters.labels_
    return labels
