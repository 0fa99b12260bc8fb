"""The principals of a node, as its configuration names them: which token stands for whom, until when.

The tables are read once and never change; a node that reads its configuration again has new ones (`reloading`), so
nobody sees half of a change. Tokens are found by their hash, so how long a wrong one takes tells nothing about a right
one. A principal may have several: a new one is handed out while the old one is still good.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from math import inf

from siftcast.model import Filter, FilterError
from siftcast.runtimes.live.node.client_limits import ClientLimits
from siftcast.runtimes.live.node.configuration import ConfigurationFile, PrincipalSpec, TokenSpec
from siftcast.runtimes.live.node.rights import EVERYTHING, Rights

_HASH = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Credential:
    """What a token stands for; `expires_s` is by the calendar."""

    rights: Rights
    limits: ClientLimits
    expires_s: float = inf
    is_revoked: bool = False


class Principals:
    """Who is behind each token, and how the node itself says who it is. Raises ConfigurationError."""

    def __init__(self, file: ConfigurationFile) -> None:
        self.own_token = _own_token(file)
        """By which this node tells others who it is."""
        self.everybody = Credential(EVERYTHING, ClientLimits(file.configuration.limits))
        """What whoever calls has, where there are no principals."""
        self._by_hash: dict[str, Credential] = {}
        names: set[str] = set()
        for number, spec in enumerate(file.configuration.principal):
            key = f"principal[{number}]"
            if spec.name in names:
                raise file.error(f"{key}.name", f"there are two principals '{spec.name}'", "give each its own name")
            names.add(spec.name)
            rights = _rights(file, key, spec)
            limits = ClientLimits(file.configuration.limits, spec.name, spec.limits)
            for place, token in _tokens(file, key, spec):
                if not _HASH.fullmatch(token.hash):
                    remedy = "write sha256: and 64 hexadecimal digits, as siftcast token new prints them"
                    raise file.error(place, "is no hash of a token", remedy)
                if token.hash in self._by_hash:
                    raise file.error(place, "is another principal's too", "give each its own token")
                is_revoked = spec.revoked or token.revoked
                expires_s = min(_seconds(spec.expires), _seconds(token.expires))
                self._by_hash[token.hash] = Credential(rights, limits, expires_s, is_revoked)

    def __bool__(self) -> bool:
        """Whether there are any; without, everybody may do everything."""
        return bool(self._by_hash)

    def find(self, hash: str) -> Credential | None:
        """What a token stands for; None if it is not known."""
        return self._by_hash.get(hash)

    def expiring(self) -> Iterator[tuple[str, Credential]]:
        """The tokens that are good for a time only, by a name for logs that does not give them away."""
        for hash, credential in self._by_hash.items():
            if credential.expires_s < inf and not credential.is_revoked:
                yield f"{credential.rights.principal}, {hash[:15]}…", credential


def _tokens(file: ConfigurationFile, key: str, spec: PrincipalSpec) -> list[tuple[str, TokenSpec]]:
    """The tokens of a principal, each with the key that it stands under."""
    found = [] if spec.token_hash is None else [(f"{key}.token_hash", TokenSpec(hash=spec.token_hash))]
    found += [(f"{key}.tokens[{number}].hash", token) for number, token in enumerate(spec.tokens)]
    if not found:
        raise file.error(f"{key}.name", "has no token", f"siftcast token new {spec.name} prints one")
    return found


def _seconds(time: datetime | None) -> float:
    return inf if time is None else time.timestamp()


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
