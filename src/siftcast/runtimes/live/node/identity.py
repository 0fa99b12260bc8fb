"""Who a node is: a number of 63 bits that it has once and for all, whatever it is called and wherever it listens.

    in a list           the `id` beside its name there, or a number that follows from the names of network and node, so
                        that all nodes know each other's before they have met
    by itself           the `id` in its [node] table, or drawn when it first starts

Either way it is kept in the data folder, in a file of its own: in a fresh folder before anything else is written there,
so that no crash can part the two; in one that has a store already only once the node has started from it, so that a
folder that is refused is left as it is. Of two processes that begin in one folder the first to write decides. A folder
that says otherwise than the configuration is another node's, or the node was renamed: that is refused in words before
anything is read from it. A node without a data folder keeps nothing, and is somebody else each time it starts by
itself.

Rejected: numbers that nodes of a list draw, too. A node must name neighbours that it has not met yet, in what it sends
and in what it keeps for them.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Annotated

import msgspec

from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.node.configuration import ConfigurationFile, MemberSpec
from siftcast.runtimes.live.storage.private_files import make_file, make_folder

FORMAT = 1
FILE = "identity"
STORE = "store.sqlite"
BITS = 63


class IdentityRecord(msgspec.Struct, frozen=True, gc=False):
    """What the file says."""

    format: int
    network: str
    name: str
    identity: Annotated[int, msgspec.Meta(ge=0, le=2**BITS - 1)]


def listed_identity(network: str, member: MemberSpec) -> NodeId:
    """The identity of a node in a list."""
    if member.id is not None:
        return member.id
    digest = blake2b(msgspec.msgpack.encode((network, member.name)), digest_size=8, person=b"siftcast-node")
    return int.from_bytes(digest.digest(), "big") >> (64 - BITS)


def identity_of(file: ConfigurationFile) -> NodeId:
    """The identity of the node that a configuration is for; raises ConfigurationError if its folder is another's."""
    spec, overlay = file.configuration.node, file.configuration.overlay
    listed = next((member for member in overlay.nodes if member.name == spec.name), None)
    wanted = spec.id if listed is None else listed_identity(overlay.network, listed)
    known = None if spec.data is None else _read(file, file.beside(spec.data) / FILE)
    if known is None:
        identity = secrets.randbits(BITS) if wanted is None else wanted
        if spec.data is None or (file.beside(spec.data) / STORE).exists():
            return identity
        keep_identity(file, identity)
        known = _read(file, file.beside(spec.data) / FILE)
        assert known is not None, "it was written, by this process or by another"
    path = file.beside(spec.data or "") / FILE
    if known.network != overlay.network:
        remedy = "name another folder, or call the network as it was"
        raise file.error("node.data", f"{path.parent} belongs to a node of network '{known.network}'", remedy)
    if wanted is not None and wanted != known.identity:
        remedy = (
            f"name another folder, or write id = {known.identity} for '{spec.name}' in [[overlay.nodes]] everywhere"
        )
        problem = f"{path.parent} belongs to node '{known.name}', and this is '{spec.name}' with another identity"
        raise file.error("node.data", problem, remedy)
    return known.identity


def kept_identity(file: ConfigurationFile) -> NodeId | None:
    """The identity that a node has before it knows its network: of its file or its folder; None if it has none yet."""
    spec = file.configuration.node
    known = None if spec.data is None else _read(file, file.beside(spec.data) / FILE)
    return spec.id if known is None else known.identity


def keep_identity(file: ConfigurationFile, identity: NodeId) -> None:
    """Writes down who a node is, unless its folder says so already."""
    spec = file.configuration.node
    if spec.data is None or (path := file.beside(spec.data) / FILE).exists():
        return
    make_folder(path.parent)
    fresh = path.with_name(f"{FILE}.{secrets.token_hex(4)}")
    make_file(fresh)
    record = IdentityRecord(FORMAT, file.configuration.overlay.network, spec.name, identity)
    with fresh.open("wb") as written:
        written.write(msgspec.json.encode(record) + b"\n")
        written.flush()
        os.fsync(written.fileno())
    with suppress(FileExistsError):
        os.link(fresh, path)  # never in the place of another's
    fresh.unlink()


def _read(file: ConfigurationFile, path: Path) -> IdentityRecord | None:
    try:
        record = msgspec.json.decode(path.read_bytes(), type=IdentityRecord)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        remedy = "bring the file back; without it this node is another one to all it has talked to"
        raise file.error("node.data", f"{path} does not say who this node is ({error})", remedy) from None
    if record.format != FORMAT:
        remedy = "run the version of Siftcast that wrote it"
        raise file.error("node.data", f"{path} has format {record.format}, and this version reads {FORMAT}", remedy)
    return record
