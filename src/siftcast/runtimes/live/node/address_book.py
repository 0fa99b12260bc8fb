"""Whom a node knows: the name and the address behind each identity, and where it learned them.

    in the list of its file       as it stands there, whatever others say: addresses may differ from place to place
    from the node itself          its Hello says what it is called and where it can be called
    from another node             by an introduction; of two, that of the node's later start counts (`since`)

What is not in the file is kept in the data folder (`peers`), so that a node that starts again knows whom to call. That
file is a convenience: it is replaced as a whole, and if it is missing or damaged the node learns again. It also keeps
`since`, which must not go back when the machine's clock does, and whether this node has left the network for good.

Names are for people. Two nodes of one name may stand here, because a node without a data folder is another one each
time it starts; two that are connected at once are noticed (`rivals`).
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.storage.private_files import make_file, make_folder
from siftcast.runtimes.live.wire.addresses import parse_address
from siftcast.runtimes.live.wire.node_frames import Introduction

FORMAT = 1
FILE = "peers"
ENTRIES_MAX = 10_000
"""So many are kept beside those of the list; beyond that the one that was heard of longest ago is dropped."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_ADDRESS_LENGTH_MAX = 300
_IDENTITIES = 2**63


class _Kept(msgspec.Struct, frozen=True):
    """What the file says."""

    format: int
    network: str
    since: int
    entries: list[Introduction]
    left: bool = False
    gone: tuple[NodeId, ...] = ()


