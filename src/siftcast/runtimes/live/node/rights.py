"""Who may do what at a node: principals, known by their tokens, whose rights are filters themselves.

    publish = F      may publish an event that matches F
    subscribe = G    may subscribe within G: to a filter of which it is certain that G covers it
    delay_ms_min     may ask for bounds on delay that are no tighter; without it, for any
    see              may ask what others subscribe to, and where events went
    operate          may have the node leave its network, and others forgotten
    node             is another node of the network, and nothing else

What a principal's table does not name it may not do. Where there are no principals everyone may do everything, and the
configuration does not let such a node listen beyond its own machine.

A token is 256 random bits, so a plain SHA-256 of it is as hard to turn round as a slow one; people do not choose tokens
(`new_token`). The configuration holds hashes only. Tokens are found by their hash, so how long a wrong one takes tells
nothing about a right one. No function here puts a token into a message or a log.

`covers` answers "no" where it cannot decide, so a subscription is refused rather than let through; the message says how
to write it so that it can be decided. Cost: a publish is matched with one filter, and with none where all is allowed.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass

from siftcast.model import Event, Filter, FilterError
from siftcast.runtimes.live.errors import Forbidden, Unauthorised
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.client_limits import ClientLimits
from siftcast.runtimes.live.node.configuration import ConfigurationFile, PrincipalSpec
from siftcast.runtimes.live.wire.frames import Hello

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_PREFIX = "siftcast_"


@dataclass(frozen=True, slots=True)
class Rights:
    """What one principal may do; None stands for nothing."""

    principal: str
    publish: Filter | None = None
    subscribe: Filter | None = None
    see: bool = False
    operate: bool = False
    node: bool = False
    everything: bool = False
    delay_ms_min: float | None = None

    def check_publish(self, event: Event) -> None:
        """Raises Forbidden unless the event may be published."""
        if self.everything:
            return
        if self.publish is None:
            raise Forbidden(f"principal '{self.principal}' may not publish")
        if not self.publish.matches(event):
            raise Forbidden(f"principal '{self.principal}' may publish only what matches: {self.publish}")

    def check_subscribe(self, filter: Filter) -> None:
        """Raises Forbidden unless whatever the filter lets through may be read."""
        if self.everything:
            return
        if self.subscribe is None:
            raise Forbidden(f"principal '{self.principal}' may not subscribe")
        if not self.subscribe.covers(filter):
            raise Forbidden(
                f"principal '{self.principal}' may subscribe only within: {self.subscribe}; "
                "join it to the filter with AND"
            )

    def check_bound(self, delay_ms_max: float | None) -> None:
        """Raises Forbidden if a bound on delay is tighter than what may be asked for."""
        least = self.delay_ms_min
        if delay_ms_max is not None and least is not None and delay_ms_max < least:
            raise Forbidden(
                f"principal '{self.principal}' may ask for bounds of {least:g} ms or more, not of {delay_ms_max:g} "
                "(delay_ms_min in its table)"
            )

    def check_see(self) -> None:
        """Raises Forbidden unless subscriptions of others may be shown."""
        if not (self.everything or self.see):
            raise Forbidden(f"principal '{self.principal}' may not see what others do; its table needs see = true")

    def check_operate(self) -> None:
        """Raises Forbidden unless nodes may be made to leave."""
        if not (self.everything or self.operate):
            raise Forbidden(f"principal '{self.principal}' may not operate the node; its table needs operate = true")


EVERYTHING = Rights("", everything=True)


class Access:
    """The principals of a node, and how the node itself says who it is."""

    def __init__(self, file: ConfigurationFile, log: Logger) -> None:
        self.token = _own_token(file)
        self._log = log
        self._by_hash: dict[str, Rights] = {}
        general = file.configuration.limits
        self._limits = {"": ClientLimits(general)}
        names: set[str] = set()
        for number, spec in enumerate(file.configuration.principal):
            key = f"principal[{number}]"
            if spec.name in names:
                raise file.error(f"{key}.name", f"there are two principals '{spec.name}'", "give each its own name")
            names.add(spec.name)
            if not _HASH.fullmatch(spec.token_hash):
                remedy = "write sha256: and 64 hexadecimal digits, as siftcast token new prints them"
                raise file.error(f"{key}.token_hash", "is no hash of a token", remedy)
            if spec.token_hash in self._by_hash:
                raise file.error(f"{key}.token_hash", "is another principal's too", "give each its own token")
            self._by_hash[spec.token_hash] = _rights(file, key, spec)
            self._limits[spec.name] = ClientLimits(general, spec.name, spec.limits)

    def limits_of(self, rights: Rights) -> ClientLimits:
        """How much whoever has these rights may ask for."""
        return self._limits[rights.principal]

    def admit(self, hello: Hello, address: str, *, is_certified: bool = False) -> Rights:
        """The rights of whoever says Hello; raises Unauthorised, and logs it.

        A node `is_certified` if an authority of the network says that it has the identity it says it has.
        """
        if not self._by_hash:
            return EVERYTHING
        if is_certified and hello.role != "client":
            return Rights(hello.name, node=True)
        rights = self._by_hash.get(hash_token(hello.token))
        if rights is None:
            reason = "its token is not known here" if hello.token else "it shows no token"
        elif hello.role != "client" and not (rights.node and rights.principal == hello.name):
            reason = f"its token is not that of node '{hello.name[:80]}'"
        elif hello.role == "client" and rights.node:
            reason = "its token is a node's, which clients do not use"
        else:
            return rights
        known = None if rights is None else rights.principal
        self._log.warning("refused", what="connection", principal=known, address=address, reason=reason)
        raise Unauthorised(f"the {hello.role} is not let in: {reason}")


class Guard:
    """Holds one client to its rights and limits. What its rights refuse is logged: the 1st, 2nd, 4th, 8th … time.

    A client that is refused a thousand times a second must not fill the node's disk with it.
    """

    __slots__ = ("_address", "_client", "_log", "_refusals", "limits", "rights")

    def __init__(self, rights: Rights, limits: ClientLimits, log: Logger, client: str, address: str) -> None:
        self.rights = rights
        self.limits = limits
        self._log = log
        self._client = client
        self._address = address
        self._refusals = 0

    def publish(self, event: Event) -> None:
        """Raises Forbidden unless the client may publish this, and EventError if its id is too long."""
        self.limits.check_event(event)
        if self.rights.everything:
            return
        try:
            self.rights.check_publish(event)
        except Forbidden as error:
            self._note("publish", error)
            raise

    def subscribe(self, filter: Filter) -> None:
        """Raises Forbidden unless the client may subscribe to this."""
        try:
            self.rights.check_subscribe(filter)
        except Forbidden as error:
            self._note("subscribe", error)
            raise

    def bound(self, delay_ms_max: float | None) -> None:
        """Raises Forbidden unless the client may ask for such a bound on delay."""
        try:
            self.rights.check_bound(delay_ms_max)
        except Forbidden as error:
            self._note("bound", error)
            raise

    def see(self) -> None:
        """Raises Forbidden unless the client may see what others do."""
        try:
            self.rights.check_see()
        except Forbidden as error:
            self._note("see", error)
            raise

    def operate(self) -> None:
        """Raises Forbidden unless the client may have nodes leave and be forgotten."""
        try:
            self.rights.check_operate()
        except Forbidden as error:
            self._note("operate", error)
            raise

    def _note(self, what: str, error: Forbidden) -> None:
        self._refusals += 1
        if self._refusals & (self._refusals - 1) == 0:
            self._log.warning(
                "refused",
                what=what,
                principal=self.rights.principal,
                client=self._client,
                address=self._address,
                reason=str(error),
                refusals=self._refusals,
            )


def new_token() -> str:
    """A token that nobody can guess."""
    return _PREFIX + secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """What the configuration holds in place of a token."""
    return "sha256:" + hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _rights(file: ConfigurationFile, key: str, spec: PrincipalSpec) -> Rights:
    rights = (spec.publish, spec.subscribe, spec.delay_ms_min)
    if spec.node and (any(each is not None for each in rights) or spec.see or spec.operate):
        remedy = "give clients a principal of their own"
        raise file.error(f"{key}.node", "a node has no rights of clients", remedy)
    publish = _filter(file, f"{key}.publish", spec.publish)
    subscribe = _filter(file, f"{key}.subscribe", spec.subscribe)
    return Rights(spec.name, publish, subscribe, spec.see, spec.operate, spec.node, delay_ms_min=spec.delay_ms_min)


def _filter(file: ConfigurationFile, key: str, text: str | None) -> Filter | None:
    if text is None:
        return None
    try:
        return Filter.parse(text)
    except FilterError as error:
        raise file.error(key, f"is no filter: {error}", "TRUE is the filter that allows all") from None


def _own_token(file: ConfigurationFile) -> str:
    name = file.configuration.node.token_file
    if name is None:
        return ""
    path = file.beside(name)
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or "is not text"
        raise file.error("node.token_file", f"{path}: {why}", "siftcast token new --node NAME prints a token") from None
    if not token or any(each.isspace() for each in token):
        raise file.error("node.token_file", f"{path} does not hold one token", "the token, and nothing else, on a line")
    return token
