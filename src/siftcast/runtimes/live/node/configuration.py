"""The configuration of a node: a TOML file, or nothing at all for a node on its own.

Every table and key is documented in docs/configuration.md. A mistake is told with file, line, key and remedy before
the node does anything. Paths are relative to the file. Where no principals are named, whoever reaches a node may use
it; so it listens on this machine only, unless there are principals, TLS, and `allow_remote`.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from siftcast.matching import Matcher
from siftcast.model import FilterLimits, SiftcastError
from siftcast.model.showing import shown
from siftcast.model.toml_files import line_of, parse_toml, read_text
from siftcast.overlays.durability import Settings
from siftcast.overlays.roles import Role
from siftcast.overlays.wire_events import EventLimits
from siftcast.runtimes.live.errors import ConfigurationError
from siftcast.runtimes.live.node.probe_budget import PER_MINUTE
from siftcast.runtimes.live.wire.addresses import DEFAULT_PORT, is_loopback, parse_address
from siftcast.runtimes.live.wire.connection import QUEUE_BYTES_MAX
from siftcast.runtimes.live.wire.frames import FRAME_BYTES_MAX
from siftcast.schemes import DEFAULT_SCHEME

Positive = Annotated[int, Meta(ge=1)]
Milliseconds = Annotated[float, Meta(ge=1)]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$")]
Time = Annotated[datetime, Meta(tz=True)]
"""A time with its zone: without one nobody knows when it is."""
Identity = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_FRAME_OVERHEAD = 64
"""What a frame adds to the event in it, with room to spare."""


_EXAMPLE = "siftcast serve --example"


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a configuration file."""


class NodeSpec(Spec, frozen=True, kw_only=True):
    """Who the node is and where it listens; without `data` nothing outlives it."""

    name: Name = "node"
    id: Identity | None = None
    region: str = ""
    roles: list[Role] = []
    engine: str = "auto"
    listen: str = f"127.0.0.1:{DEFAULT_PORT}"
    allow_remote: bool = False
    advertise: str | None = None
    data: str | None = None
    token_file: str | None = None
    probes_per_minute: Annotated[int, Meta(ge=3, le=1_000_000)] = PER_MINUTE
    traceroute: bool = False


class LimitSpec(Spec, frozen=True, kw_only=True):
    """How much others may ask for."""

    frame_bytes_max: Positive = FRAME_BYTES_MAX
    event_bytes_max: Positive = EventLimits().bytes_max
    event_depth_max: Positive = EventLimits().depth_max
    filter_length_max: Positive = FilterLimits().length_max
    filter_depth_max: Annotated[int, Meta(ge=1, le=150)] = FilterLimits().depth_max
    filter_terms_max: Positive = FilterLimits().terms_max
    connections_max: Positive = 10_000
    subscriptions_max: Positive = 10_000
    filters_length_max: Positive = 8_388_608
    event_id_length_max: Positive = 256
    durable_names_max: Annotated[int, Meta(ge=0)] = 1_000
    policy_events_max: Positive = 1_000_000
    policy_bytes_max: Positive = 1_073_741_824
    policy_age_ms_max: Milliseconds = 31_622_400_000.0
    policy_refusals_max: Positive = 1_000
    policy_dead_letters_max: Annotated[int, Meta(ge=0)] = 10_000
    kept_bytes_max: Positive = Settings().kept_bytes_max
    failed_logins_per_minute: Positive = 60


class PrincipalLimitSpec(Spec, frozen=True, kw_only=True):
    """How much one principal may ask for; what is left out is as in [limits]."""

    connections_max: Positive | None = None
    subscriptions_max: Positive | None = None
    filters_length_max: Positive | None = None
    event_id_length_max: Positive | None = None
    durable_names_max: Annotated[int, Meta(ge=0)] | None = None
    policy_events_max: Positive | None = None
    policy_bytes_max: Positive | None = None
    policy_age_ms_max: Milliseconds | None = None
    policy_refusals_max: Positive | None = None
    policy_dead_letters_max: Annotated[int, Meta(ge=0)] | None = None


class SlowConsumerSpec(Spec, frozen=True, kw_only=True):
    """What happens to a client that does not read what it is sent, once so many bytes wait for it."""

    policy: Literal["drop", "disconnect", "spill"] = "drop"
    queue_bytes_max: Positive = QUEUE_BYTES_MAX
    spill_bytes_max: Positive = 67_108_864


