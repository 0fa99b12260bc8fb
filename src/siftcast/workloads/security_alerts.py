"""Security alerts: sparse records in bursts, filters by set inclusion (layering paper, Table 1).

An event is one alert of a sensor. Most fields are missing most of the time: an ICMP probe has no ports,
only a login alert names an account, many alerts know no destination. That makes this the preset that tries
SQL's NULL logic. Alerts come in bursts (the table's "irregular bursts"): a burst is one attack with one
signature, one source network and one sensor, its length geometric. Signatures follow a Zipf law ("power
law" clustering).

    signature IN ('port-scan', 'ssh-brute-force') AND severity >= 3      source_ip LIKE '10.4.%'
    protocol = 'tcp' AND destination_port IN (22, 23, 3389)              account IS NOT NULL AND severity > 2
    sensor IN ('sensor-3', 'sensor-9') AND NOT protocol = 'icmp'         destination_port IS NULL AND ...

The table fixes the profile; signatures, networks and mixture are ours. Cost: O(rows).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.model import Attribute, Schema
from siftcast.workloads.content_values import Flags, Integers
from siftcast.workloads.filter_mixture import FilterKind, draw_distinct, mix_filters
from siftcast.workloads.filter_text import Text, integer_text, join_text, pick, quote_all
from siftcast.workloads.hot_spots import draw_ranks, zipf_weights
from siftcast.workloads.parameters import require_at_least, require_count, require_fraction
from siftcast.workloads.preset import ApplicationProfile, Content, Request
from siftcast.workloads.tables import draw_parties, events_table, numbered, subscriptions_table

PROFILE = ApplicationProfile(
    expressiveness="set inclusion",
    publisher_bandwidth="very small",
    latency_ms_max=(100.0, 1_000.0),
    subscription_clustering="power law",
    subscribers=(1_000_000, 1_000_000),
    subscribe_frequency="low",
    publishers=(1_000, 1_000),
    events_per_s=None,
)

SEVERITY_MAX = 5
SIGNATURES = (
    "port-scan", "ssh-brute-force", "ping-sweep", "sql-injection", "failed-login", "malware-beacon",
    "dns-tunnel", "smb-exploit", "rdp-brute-force", "cross-site-script", "udp-flood", "privilege-escalation",
    "data-exfiltration", "ransomware-note", "rogue-dhcp", "path-traversal",
)  # fmt: skip
PROTOCOLS = ("tcp", "udp", "icmp")
_ICMP = PROTOCOLS.index("icmp")
# Protocol of each signature, and whether it concerns an account.
_PROTOCOL_OF = np.array([0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0])
_ACCOUNT_OF = np.array([0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0], dtype=np.bool_)
_PORTS = np.array([443, 22, 80, 445, 3389, 53, 23, 8080, 3306, 123])
_PORT_MAX = 65_535


@dataclass(frozen=True, slots=True)
class AlertOptions:
    """Sensors, networks, burst length and how much is missing."""

    sensors: int = 1_000
    networks: int = 256
    burst_mean: float = 8.0
    missing_share: float = 0.4
    subscribers: int = 1_000_000

    def __post_init__(self) -> None:
        require_count("sensors", self.sensors, least=8)
        require_count("networks", self.networks, least=1, most=65_536)
        require_at_least("burst_mean", self.burst_mean, 1.0)
        require_fraction("missing_share", self.missing_share, zero_allowed=True)
        require_count("subscribers", self.subscribers, least=1)


def build_security_alerts(options: AlertOptions, request: Request) -> Content:
    """Bursts of alerts and set-inclusion subscriptions."""
    streams = request.streams
    count = request.events
    rng = streams.generator("events")
    bursts = np.cumsum(rng.random(count) < 1.0 / options.burst_mean)
    size = int(bursts[-1]) + 1 if count else 1
    signature = draw_ranks(size, zipf_weights(len(SIGNATURES)), rng)[bursts]
    source = draw_ranks(size, zipf_weights(options.networks), rng)[bursts]
    sensor = draw_ranks(size, zipf_weights(options.sensors), rng)[bursts]
    severity = np.clip(1 + signature // 4 + rng.integers(-1, 2, size=count), 0, SEVERITY_MAX)
    protocol = _PROTOCOL_OF[signature]
    ported = protocol != _ICMP
    columns: dict[str, Any] = {
        "severity": severity,
        "signature": pick(SIGNATURES, signature),
        "source_ip": _addresses(source, rng),
        "destination_ip": _missing(
            _addresses(rng.integers(0, options.networks, size=count), rng),
            rng.random(count) < options.missing_share,
        ),
        "protocol": _missing(pick(PROTOCOLS, protocol), rng.random(count) < options.missing_share / 8.0),
        "source_port": _missing(
            pa.array(rng.integers(1_024, _PORT_MAX, size=count)),
            ~ported | (rng.random(count) < options.missing_share),
        ),
        "destination_port": _missing(pa.array(_PORTS[draw_ranks(count, zipf_weights(_PORTS.size), rng)]), ~ported),
        "sensor": numbered("sensor", sensor + 1),
        "account": _missing(numbered("account", rng.integers(1, 500, size=count)), ~_ACCOUNT_OF[signature]),
    }
    schema = _schema()
    filters = mix_filters(request.subscriptions, _Analysts(options).kinds(), streams.generator("subscriptions"))
    subscribers = draw_parties(
        "analyst", request.subscriptions, parties=options.subscribers, rng=streams.generator("subscribers")
    )
    delays = np.rint(streams.generator("delays").uniform(*PROFILE.latency_ms_max, size=request.subscriptions))
    return Content(
        schema,
        events_table(schema, columns, publishers=columns["sensor"]),
        subscriptions_table(filters, subscribers=subscribers, delay_ms_max=delays),
    )


def _schema() -> Schema:
    return Schema(
        [
            Attribute("severity", "int", (0, SEVERITY_MAX), 1),
            Attribute("signature", "string", SIGNATURES),
            Attribute("source_ip", "string"),
            Attribute("destination_ip", "string"),
            Attribute("protocol", "string", PROTOCOLS),
            Attribute("source_port", "int", (0, _PORT_MAX), 1),
            Attribute("destination_port", "int", (0, _PORT_MAX), 1),
            Attribute("sensor", "string"),
            Attribute("account", "string"),
        ],
        name="security-alerts",
    )


def _missing(column: Text, absent: Flags) -> Text:
    return pc.if_else(pa.array(absent), pa.scalar(None, column.type), column)


def _prefixes(networks: Integers) -> Text:
    """The first two octets of a network, `10.4.`; networks past 256 continue at 11.0."""
    return join_text(integer_text(10 + networks // 256), ".", integer_text(networks % 256), ".")


def _addresses(networks: Integers, rng: np.random.Generator) -> Text:
    hosts = rng.integers(0, 65_536, size=networks.size, dtype=np.int64)
    return join_text(_prefixes(networks), integer_text(hosts // 256), ".", integer_text(hosts % 256))


@dataclass(frozen=True, slots=True)
class _Analysts:
    """The kinds of filter that security staff write."""

    options: AlertOptions

    def kinds(self) -> tuple[FilterKind, ...]:
        return (
            FilterKind(0.30, self._signatures),
            FilterKind(0.20, self._ports),
            FilterKind(0.20, self._network),
            FilterKind(0.14, self._sensors),
            FilterKind(0.08, self._severe),
            FilterKind(0.05, self._accounts),
            FilterKind(0.03, self._portless),
        )

    def _least_severity(self, rows: int, rng: np.random.Generator) -> Text:
        return join_text("severity >= ", integer_text(rng.integers(2, SEVERITY_MAX, size=rows)))

    def _signatures(self, rows: int, rng: np.random.Generator) -> Text:
        members = draw_distinct(rows, 3, weights=zipf_weights(len(SIGNATURES)), rng=rng)
        listed = [pick(quote_all(SIGNATURES), members[:, place]) for place in range(3)]
        head = join_text("signature IN (", listed[0], ", ", listed[1], ", ", listed[2], ") AND ")
        return join_text(head, self._least_severity(rows, rng))

    def _ports(self, rows: int, rng: np.random.Generator) -> Text:
        members = _PORTS[draw_distinct(rows, 3, weights=zipf_weights(_PORTS.size), rng=rng)]
        listed = [integer_text(members[:, place]) for place in range(3)]
        protocol = pick(quote_all(PROTOCOLS[:2]), (rng.random(rows) < 0.2).astype(np.int64))
        ports = join_text(listed[0], ", ", listed[1], ", ", listed[2])
        return join_text("protocol = ", protocol, " AND destination_port IN (", ports, ")")

    def _network(self, rows: int, rng: np.random.Generator) -> Text:
        prefix = _prefixes(draw_ranks(rows, zipf_weights(self.options.networks), rng))
        side = pick(("source_ip", "destination_ip"), (rng.random(rows) < 0.3).astype(np.int64))
        return join_text(side, " LIKE '", prefix, "%'")

    def _sensors(self, rows: int, rng: np.random.Generator) -> Text:
        members = draw_distinct(rows, 2, weights=zipf_weights(self.options.sensors), rng=rng) + 1
        first, second = integer_text(members[:, 0]), integer_text(members[:, 1])
        return join_text("sensor IN ('sensor-", first, "', 'sensor-", second, "') AND NOT protocol = 'icmp'")

    def _severe(self, rows: int, rng: np.random.Generator) -> Text:
        signature = pick(quote_all(SIGNATURES), draw_ranks(rows, zipf_weights(len(SIGNATURES)), rng))
        return join_text("severity = 5 OR (", self._least_severity(rows, rng), " AND signature = ", signature, ")")

    def _accounts(self, rows: int, rng: np.random.Generator) -> Text:
        head = integer_text(rng.integers(1, 50, size=rows))
        return join_text(
            "account IS NOT NULL AND account LIKE 'account-", head, "%' AND ", self._least_severity(rows, rng)
        )

    def _portless(self, rows: int, rng: np.random.Generator) -> Text:
        sensor = integer_text(draw_ranks(rows, zipf_weights(self.options.sensors), rng) + 1)
        return join_text("destination_port IS NULL AND sensor = 'sensor-", sensor, "'")
