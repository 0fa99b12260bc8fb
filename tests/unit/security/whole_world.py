"""A key server with fixed secrets, so that runs are alike, and a schema of a few small dimensions."""

from collections.abc import Iterator
from itertools import count

from siftcast.model import Attribute, Schema
from siftcast.security.credentials import CredentialSchema, Keyword, Text, TimeSlots
from siftcast.security.hazmat.groups import CountedGroups, Groups, find_groups
from siftcast.security.hazmat.secret import Secret
from siftcast.security.whole import KeyServer

SIXTEEN = tuple("abc")


def numbers(dimensions: int, slots: TimeSlots | None = None) -> CredentialSchema:
    """So many attributes of sixteen values."""
    return CredentialSchema(Schema([Attribute(name, "int", (0, 15)) for name in SIXTEEN[:dimensions]]), slots=slots)


STOCKS = CredentialSchema(
    Schema([Attribute("price", "int", (0, 15)), Attribute("symbol", "string"), Attribute("desk", "string")]),
    {"symbol": Text(5, suffix=True), "desk": Keyword(8)},
)


class CountedBytes:
    """Bytes that differ each time, and are the same in each run."""

    def __init__(self) -> None:
        self._numbers: Iterator[int] = count(1)

    def __call__(self, length: int) -> bytes:
        return next(self._numbers).to_bytes(length, "big")


def server(schema: CredentialSchema, seed: int = 1, groups: Groups | None = None) -> KeyServer:
    """A key server whose secrets and randomness are known."""
    secret, signing = Secret(seed.to_bytes(32, "big")), Secret((seed + 1).to_bytes(32, "big"))
    return KeyServer(schema, secret, signing, groups=groups, random=CountedBytes())


def counted_server(schema: CredentialSchema) -> tuple[KeyServer, CountedGroups]:
    """The same, with a counter of pairings."""
    groups = CountedGroups(find_groups())
    return server(schema, groups=groups), groups
