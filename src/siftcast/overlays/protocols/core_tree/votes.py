"""Core selection (section 4.5.1): votes that go up the tree of the leader, and the choice that it makes.

    every beat   a peer adds its own vote to those of its children and passes the best `kept` on to its parent. With
                 fewer than twice as many as there are cores, some that many vote for are lost on the way.
    SPath, MaxPath   the links go up instead, O(N · degree) bytes near the leader, which scores paths itself
    leader       chooses once the votes of the same number of peers have come for some beats, then every `rebuild_ms`,
                 and when a core has been missing for some beats. A choice that is hardly better than the last is not
                 made.

The choice comes down the tree in the beats of parents. A peer that becomes leader keeps the last choice until there is
reason for another one, so that a leader that is lost takes no core with it.

SPotent adds a number and two inverses, 1/ms and 1/ms; here weights and delays are in units of the mean link, which the
leader counts from the ballots and announces with its choice. Until then a peer takes its own mean. Distant neighbours
do not count as neighbours in it: peers at the edge of a network have most of them, because they are far from everybody,
and events would go by the edge. Their delays do count: else a peer at the edge with one neighbour beside it, and no
other that is near, would seem to be near everybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np
from scipy.sparse import csr_array

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.core_tree.messages import Ballot, Choice
from siftcast.overlays.protocols.core_tree.options import CoreTreeSettings
from siftcast.space.core_scores import best, path_counts, path_sums, potentials

Edge = tuple[NodeId, NodeId, float]
_STEADY_BEATS = 3
_MISSING_BEATS = 3
_BETTER_BY = 0.05
"""By how much of its own score another choice must be better."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a peer knows of its links: for each neighbour the delay, the weight, and how unlike its interests are."""

    delays_ms: Mapping[NodeId, float]
    weights: Mapping[NodeId, float]
    unlike: Mapping[NodeId, float]
    distant: frozenset[NodeId] = frozenset()
    """Neighbours for the sake of holding together."""