class HeartbeatSpec(Spec, frozen=True, kw_only=True):
    """How often both ends of a connection show that they are there; three missed ones end it."""

    interval_ms: Milliseconds = 5_000.0


class MemberSpec(Spec, frozen=True, kw_only=True):
    """A node of the overlay. Nodes of one region are near each other. `id` is its identity, if it has one already."""

    name: Name
    id: Identity | None = None
    address: str
    region: str = ""
    roles: list[Role] = []


class OverlaySpec(Spec, frozen=True, kw_only=True):
    """The network this node is part of. All its nodes must say the same here."""

    network: Name = "siftcast"
    scheme: str = DEFAULT_SCHEME
    options: dict[str, Any] = {}
    schema: str | None = None
    absent_ms: Milliseconds = 15_000.0
    ground: Literal["named", "measured"] = "named"
    ground_ms: Milliseconds = 60_000.0
    links: list[tuple[str, str]] = []
    nodes: list[MemberSpec] = []


class JoinSpec(Spec, frozen=True, kw_only=True):
    """Whom the node asks what network it is to be one of; `network` is what that must be called, if it matters."""

    seeds: Annotated[list[str], Meta(min_length=1)]
    network: Name | None = None


class TlsSpec(Spec, frozen=True, kw_only=True):
    """How the node proves who it is, and whom it believes; without it nothing is encrypted."""

    certificate: str
    key: str
    authorities: str | None = None


class TokenSpec(Spec, frozen=True, kw_only=True):
    """A further token of a principal: one is exchanged without a gap while both are good."""

    hash: str
    expires: Time | None = None
    revoked: bool = False


class PrincipalSpec(Spec, frozen=True, kw_only=True):
    """Someone who may do something: what is left out they may not. The token itself is never written down here.

    `expires` and `revoked` are about all of its tokens; those in `tokens` have their own besides.
    """

    name: Name
    token_hash: str | None = None
    tokens: list[TokenSpec] = []
    expires: Time | None = None
    revoked: bool = False
    publish: str | None = None
    subscribe: str | None = None
    delay_ms_min: Milliseconds | None = None
    see: bool = False
    operate: bool = False
    node: bool = False
    limits: PrincipalLimitSpec = PrincipalLimitSpec()


class TracingSpec(Spec, frozen=True, kw_only=True):
    """How much of what happened to events a node remembers, for `siftcast trace`; 0 remembers nothing."""

    rows_max: Annotated[int, Meta(ge=0, le=10_000_000)] = 10_000


class AuditSpec(Spec, frozen=True, kw_only=True):
    """Where it is written down who did what, and what happens when that cannot be written."""

    file: str
    bytes_max: Annotated[int, Meta(ge=4_096)] = 67_108_864
    files_max: Annotated[int, Meta(ge=2, le=1_000)] = 10
    filters: bool = True
    when_full: Literal["refuse", "go-on"] = "refuse"


class RecordingSpec(Spec, frozen=True, kw_only=True):
    """Where the trace goes, if one is wanted; it is kept in memory until the node stops."""

    folder: str


class LogSpec(Spec, frozen=True, kw_only=True):
    """What is logged, and how."""

    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"


class Configuration(Spec, frozen=True, kw_only=True):
    """A whole file."""

    node: NodeSpec = NodeSpec()
    limits: LimitSpec = LimitSpec()
    slow_consumers: SlowConsumerSpec = SlowConsumerSpec()
    heartbeat: HeartbeatSpec = HeartbeatSpec()
    overlay: OverlaySpec = OverlaySpec()
    join: JoinSpec | None = None
    tls: TlsSpec | None = None
    principal: list[PrincipalSpec] = []
    tracing: TracingSpec = TracingSpec()
    audit: AuditSpec | None = None
    recording: RecordingSpec | None = None
    log: LogSpec = LogSpec()

    @property
    def event_limits(self) -> EventLimits:
        """What an event may be."""
        return EventLimits(self.limits.event_bytes_max, self.limits.event_depth_max)

    @property
    def filter_limits(self) -> FilterLimits:
        """What a filter of a client may be."""
        limits = self.limits
        return FilterLimits(limits.filter_length_max, limits.filter_depth_max, limits.filter_terms_max)


