"""From a configuration to a part in an overlay: identities for names, a tree or plan, and whom to connect to.

All nodes begin with the same plan from the same list, in whatever order each of them writes it (`planning`). A digest
of the list is exchanged when two nodes meet. What is kept on disk names the network and the digest (`Roster`), so that
a network that was laid out otherwise is noticed. From then on members come and go by views (`overlays.epochs`), which
are kept, too: the list is how a network begins.

A node that joins has no list (`lay_out_joining`): it has the terms of the network from a node of it (`Invitation`), and
begins with that node as its contact.

A node that keeps things on disk runs its scheme inside `Durable`. All nodes of a network do, or none: what durable
nodes say to each other means nothing to the others, so it is part of the digest. A scheme that cannot be durable, and
whose nodes find each other by themselves, may have a data folder, too: for who the node is and whom it knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import msgspec
import numpy as np

from siftcast.model import Schema
from siftcast.model.errors import SiftcastError
from siftcast.model.toml_files import named_option
from siftcast.overlays.contract import NodeId, Protocol
from siftcast.overlays.durability import Durable, NotDurableError, Settings
from siftcast.overlays.epochs.settings import EpochSettings
from siftcast.overlays.epochs.view import Member, View, first_view
from siftcast.overlays.roles import EDGE
from siftcast.overlays.tables import TableFactory
from siftcast.runtimes.live.errors import ConfigurationError, VersionError
from siftcast.runtimes.live.node.configuration import ConfigurationFile, MemberSpec, OverlaySpec
from siftcast.runtimes.live.node.identity import identity_of, listed_identity
from siftcast.runtimes.live.node.planning import NAMED, PlanSettings, remarks_on_ground, survey_of
from siftcast.runtimes.live.wire.frames import OLDEST, VERSION
from siftcast.runtimes.live.wire.node_frames import Invitation
from siftcast.schemes import Ground, Scheme, scheme, schemes
from siftcast.schemes.planned_node import planned_node
from siftcast.space import Tree


class Terms(msgspec.Struct, frozen=True):
    """What all nodes of a network agree on, whoever they are."""

    network: str
    scheme: str
    options: Mapping[str, Any]
    schema: str | None
    durable: bool

    @property
    def digest(self) -> str:
        """The same for all nodes of the network, and for those of no other."""
        shape = [self.network, self.scheme, sorted(self.options.items()), self.schema, self.durable]
        return blake2b(msgspec.msgpack.encode(shape), digest_size=16, person=b"siftcast-terms").hexdigest()


def oldest_of(name: str) -> int:
    """The oldest version whose nodes can be in a network of this scheme."""
    return VERSION if scheme(name).is_renewed else OLDEST["node"]


def check_version(name: str, version: int, whose: str) -> None:
    """Raises VersionError if whoever speaks this version would not understand nodes of a scheme."""
    if version < (oldest := oldest_of(name)):
        raise VersionError(
            f"the messages of scheme '{name}' have changed: {whose} speaks version {version}, and nodes of such a "
            f"network speak version {oldest}; give all of them the same siftcast"
        )


@dataclass(frozen=True, slots=True)
class Part:
    """What a node runs, what in it keeps promises, and whom it begins with."""

    protocol: Protocol
    durable: Durable | None
    contacts: tuple[NodeId, ...]
    remarks: tuple[str, ...] = ()
    """What in the options does not come out as it says, in the plan that the network begins with."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """A node's part in a network."""

    node: NodeId
    names: Mapping[NodeId, str]
    """Those of the list, or this one alone."""
    addresses: Mapping[NodeId, str]
    scheme: str
    part: Part
    digest: str
    """What nodes of one list agree on."""
    terms: Terms

    @property
    def protocol(self) -> Protocol:
        """What the node runs."""
        return self.part.protocol

    @property
    def contacts(self) -> tuple[NodeId, ...]:
        """Whom the node begins with."""
        return self.part.contacts

    @property
    def chosen(self) -> Scheme[Any, Any]:
        """The scheme itself."""
        return scheme(self.scheme)

    @property
    def is_planned(self) -> bool:
        """Whether its nodes have a plan, and so know all members."""
        return not self.chosen.begins_with_contacts

    @property
    def oldest(self) -> int:
        """The oldest version whose nodes understand what this one says."""
        return oldest_of(self.scheme)

    @property
    def base(self) -> str:
        """What all nodes of the network agree on."""
        return self.terms.digest


