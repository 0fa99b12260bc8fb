"""A node of any planned scheme whose network may change: the scheme's plan for each epoch, made where it is needed.

All nodes make the same plan from the same epoch (`Scheme.plan` depends on the ground alone, and the ground on the
epoch), so that views need not carry plans. Places in a plan are those in the list of the epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from siftcast.overlays.contract import Protocol
from siftcast.overlays.durability import Durable, Roster, Settings
from siftcast.overlays.epochs.epochs import Epochs, Instance
from siftcast.overlays.epochs.planned import Planned
from siftcast.overlays.epochs.settings import DEFAULTS, EpochSettings
from siftcast.overlays.epochs.view import Epoch, Member, View
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Scheme
from siftcast.schemes.ground import Ground

Survey = Callable[[Epoch], tuple[Ground, Any]]
"""What is known about the network of an epoch, and the options of the scheme in it."""


def planned_node(
    member: Member,
    scheme: Scheme[Any, Any],
    survey: Survey,
    tables: TableFactory,
    *,
    first: View | None = None,
    digest: str = "",
    network: str = "",
    durable: Settings | None = None,
    settings: EpochSettings = DEFAULTS,
) -> Planned:
    """A node that runs a scheme, durable with these settings, from a first view or as one that joins."""

    def make(epoch: Epoch) -> Instance:
        ground, options = survey(epoch)
        plan = scheme.assign(scheme.plan(ground, options), epoch.nodes)
        protocol = scheme.nodes(plan, options, tables)(member.node)
        return Instance(protocol, frozenset(scheme.contacts(plan, member.node)))

    epochs = Epochs(member.node, make, scheme.protocol.messages, guarded=durable is not None)
    body: Protocol = epochs
    names = {member.node: member.name} if first is None else dict(first.names)
    if durable is not None:
        body = Durable(member.node, epochs, durable, Roster(names, network=network, layout=digest))
    return Planned(member, epochs, body, names, first=first, digest=digest, settings=settings)