class ConfigurationFile(msgspec.Struct, frozen=True):
    """A configuration with its text, so that whoever finds a mistake later can say where it is."""

    configuration: Configuration
    path: str = "configuration"
    text: str = ""
    is_read: bool = False
    """Whether the text is that of a file, which can be read again."""

    def error(self, key: str, problem: str, remedy: str = "") -> ConfigurationError:
        """An error about a key, with its line."""
        return ConfigurationError(self.path, problem, key=key, line=line_of(self.text, key), remedy=remedy)

    def beside(self, name: str) -> Path:
        """A path in the file, which is relative to it."""
        return Path(self.path).parent / name


def load_configuration(path: str | Path) -> ConfigurationFile:
    """Reads a configuration file; raises ConfigurationError."""
    file = parse_configuration(read_text(path, ConfigurationError, _EXAMPLE), str(path))
    return msgspec.structs.replace(file, is_read=True)


def parse_configuration(text: str, path: str = "configuration", *, for_running: bool = False) -> ConfigurationFile:
    """Reads a configuration from its text; `path` is what errors call it.

    One that is for a network that runs may leave out its nodes: links are then held against those that are there.
    """
    remedy = "docs/configuration.md lists what each key takes"
    if not isinstance(text, str):
        raise ConfigurationError(path, f"is TOML text, not {shown(text)}")
    try:
        configuration = parse_toml(text, path, Configuration, ConfigurationError, _EXAMPLE, otherwise=remedy)
    except ConfigurationError as error:
        if error.key.endswith(".expires") and error.problem != "is not a known key":
            problem, remedy = "is no time with its zone", "write it as 2026-12-31T00:00:00Z"
            raise ConfigurationError(path, problem, key=error.key, line=error.line, remedy=remedy) from None
        if "regex" not in error.problem:
            raise
        remedy = "names are letters, digits, '-' and '_', at most 63"
        raise ConfigurationError(path, "is no name", key=error.key, line=error.line, remedy=remedy) from None
    file = ConfigurationFile(configuration, path, text)
    _check(file, for_running)
    return file


def _check(file: ConfigurationFile, for_running: bool) -> None:
    """What concerns more than one key."""
    spec = file.configuration
    try:
        host, _ = parse_address(spec.node.listen)
    except ValueError as error:
        raise file.error("node.listen", str(error)) from None
    check_reach(file, host)
    try:
        Matcher(spec.node.engine)
    except SiftcastError as error:
        raise file.error("node.engine", str(error)) from None
    _check_paths(file)
    check_tokens(file)
    if spec.limits.frame_bytes_max < spec.limits.event_bytes_max + _FRAME_OVERHEAD:
        remedy = f"at least {spec.limits.event_bytes_max + _FRAME_OVERHEAD}, or a smaller event_bytes_max"
        raise file.error("limits.frame_bytes_max", "an event of the size allowed does not fit a frame", remedy)
    if spec.slow_consumers.policy == "spill" and spec.node.data is None:
        raise file.error("slow_consumers.policy", "spilling needs a folder", "name one as data in [node]")
    _check_overlay(file, for_running)
    _check_join(file)


def check_reach(file: ConfigurationFile, host: str) -> None:
    """Raises ConfigurationError if a node that listens there could be used by people it does not know."""
    spec = file.configuration
    if is_loopback(host):
        return
    problem = f"{host} can be reached from other machines"
    for missing, remedy in (
        (not spec.node.allow_remote, "say allow_remote = true in [node]"),
        (not spec.principal, "say in [[principal]] tables who may do what (siftcast token new prints one)"),
        (spec.tls is None, "name a certificate and its key in [tls], because tokens must not travel readable"),
    ):
        if missing:
            raise file.error("node.listen", problem, f"{remedy}, or listen on 127.0.0.1")


def _check_paths(file: ConfigurationFile) -> None:
    """An empty text would name the folder of the file itself, which nobody means."""
    spec = file.configuration
    found = {
        "node.data": spec.node.data,
        "node.token_file": spec.node.token_file,
        "overlay.schema": spec.overlay.schema,
    }
    if spec.tls is not None:
        found |= {f"tls.{name}": getattr(spec.tls, name) for name in ("certificate", "key", "authorities")}
    if spec.audit is not None:
        found["audit.file"] = spec.audit.file
    if spec.recording is not None:
        found["recording.folder"] = spec.recording.folder
    for key, path in found.items():
        if path is not None and (not path.strip() or "\0" in path):
            raise file.error(key, f"{path!r} names nothing", "name a file or folder, or leave the key out")