def lay_out(
    file: ConfigurationFile, tables: TableFactory, identity: NodeId | None = None, *, durable: bool = False
) -> Overlay:
    """A node's part in the network its configuration names, or in one of its own."""
    spec, members = file.configuration.overlay, _members(file)
    own = identity_of(file) if identity is None else identity
    nodes = _identities(file, members, own)
    names = {node: member.name for node, member in zip(nodes, members, strict=True)}
    addresses = {node: member.address for node, member in zip(nodes, members, strict=True)}
    chosen, options = _configured(file)
    durable = durable and not chosen.begins_with_contacts
    schema, text = _schema(file, chosen)
    terms = Terms(spec.network, chosen.name, spec.options, text, durable)
    digest = _digest(spec, members, durable) if spec.nodes else terms.digest
    _check_roles(file, members, chosen)
    if chosen.begins_with_contacts:
        try:
            part = _unplanned(chosen, options, schema, tables, own, nodes)
        except SiftcastError as error:
            raise file.error(named_option("overlay.options", spec.options, str(error)), str(error)) from None
        if spec.ground != NAMED:
            part = replace(part, remarks=(f"ground = '{spec.ground}' of no effect: '{chosen.name}' has no plan",))
        return Overlay(own, names, addresses, chosen.name, part, digest, terms)
    _check_links(file, members)
    links = [(listed[a], listed[b]) for listed in [{names[node]: node for node in nodes}] for a, b in spec.links]
    listed_members = tuple(
        Member.of(node, member.name, member.region, member.roles) for node, member in zip(nodes, members, strict=True)
    )
    coordinator = next(member.node for member in listed_members if not member.edge)
    settings = PlanSettings(dict(spec.options), links, ground=spec.ground, ground_ms=spec.ground_ms)
    first = first_view(listed_members, coordinator, settings.encode())
    own_member = next(member for member in listed_members if member.node == own)
    part = _planned(file, chosen, schema, tables, own_member, terms, first=first, digest=digest)
    return Overlay(own, names, addresses, chosen.name, part, digest, terms)


def lay_out_joining(
    file: ConfigurationFile,
    invitation: Invitation,
    tables: TableFactory,
    identity: NodeId,
    *,
    others: Sequence[NodeId] = (),
    durable: bool = False,
) -> Overlay:
    """The part of a node in a network that it joins; `others` are nodes that it knows from before."""
    node = file.configuration.node
    terms = Terms(
        invitation.network, invitation.scheme, invitation.options, invitation.schema, invitation.durable
    )  # fmt: skip
    if terms.durable and not durable:
        remedy = "name a folder with --data, or as data in [node]"
        raise file.error("node.data", f"network '{terms.network}' keeps durable events", remedy)
    if terms.digest != invitation.digest:
        problem = f"node '{invitation.name}' lays out network '{terms.network}' otherwise than this one would"
        raise file.error("join.seeds", problem, "give both the same siftcast")
    contacts = tuple(dict.fromkeys((invitation.identity, *others)))
    try:
        chosen = scheme(terms.scheme)
        schema = None if terms.schema is None else Schema.parse(terms.schema)
        if chosen.begins_with_contacts:
            if node.roles:
                raise file.error("node.roles", f"{chosen.name}, the scheme there, has no plan", "leave them out")
            alone = _unplanned(chosen, chosen.configure(terms.options), schema, tables, identity, [identity])
            part = Part(alone.protocol, None, contacts)
        else:
            member = Member.of(identity, node.name, node.region, node.roles)
            part = _planned(file, chosen, schema, tables, member, terms, digest=terms.digest, contacts=contacts)
    except ConfigurationError:
        raise
    except SiftcastError as error:
        raise file.error("join.seeds", f"network '{terms.network}' cannot be joined: {error}") from None
    names, addresses = {identity: node.name}, {identity: node.listen}
    return Overlay(identity, names, addresses, chosen.name, part, terms.digest, terms)


def _planned(
    file: ConfigurationFile,
    chosen: Scheme[Any, Any],
    schema: Schema | None,
    tables: TableFactory,
    member: Member,
    terms: Terms,
    *,
    first: View | None = None,
    digest: str = "",
    contacts: tuple[NodeId, ...] = (),
) -> Part:
    """The part of a node in a network that is planned, from its first plan or as one that joins."""
    configuration = file.configuration
    settings = Settings(kept_bytes_max=configuration.limits.kept_bytes_max) if terms.durable else None
    survey = survey_of(chosen, schema)
    remarks: tuple[str, ...] = ()
    try:
        planned = planned_node(
            member,
            chosen,
            survey,
            tables,
            first=first,
            digest=digest,
            network=terms.network,
            durable=settings,
            settings=EpochSettings(absent_ms=configuration.overlay.absent_ms),
        )
        if first is not None:
            ground, options = survey(first.newest)  # so that what cannot be planned is said before anything else
            laid_out = chosen.plan(ground, options)
            follows = configuration.overlay.ground != NAMED
            remarks = (
                *chosen.remarks(ground, options, laid_out), *remarks_on_ground(chosen, follows, ground, laid_out),
            )  # fmt: skip
            plan = chosen.assign(laid_out, first.newest.nodes)
            host = first.newest.stand_in(member.node)
            chosen.nodes(plan, options, tables)(member.node if host is None else host)
            contacts = chosen.contacts(plan, member.node) if host is None else (host,)
    except NotDurableError as error:
        raise file.error("overlay.scheme", str(error), "choose another, or leave out data in [node]") from None
    except (SiftcastError, ValueError, OverflowError, MemoryError) as error:
        named = named_option("overlay.options", configuration.overlay.options, str(error))
        raise file.error(named, str(error) or "is too large") from None
    return Part(planned, planned.durable, contacts, remarks)