class AddressBook:
    """The nodes that one node knows, itself among them."""

    def __init__(self, folder: Path | None, network: str, log: Logger, *, clock_ms: float) -> None:
        """`clock_ms` is the calendar's time, by which the starts of a node are told apart."""
        self.gone: tuple[NodeId, ...] = ()
        """Who was declared gone where no plan says so, the latest last."""
        self.has_left = False
        """Whether this node has left the network, in this life or before."""
        self._path = None if folder is None else folder / FILE
        self._network = network
        self._log = log
        self._listed: dict[NodeId, Introduction] = {}
        self._met: dict[NodeId, Introduction] = {}
        self._is_changed = False
        self.since = int(clock_ms)
        self._read()

    # -- looking up ----------------------------------------------------------------------------------

    def __contains__(self, node: NodeId) -> bool:
        return node in self._listed or node in self._met

    def is_listed(self, node: NodeId) -> bool:
        """Whether a node is in the list of the file."""
        return node in self._listed

    def name(self, node: NodeId) -> str:
        """What people call a node; its number, if nobody has said."""
        entry = self._listed.get(node) or self._met.get(node)
        return str(node) if entry is None else entry.name

    def address(self, node: NodeId) -> str:
        """Where a node can be called; empty if nobody knows."""
        entry = self._listed.get(node) or self._met.get(node)
        return "" if entry is None else entry.address

    def named(self, text: str) -> tuple[NodeId, ...]:
        """The nodes that are called so, or the one that has this identity."""
        known = self._met | self._listed
        if text.isdecimal() and int(text) in known:
            return (int(text),)
        return tuple(node for node, entry in known.items() if entry.name == text)

    def listed_as(self, name: str) -> NodeId | None:
        """The node of this name in the list of the file."""
        return next((node for node, entry in self._listed.items() if entry.name == name), None)

    @property
    def names(self) -> Mapping[NodeId, str]:
        """All that are known, by what people call them; others by their number."""
        return _Names({node: entry.name for node, entry in (self._met | self._listed).items()})

    @property
    def met(self) -> tuple[NodeId, ...]:
        """Those that are not in the list and can be called, the one that was heard of last first."""
        return tuple(node for node, entry in reversed(self._met.items()) if entry.address)

    def introduce(self, nodes: Iterable[NodeId]) -> tuple[Introduction, ...]:
        """What another node must know of these; nothing of those that are not known here."""
        known = (self._listed.get(node) or self._met.get(node) for node in nodes)
        return tuple(entry for entry in known if entry is not None and entry.address)

    # -- learning ------------------------------------------------------------------------------------

    def take_list(self, names: Mapping[NodeId, str], addresses: Mapping[NodeId, str]) -> None:
        """What the file says, in place of what it said before."""
        self._listed = {node: Introduction(node, name, addresses[node]) for node, name in names.items()}

    def learn(self, entry: Introduction, *, is_its_own: bool = False) -> None:
        """Keeps what was said about a node, by itself or by another, unless it cannot be true or is known better."""
        known = self._met.get(entry.identity)
        if entry.identity in self._listed or not is_sound(entry):
            return
        if known is not None and not is_its_own and (entry.since <= known.since or not entry.address):
            return
        self._met.pop(entry.identity, None)
        self._met[entry.identity] = entry
        if len(self._met) > ENTRIES_MAX:
            del self._met[next(iter(self._met))]
        self._is_changed = self._is_changed or entry != known

    def succeed(self, node: NodeId, successor: NodeId) -> None:
        """A node has begun again as another one: that is where the first one was, which can be called no more."""
        known = self._met.get(node)
        if known is None or not known.address:
            return
        self.learn(Introduction(successor, known.name, known.address))
        self._met[node] = Introduction(node, known.name, "", known.since)
        self._is_changed = True

    def forget(self, node: NodeId) -> None:
        """A node is gone for good; one in the list stays, because the file says so."""
        self._is_changed = self._met.pop(node, None) is not None or self._is_changed

    def declare_gone(self, nodes: Iterable[NodeId]) -> tuple[NodeId, ...]:
        """Nodes will not come back; those of them of which that was not known."""
        fresh = tuple(dict.fromkeys(node for node in nodes if node not in self.gone))
        self.gone = (*self.gone, *fresh)[-ENTRIES_MAX:]
        self._is_changed = self._is_changed or bool(fresh)
        return fresh

    def leave(self) -> None:
        """This node has left the network."""
        self.has_left = self._is_changed = True

    # -- the file ------------------------------------------------------------------------------------

    def save(self) -> None:
        """Writes what has changed, in the place of what was there; a disk that refuses is reported and no more."""
        if self._path is None or not self._is_changed:
            return
        self._is_changed = False
        kept = _Kept(FORMAT, self._network, self.since, [*self._met.values()], self.has_left, self.gone)
        fresh = self._path.with_name(f"{FILE}.{secrets.token_hex(4)}")
        try:
            make_folder(fresh.parent)
            make_file(fresh)
            fresh.write_bytes(msgspec.json.encode(kept) + b"\n")
            fresh.replace(self._path)
        except OSError as error:
            with suppress(OSError):
                os.unlink(fresh)
            self._log.warning("addresses of nodes not kept", reason=error.strerror or str(error), file=str(self._path))

    def _read(self) -> None:
        if self._path is None:
            return
        try:
            kept = msgspec.json.decode(self._path.read_bytes(), type=_Kept)
        except FileNotFoundError:
            self._is_changed = True  # so that `since` is kept
            return
        except (OSError, msgspec.DecodeError) as error:
            self._log.warning("addresses of nodes not read", reason=str(error), file=str(self._path))
            return
        if kept.format != FORMAT or kept.network != self._network:
            self._log.warning(
                "addresses of nodes not read", reason="of another format or network", file=str(self._path)
            )
            return
        self.since = max(self.since, kept.since + 1)
        self.has_left, self.gone = kept.left, kept.gone[-ENTRIES_MAX:]
        self._met = {entry.identity: entry for entry in kept.entries if is_sound(entry)}
        self._is_changed = True


class _Names(dict[NodeId, str]):
    def __missing__(self, node: NodeId) -> str:
        return str(node)


def is_name(text: str) -> bool:
    """Whether a node may be called so."""
    return _NAME.fullmatch(text) is not None


def is_sound(entry: Introduction) -> bool:
    """Whether an introduction could be one: it comes from other machines, and goes into logs and calls."""
    if not 0 <= entry.identity < _IDENTITIES or not is_name(entry.name) or len(entry.address) > _ADDRESS_LENGTH_MAX:
        return False
    try:
        return not entry.address or parse_address(entry.address)[1] > 0
    except ValueError:
        return False