class Votes:
    """One peer's part in the selection of cores."""

    __slots__ = ("_ballots", "_chosen_ms", "_missing", "_node", "_peers", "_settings", "_steady", "choice")

    def __init__(self, node: NodeId, settings: CoreTreeSettings) -> None:
        self.choice = Choice(node, 0, (node,))
        """The choice that holds."""
        self._node = node
        self._settings = settings
        self._ballots: dict[NodeId, Ballot] = {}
        self._peers = 0
        self._steady = 0
        self._missing = 0
        self._chosen_ms = 0.0

    def take(self, child: NodeId, ballot: Ballot) -> None:
        """A child has voted."""
        before = self._ballots.get(child)
        if before is None or before.number < ballot.number:
            self._ballots[child] = ballot

    def keep(self, children: Iterable[NodeId]) -> None:
        """Drops the ballots of all others."""
        self._ballots = {child: self._ballots[child] for child in children if child in self._ballots}

    def follow(self, choice: Choice) -> None:
        """The parent says what was chosen."""
        self.choice = choice

    # -- voting ----------------------------------------------------------------------------------------------

    def ballot(self, standing: Standing, number: int) -> Ballot:
        """The votes of this peer and of all below it."""
        votes = self._own(standing)
        present = {self._node} if self._node in self.choice.cores else set[NodeId]()
        edges = self._edges(standing) if self._settings.scores_paths else []
        peers, links = 1, len(standing.weights)
        delays_ms, weights = sum(standing.delays_ms.values()), sum(standing.weights.values())
        for each in self._ballots.values():
            peers += each.peers
            links += each.links
            delays_ms += each.delays_ms
            weights += each.weights
            present.update(each.present)
            edges += each.edges
            for candidate, count in each.votes:
                votes[candidate] = votes.get(candidate, 0.0) + count
        kept = tuple((each, votes[each]) for each in best(votes, self._settings.kept))
        return Ballot(number, peers, kept, tuple(sorted(present)), links, delays_ms, weights, tuple(edges))

    def _own(self, standing: Standing) -> dict[NodeId, float]:
        if not standing.weights or self._settings.scores_paths:
            return {}
        match self._settings.strategy:
            case "CNeigh":
                return {_least(standing.weights): 1.0}
            case "Sim":
                return {_least(standing.unlike): 1.0}
        count = len(standing.weights)
        weight = self.choice.weight or sum(standing.weights.values()) / count
        delay_ms = self.choice.delay_ms or sum(standing.delays_ms.values()) / count
        near = {0: {peer: each / weight for peer, each in standing.weights.items()}}
        far = {0: {peer: each / delay_ms for peer, each in standing.delays_ms.items()}}
        potential = float(potentials(near, far, 1, normalised=False)[0])
        return {self._node: potential - len(standing.distant & standing.weights.keys())}

    def _edges(self, standing: Standing) -> list[Edge]:
        return [(self._node, peer, weight) for peer, weight in standing.weights.items() if self._node < peer]

    # -- choosing --------------------------------------------------------------------------------------------

    def lead(self, standing: Standing, now: float) -> None:
        """A beat of the leader: chooses, if it is time to."""
        ballot = self.ballot(standing, 0)
        self._steady = self._steady + 1 if ballot.peers == self._peers else 0
        self._peers = ballot.peers
        self._missing = self._missing + 1 if set(self.choice.cores) - set(ballot.present) else 0
        is_due = not self.choice.version or now - self._chosen_ms >= self._settings.rebuild_ms
        if self._missing >= _MISSING_BEATS or (is_due and self._steady >= _STEADY_BEATS):
            self._choose(ballot, now)

    def rest(self) -> None:
        """A beat of somebody who is not the leader."""
        self._steady = self._missing = 0

    def _choose(self, ballot: Ballot, now: float) -> None:
        self._chosen_ms = now
        scores = self._path_scores(ballot.edges) if self._settings.scores_paths else dict(ballot.votes)
        cores = tuple(best(scores, self._settings.cores)) or (self._node,)
        is_better = self.choice.version == 0 or self._missing >= _MISSING_BEATS or self._is_better(cores, scores)
        links = max(ballot.links, 1)
        self._missing = 0
        self.choice = Choice(
            self._node,
            self.choice.version + 1 if is_better else self.choice.version,
            cores if is_better else self.choice.cores,
            _about(self.choice.delay_ms, ballot.delays_ms / links),
            _about(self.choice.weight, ballot.weights / links),
        )

    def _is_better(self, cores: tuple[NodeId, ...], scores: Mapping[NodeId, float]) -> bool:
        if len(self.choice.cores) != len(cores):
            return True
        least = min(scores.values(), default=0.0)  # of those that were not passed on, nobody knows more
        now = sum(scores.get(core, least) for core in self.choice.cores)
        then = sum(scores.get(core, least) for core in cores)
        return then - now > _BETTER_BY * abs(now)

    def _path_scores(self, edges: Iterable[Edge]) -> dict[NodeId, float]:
        listed = [edge for edge in edges if isfinite(edge[2]) and edge[2] > 0]
        peers = sorted({self._node, *(one for one, _, _ in listed), *(other for _, other, _ in listed)})
        places = {peer: place for place, peer in enumerate(peers)}
        rows = np.array([places[one] for one, _, _ in listed], dtype=np.int64)
        columns = np.array([places[other] for _, other, _ in listed], dtype=np.int64)
        graph = csr_array((np.array([each[2] for each in listed]), (rows, columns)), shape=(len(peers), len(peers)))
        scores = -path_sums(graph) if self._settings.strategy == "SPath" else path_counts(graph)
        return {peer: float(scores[place]) for peer, place in places.items() if isfinite(scores[place])}


def _least(numbers: Mapping[NodeId, float]) -> NodeId:
    return min(numbers, key=lambda peer: (numbers[peer], peer))


def _about(before: float, now: float) -> float:
    """A mean that follows in steps, so that not each measurement is announced to everybody."""
    return before if before and abs(now - before) <= 0.1 * before else now