def _unplanned(
    chosen: Scheme[Any, Any],
    options: Any,
    schema: Schema | None,
    tables: TableFactory,
    own: NodeId,
    nodes: Sequence[NodeId],
) -> Part:
    """The part of a node in a scheme whose nodes find each other; a list says through whom each of them enters."""
    ground = Ground(np.zeros((len(nodes), len(nodes))), np.random.default_rng(0), schema=schema)
    plan = chosen.assign(chosen.plan(ground, options), nodes)
    return Part(chosen.nodes(plan, options, tables)(own), None, chosen.contacts(plan, own))


def _identities(file: ConfigurationFile, members: Sequence[MemberSpec], own: NodeId) -> list[NodeId]:
    """The identities of all nodes; raises ConfigurationError if two have the same."""
    if not file.configuration.overlay.nodes:
        return [own]
    nodes = [listed_identity(file.configuration.overlay.network, member) for member in members]
    for place, node in enumerate(nodes):
        if nodes.index(node) != place:
            pair = f"'{members[nodes.index(node)].name}' and '{members[place].name}'"
            raise file.error("overlay.nodes", f"{pair} have the same identity {node}", "give each an id of its own")
    return nodes


def _members(file: ConfigurationFile) -> list[MemberSpec]:
    """All nodes of the network, or this one, in the order of their names."""
    node = file.configuration.node
    alone = MemberSpec(name=node.name, address=node.listen, region=node.region, roles=node.roles)
    listed = file.configuration.overlay.nodes or [alone]
    return sorted(listed, key=lambda member: member.name)


def _configured(file: ConfigurationFile) -> tuple[Scheme[Any, Any], Any]:
    spec = file.configuration.overlay
    try:
        chosen = scheme(spec.scheme)
    except SiftcastError as error:
        raise file.error("overlay.scheme", str(error)) from None
    if chosen.simulated_only:
        others = ", ".join(name for name, other in schemes().items() if not other.simulated_only)
        problem = f"'{chosen.name}' runs in the simulator only: {chosen.simulated_only}"
        raise file.error("overlay.scheme", problem, f"those that run on sockets are {others}")
    try:
        options = chosen.configure(spec.options)
    except SiftcastError as error:
        raise file.error(named_option("overlay.options", spec.options, str(error)), str(error)) from None
    if problem := chosen.objection(options, sockets=True, durable=file.configuration.node.data is not None):
        raise file.error("overlay.options", problem, "siftcast schemes lists what each scheme can do")
    return chosen, options


def _check_roles(file: ConfigurationFile, members: Sequence[MemberSpec], chosen: Scheme[Any, Any]) -> None:
    """Raises ConfigurationError where nobody would read roles, or nobody would have a place."""
    key = "overlay.nodes" if file.configuration.overlay.nodes else "node.roles"
    if chosen.begins_with_contacts and any(member.roles for member in members):
        raise file.error(key, f"{chosen.name} has no plan that could read roles", "leave them out")
    if all(EDGE in member.roles for member in members):
        raise file.error(key, "a network begins with a node that is no edge", "let the edge join it")


def _check_links(file: ConfigurationFile, members: Sequence[MemberSpec]) -> None:
    """Raises ConfigurationError unless the links of the configuration are a tree."""
    links = file.configuration.overlay.links
    places = {member.name: place for place, member in enumerate(members)}
    try:
        if links:
            Tree(range(len(members)), [(places[a], places[b]) for a, b in links])
    except (SiftcastError, ValueError) as error:
        remedy = f"{len(members) - 1} links that join all {len(members)} nodes, or leave them out"
        raise file.error("overlay.links", str(error), remedy) from None


def _schema(file: ConfigurationFile, chosen: Scheme[Any, Any]) -> tuple[Schema | None, str | None]:
    """The schema of the content, for a scheme that divides it, and its text."""
    path = file.configuration.overlay.schema
    if not (chosen.needs_schema or (chosen.uses_schema and path is not None)):
        return None, None
    if path is None:
        remedy = "name a file as schema in [overlay], with a domain for the attribute to cut"
        raise file.error("overlay.scheme", f"{chosen.name} divides the content and must know its schema", remedy)
    try:
        return Schema.load(file.beside(path)), file.beside(path).read_text(encoding="utf-8")
    except (SiftcastError, OSError) as error:
        raise file.error("overlay.schema", str(error), "docs/filter-language.md, Schemas, shows one") from None


def _digest(spec: OverlaySpec, members: Sequence[MemberSpec], durable: bool) -> str:
    """What two nodes of one network agree on; addresses may differ, as seen from different places.

    Names count only for the order of places, so a node that is renamed within it is no other layout.
    """
    by_name = {each.name: listed_identity(spec.network, each) for each in members}
    listed = [(by_name[each.name], each.region, *([sorted(set(each.roles))] if each.roles else ())) for each in members]
    links = sorted(sorted(by_name[name] for name in pair) for pair in spec.links)
    shape = [spec.network, spec.scheme, sorted(spec.options.items()), links, listed, durable]
    if spec.ground != NAMED:
        shape += [spec.ground, spec.ground_ms]
    return blake2b(msgspec.msgpack.encode(shape), digest_size=16).hexdigest()