def check_tokens(file: ConfigurationFile) -> None:
    """Nodes that ask others who they are must be able to say it themselves, and not for everyone to read."""
    spec = file.configuration
    others = [member for member in spec.overlay.nodes if member.name != spec.node.name]
    if not spec.principal or not others:
        return
    if spec.node.token_file is None:
        remedy = "name a file with this node's token as token_file in [node]; siftcast token new --node NAME makes one"
        raise file.error("node", "a node of a network with principals must say who it is", remedy)
    known = {each.name for each in spec.principal if each.node}
    for number, member in enumerate(spec.overlay.nodes):
        key = f"overlay.nodes[{number}]"
        if member.name != spec.node.name and member.name not in known:
            remedy = f"add a [[principal]] with name = '{member.name}' and node = true"
            raise file.error(f"{key}.name", f"node '{member.name}' could not say who it is", remedy)
        if spec.tls is None and not is_loopback(member.address.rpartition(":")[0].strip("[]")):
            remedy = "name a certificate and its key in [tls]"
            raise file.error(f"{key}.address", "this node's token would travel there readable", remedy)


def _check_overlay(file: ConfigurationFile, for_running: bool) -> None:
    overlay, own = file.configuration.overlay, file.configuration.node.name
    names = [member.name for member in overlay.nodes]
    for number, member in enumerate(overlay.nodes):
        key = f"overlay.nodes[{number}]"
        if names.index(member.name) != number:
            raise file.error(f"{key}.name", f"there are two nodes '{member.name}'", "give each node its own name")
        try:
            parse_address(member.address)
        except ValueError as error:
            raise file.error(f"{key}.address", str(error)) from None
    if names and own not in names:
        remedy = f"add it, or name this node one of {', '.join(names)}"
        raise file.error("node.name", f"'{own}' is not among the nodes of the overlay", remedy)
    _check_roles(file)
    _check_links(file)
    for name in () if for_running and not names else (name for pair in overlay.links for name in pair):
        if name not in names:
            remedy = f"nodes are: {', '.join(names)}" if names else "list the nodes that they link in [[overlay.nodes]]"
            raise file.error("overlay.links", f"there is no node '{name}'", remedy)


def _check_links(file: ConfigurationFile) -> None:
    links = [frozenset(pair) for pair in file.configuration.overlay.links]
    for place, link in enumerate(links):
        a, b = min(link), max(link)
        if a == b:
            raise file.error("overlay.links", f"'{a}' is linked to itself", "name two nodes for each link")
        if links.index(link) != place:
            raise file.error("overlay.links", f"the link of '{a}' and '{b}' is there twice", "name each link once")


def _check_roles(file: ConfigurationFile) -> None:
    """A list says which roles its nodes have, so that all nodes know."""
    node, listed = file.configuration.node, file.configuration.overlay.nodes
    for member in listed:
        if member.name == node.name and node.roles and set(node.roles) != set(member.roles):
            remedy = "write roles beside the name in [[overlay.nodes]], in the files of all nodes"
            raise file.error("node.roles", "the list of nodes says otherwise", remedy)


def _check_join(file: ConfigurationFile) -> None:
    """A node is in a list or joins, and must be found where it says that it is."""
    node, join, overlay = file.configuration.node, file.configuration.join, file.configuration.overlay
    for key, address in (
        ("node.advertise", node.advertise),
        *(("join.seeds", each) for each in (join.seeds if join else ())),
    ):
        try:
            if address is not None and parse_address(address)[1] == 0:
                raise file.error(key, "port 0 is nobody's", "write the port at which it can be called")
        except ValueError as error:
            raise file.error(key, str(error)) from None
    if join is None:
        return
    if overlay.nodes or overlay.links:
        remedy = "leave out [join], or [[overlay.nodes]] and links"
        raise file.error("join.seeds", "a node that joins has no list of nodes of its own", remedy)
    if node.advertise is None and parse_address(node.listen)[0] in ("0.0.0.0", "::"):
        remedy = "say where with --advertise HOST:PORT, or as advertise in [node]"
        raise file.error("node.listen", "other nodes could not call this one there", remedy)
