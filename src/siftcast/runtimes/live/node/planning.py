"""How the nodes of a live network plan it, all of them alike, in each epoch.

A plan is made from what the epoch says: its nodes in the order of their names, their regions and roles, and its
settings (the scheme's options, the links that people wrote down, and what the nodes have measured). Where nobody has
measured anything, nodes of one region are taken to be near, and all parts of the content to be wanted alike.

Whether a network follows its ground by itself (`surveying`) is a setting, too, so that every coordinator knows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from siftcast.model import Schema
from siftcast.overlays.contract import NodeId
from siftcast.overlays.epochs.view import Epoch
from siftcast.overlays.roles import roles_by_place
from siftcast.runtimes.live.node.measured import Measured
from siftcast.schemes import Ground, Scheme
from siftcast.schemes.planned_node import Survey
from siftcast.space import Tree

_NEAR_MS, _FAR_MS = 1.0, 1_000.0
_PLAN_SEED = 0  # all nodes must find the same plan


NAMED, MEASURED = "named", "measured"
GROUND_MS = 60_000.0


class Reckoning(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a plan was made by what was measured, in seconds since 1970, and what that gained.

    Costs are mean delays between two nodes, by the plan before and this one, both as measured then.
    """

    at_s: float
    before_ms: float | None = None
    after_ms: float | None = None


class PlanSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person chose about a network, beside its nodes, and what was measured in it."""

    options: dict[str, Any] = {}
    links: list[tuple[NodeId, NodeId]] = []
    measured: Measured = Measured()
    ground: Literal["named", "measured"] = "named"
    ground_ms: float = GROUND_MS
    reckoning: Reckoning | None = None

    def encode(self) -> bytes:
        """The settings of an epoch."""
        packed = msgspec.structs.replace(self, measured=self.measured.packed())
        return msgspec.msgpack.encode(packed, order="sorted")

    @classmethod
    def decode(cls, data: bytes) -> PlanSettings:
        """The settings behind those of an epoch."""
        if not data:
            return cls()
        packed = msgspec.msgpack.decode(data, type=PlanSettings)
        return msgspec.structs.replace(packed, measured=packed.measured.unpacked())


def survey_of(chosen: Scheme[Any, Any], schema: Schema | None) -> Survey:
    """What all nodes know about the network of an epoch."""

    def survey(epoch: Epoch) -> tuple[Ground, Any]:
        settings = PlanSettings.decode(epoch.settings)
        guessed_ms, measured = np.array(latencies_ms(epoch.regions)), settings.measured
        ground = Ground(
            measured.latencies_ms(epoch.nodes, guessed_ms) if measured.delays_ms else guessed_ms,
            np.random.default_rng(_PLAN_SEED),
            schema=schema,
            tree=_tree(settings.links, epoch.nodes),
            loads=measured.axis_loads(schema),
            roles=roles_by_place(epoch.roles),
        )
        return ground, chosen.configure(settings.options)

    return survey


class PlanCosts:
    """What plans of a scheme cost, so that two can be compared."""

    def __init__(self, chosen: Scheme[Any, Any], schema: Schema | None) -> None:
        self._chosen = chosen
        self._survey = survey_of(chosen, schema)

    def compare(self, epoch: Epoch, after: PlanSettings) -> tuple[float | None, float | None]:
        """The cost of an epoch's plan, and that of one by other settings, both on the ground of the latter.

        None where the scheme gains nothing from another ground. Raises as planning does.
        """
        present = self._chosen.plan(*self._survey(epoch))
        ground, options = self._survey(msgspec.structs.replace(epoch, settings=after.encode()))
        before_ms = self._chosen.cost(present, ground)
        return before_ms, None if before_ms is None else self._chosen.cost(self._chosen.plan(ground, options), ground)

    def goes_by_links(self, epoch: Epoch) -> bool:
        """Whether events go by links that people wrote down, and so delays do not count."""
        ground, options = self._survey(epoch)
        return ground.tree is not None and _goes_by_links(self._chosen, ground, self._chosen.plan(ground, options))


def remarks_on_ground(chosen: Scheme[Any, Any], is_measured: bool, ground: Ground, plan: Any) -> tuple[str, ...]:
    """What whoever asked for measured ground should hear, if the plan does not follow it."""
    if not is_measured or chosen.cost(plan, ground) is not None:
        return ()
    words = f"the plans of '{chosen.name}' do not depend on delays with these options"
    if _goes_by_links(chosen, ground, plan):
        words = "events go by the links that are written down"
    return (f"ground = '{MEASURED}' of no effect: {words}",)


def _goes_by_links(chosen: Scheme[Any, Any], ground: Ground, plan: Any) -> bool:
    """Whether it is for links that people wrote down that delays do not count."""
    free = Ground(ground.latencies_ms, ground.rng, schema=ground.schema)
    written = ground.tree is not None and chosen.cost(plan, ground) is None
    return written and chosen.cost(plan, free) is not None


def latencies_ms(named: Sequence[str]) -> list[list[float]]:
    """How far nodes are from each other by their regions; without any, √n neighbours in the alphabet are a region."""
    size = max(1, round(len(named) ** 0.5))
    regions = named if any(named) else [str(place // size) for place in range(len(named))]
    return [
        [0.0 if here == there else _NEAR_MS if a == b else _FAR_MS for there, b in enumerate(regions)]
        for here, a in enumerate(regions)
    ]


def _tree(links: Sequence[tuple[NodeId, NodeId]], nodes: Sequence[NodeId]) -> Tree | None:
    """The links that people wrote down, as far as both ends are there; whoever is not joined by them is a leaf."""
    if not links:
        return None
    places = {node: place for place, node in enumerate(nodes)}
    edges = [(places[a], places[b]) for a, b in links if a in places and b in places]
    part = list(range(len(nodes)))
    for a, b in edges:
        part = [part[a] if each == part[b] else each for each in part]
    for place in range(1, len(nodes)):
        if part[place] != part[0]:
            edges.append((0, place))
            part = [part[0] if each == part[place] else each for each in part]
    return Tree(range(len(nodes)), edges)
