"""Key rings for tests: a group 'desk', its publisher 'feed', and members that only open."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from siftcast.security import KeyRing, Opened, Opener, Sealer, UnopenedError
from siftcast.security.groups import Group, GroupPublisher
from siftcast.security.hazmat.secret import Secret
from siftcast.security.hazmat.signatures import SigningKey
from siftcast.security.keeping import add_publisher, begin_group, issue, make_publisher

NOW_S = 1_800_000_000.0
CLEAR, PAYLOAD = b"everything in the clear", b"canary of a payload"


def fresh() -> Secret:
    return Secret(os.urandom(32))


@dataclass
class Desk:
    """A group in memory, which tests change as its keeper would."""

    seed: Secret = field(default_factory=fresh)
    group: Group = field(init=False)

    def __post_init__(self) -> None:
        publisher = GroupPublisher("feed", SigningKey(self.seed).public)
        self.group = Group.begin("desk", fresh(), NOW_S).joined_by(publisher)

    def publisher(self) -> KeyRing:
        return KeyRing([self.group], ("feed", self.seed))

    def member(self) -> KeyRing:
        return KeyRing([self.group])

    def seal(self, payload: bytes = PAYLOAD, clear: bytes = CLEAR) -> bytes:
        (sealed,) = Sealer(self.publisher()).seal("desk", [(clear, payload)], NOW_S)
        return sealed

    def open(self, sealed: bytes, clear: bytes = CLEAR, *, now_s: float = NOW_S, kept: bool = False) -> Opened:
        return Opener(self.member()).open(clear, sealed, now_s, kept=kept)


def reason_of(call: object) -> str:
    """Why something was not opened; 'opened' if it was."""
    try:
        call()  # type: ignore[operator]
    except UnopenedError as error:
        return error.reason
    return "opened"


def ring_folders(folder: Path, now_s: float = NOW_S) -> tuple[Path, Path, Path]:
    """The folders of a keeper, of the publisher 'feed' and of a member."""
    keeper, feed, member = folder / "keeper", folder / "feed", folder / "member"
    begin_group(keeper, "desk", now_s)
    add_publisher(keeper, "desk", make_publisher(feed, "feed"))
    for each in (feed, member):
        issue(keeper, "desk", each)
    return keeper, feed, member
