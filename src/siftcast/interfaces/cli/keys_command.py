"""`siftcast keys`: key rings in folders, for payloads that only a group reads."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from rich.text import Text

from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.terminal import err, out

if TYPE_CHECKING:
    from siftcast.security.groups import Group

Keys = Annotated[Path, Parameter(help="The folder of the key ring, which only its owner can read.")]
GraceS = Annotated[
    float, Parameter(help="For how many seconds the epoch before passes for fresh events; 0 for not at all.")
]
_DAY_S = 86_400.0

keys_app = App(
    name="keys",
    help="Make, hand out, rotate and revoke the keys of sealed payloads. docs/security.md shows all of it.",
)


@keys_app.command
def init(group: str, /, *, keys: Keys) -> int:
    """Make a group: its secret, and the file that you keep and others get copies of.

    Example: siftcast keys init desk --keys keeper

    Parameters
    ----------
    group
        What the group is called.
    """
    from siftcast.security.keeping import begin_group

    _say(begin_group(keys, group, time.time()), f"made in {keys}; siftcast keys issue hands out copies")
    return OK


@keys_app.command
def publisher(name: str, /, *, keys: Keys) -> int:
    """Make the signing key of a publisher, and print the word by which keepers of groups know it.

    Run it where the publisher runs: the key stays in the folder.

    Example: siftcast keys publisher feed --keys feed

    Parameters
    ----------
    name
        What subscribers see as the one who sealed an event.
    """
    from siftcast.security.keeping import make_publisher

    word = make_publisher(keys, name)
    err().print(Text("For siftcast keys add-publisher; it is no secret, but it must not be swapped:", "dim"))
    sys.stdout.write(f"{word}\n")
    return OK


@keys_app.command
def add_publisher(group: str, word: str, /, *, keys: Keys) -> int:
    """Let a publisher seal for a group.

    Example: siftcast keys add-publisher desk "$(siftcast keys publisher feed --keys feed)" --keys keeper

    Parameters
    ----------
    group
        The group.
    word
        What siftcast keys publisher printed.
    """
    from siftcast.security import keeping

    _say(keeping.add_publisher(keys, group, word), "the publisher is added; issue the group again, to all")
    return OK


@keys_app.command
def issue(group: str, to: Path, /, *, keys: Keys) -> int:
    """Put a copy of a group into another folder, for one who is to read it or to publish for it.

    The copy holds the group's secret: bring it over by a way that nobody else reads.

    Example: siftcast keys issue desk feed --keys keeper

    Parameters
    ----------
    group
        The group.
    to
        The folder; a key ring that is there gets the group, or its newer state.
    """
    from siftcast.security import keeping

    _say(keeping.issue(keys, group, to), f"copied into {to}")
    return OK


@keys_app.command
def rotate(group: str, /, *, keys: Keys, grace_s: GraceS = _DAY_S, keep: int | None = None) -> int:
    """Begin a new epoch of a group, with a new secret; who is not given it reads nothing that is sealed from then on.

    Issue it to subscribers first and to publishers last: publishers seal with the newest epoch they have.

    Example: siftcast keys rotate desk --keys keeper

    Parameters
    ----------
    group
        The group.
    keep
        Forget the secrets of all epochs but so many. Without it all stay, for what waits in durable queues.
    """
    from siftcast.security import keeping

    changed = keeping.rotate(keys, group, time.time(), grace_s=grace_s, keep=keep)
    _say(changed, "a new epoch; issue it to subscribers first, and to publishers last")
    return OK


@keys_app.command
def revoke(group: str, name: str, /, *, keys: Keys, grace_s: GraceS = _DAY_S, from_epoch: int | None = None) -> int:
    """Begin a new epoch, from which on a publisher is refused.

    Example: siftcast keys revoke desk feed --keys keeper

    Parameters
    ----------
    group
        The group.
    name
        The publisher.
    from_epoch
        Refuse it from this epoch on, 1 for everywhere. Without it, what it seals for the epoch before passes until the
        grace is over, and for good where it waits in durable queues; who has a stolen key can do that, too.
    """
    from siftcast.security import keeping

    changed = keeping.revoke(keys, group, name, time.time(), grace_s=grace_s, from_epoch=from_epoch)
    _say(changed, "a new epoch; issue it to all who stay")
    return OK


@keys_app.command
def show(*, keys: Keys) -> int:
    """Show what a key ring holds, without any secret.

    Example: siftcast keys show --keys feed
    """
    from siftcast.security import KeyRing
    from siftcast.security.keeping import public_word

    ring = KeyRing.load(keys)
    for group in ring.groups.values():
        _say(group, "a copy" if group.is_copy else "kept here")
        for number, epoch in sorted(group.epochs.items()):
            since = datetime.fromtimestamp(epoch.since_s, UTC).isoformat(timespec="seconds")
            before = f"; epoch {number - 1} passes for {epoch.grace_s:g} s after that" if number > 1 else ""
            out().print(Text(f"  epoch {number} since {since}{before}"), soft_wrap=True)
        for each in group.publishers.values():
            revoked = "" if each.revoked_from is None else f", revoked from epoch {each.revoked_from} on"
            out().print(Text(f"  publisher {public_word(each.name, each.public)}{revoked}"), soft_wrap=True)
    if ring.name is None and not ring.groups:
        out().print(Text("an empty key ring; siftcast keys issue puts a copy of a group into it"), soft_wrap=True)
    if ring.name is not None and ring.public is not None:
        out().print(Text(f"signs as {public_word(ring.name, ring.public)}"), soft_wrap=True)
    return OK


def _say(group: Group, what: str) -> None:
    out().print(Text(f"group {group.name}, number {group.number}, epoch {group.newest.number}: {what}"), soft_wrap=True)
