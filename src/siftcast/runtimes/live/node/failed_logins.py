"""How many logins may fail: per address, and in all. Beyond that none is looked at for a while, right or wrong.

Tokens cannot be guessed (`rights`); what this protects is the node's processor and its log, and it keeps whoever tries
from learning anything at a rate worth having. Each address has a leaky bucket: a failure fills it by one, and it runs
empty at `per_minute` a minute. At a full bucket the address waits, first 1 s, and twice as long as before with each
failure after that, up to 256 s; when the bucket has run empty, the next wait is 1 s again. What is tried while it waits
is refused without a look at the token and changes nothing, so whoever has a right one is let in when the wait is over.

One more bucket, ten times as large, counts all failures. While it is full, addresses wait from which nobody was let in
before; those of people who come here anyway go on. Addresses of IPv6 count by their first 64 bits, which is what one
customer has. Whoever comes through one proxy has one address, and waits for the others behind it.

What is remembered is bounded: SOURCES_MAX addresses with failures and as many of those that were let in, the latest.
"""

from __future__ import annotations

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address
from math import ceil

from siftcast.runtimes.live.errors import TooManyFailedLogins

SOURCES_MAX = 10_000
ALL_FACTOR = 10
_WAIT_MIN_S, _WAIT_MAX_S = 1.0, 256.0


class _Bucket:
    """The failures of one address, or all of them."""

    __slots__ = ("level", "seen_s", "until_s", "wait_s")

    def __init__(self, now_s: float) -> None:
        self.level = 0.0
        self.seen_s = now_s
        self.until_s = now_s
        self.wait_s = _WAIT_MIN_S

    def leak(self, per_minute: float, now_s: float) -> None:
        """Runs empty, as time goes by; not while the address waits."""
        self.level = max(0.0, self.level - max(0.0, now_s - max(self.seen_s, self.until_s)) * per_minute / 60)
        self.seen_s = max(now_s, self.seen_s)
        if self.level == 0.0:
            self.wait_s = _WAIT_MIN_S

    def fill(self, per_minute: float, now_s: float) -> None:
        """A failure."""
        self.leak(per_minute, now_s)
        self.level = min(self.level + 1, per_minute)
        if self.level > per_minute - 0.5:  # what has leaked within a few seconds makes no difference
            self.until_s = now_s + self.wait_s
            self.wait_s = min(2 * self.wait_s, _WAIT_MAX_S)


class FailedLogins:
    """What is remembered of failures; times are those of a clock that only goes forward."""

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self.refused = 0
        """How many were not looked at."""
        self._sources: OrderedDict[str, _Bucket] = OrderedDict()
        self._all: _Bucket | None = None
        self._known: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sources) + len(self._known)

    def check(self, address: str, now_s: float) -> None:
        """Raises TooManyFailedLogins if a login from there is not to be looked at."""
        source = source_of(address)
        bucket = self._sources.get(source)
        wait_s, whose = 0.0 if bucket is None else bucket.until_s - now_s, "from this address"
        if wait_s <= 0 and self._all is not None and source not in self._known:
            wait_s, whose = self._all.until_s - now_s, "from everywhere"
        if wait_s > 0:
            self.refused += 1
            raise TooManyFailedLogins(
                f"too many logins failed {whose}; try again in {ceil(wait_s)} s (failed_logins_per_minute = "
                f"{self.per_minute} in [limits] of the node's configuration)"
            )

    def failed(self, address: str, now_s: float) -> None:
        """A login from there failed."""
        source = source_of(address)
        bucket = self._sources.pop(source, None)
        self._sources[source] = bucket = _Bucket(now_s) if bucket is None else bucket
        bucket.fill(self.per_minute, now_s)
        if len(self._sources) > SOURCES_MAX:
            self._sources.popitem(last=False)
        if self._all is None:
            self._all = _Bucket(now_s)
        self._all.fill(self.per_minute * ALL_FACTOR, now_s)

    def admitted(self, address: str) -> None:
        """Somebody from there was let in."""
        source = source_of(address)
        self._known[source] = None
        self._known.move_to_end(source)
        if len(self._known) > SOURCES_MAX:
            self._known.popitem(last=False)


def source_of(address: str) -> str:
    """What the host of an address counts as; an address without a port, or of no network, is taken as it is."""
    host = address.rpartition(":")[0].strip("[]") or address
    try:
        found = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(found, IPv6Address):
        return host
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return f"{IPv6Address(int(found) >> 64 << 64)}/64"
