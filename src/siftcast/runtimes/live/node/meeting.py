"""Two nodes meet: what this one says about itself, and whether the other is one to talk with.

Nodes of one list compare the digests of their lists, which must agree. A node that has joined has no list: it shows a
digest of what all nodes of the network agree on, listed or not (`Overlay.base`). Names and identities are held against
what is known here; what is wrong is said in words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.errors import NetworkMismatch, Refused
from siftcast.runtimes.live.node.address_book import AddressBook, is_sound
from siftcast.runtimes.live.node.layout import Overlay, check_version
from siftcast.runtimes.live.wire.frames import VERSION, Hello
from siftcast.runtimes.live.wire.node_frames import Introduction, Invitation


class Meeting:
    """Knows this node and judges others."""

    def __init__(
        self,
        overlay: Overlay,
        book: AddressBook,
        *,
        token: Callable[[], str],
        incarnation: str,
        address: Callable[[], str],
    ) -> None:
        """`token` says who this node is; `address` where others can call it, empty if nobody knows."""
        self.name = overlay.names[overlay.node]
        self._overlay = overlay
        self._book = book
        self._token = token
        self._incarnation = incarnation
        self._address = address

    def hello(self, called: NodeId) -> Hello:
        """What this node says first to a node that it calls."""
        overlay, book = self._overlay, self._book
        return Hello(
            VERSION,
            "node",
            self.name,
            self._token(),
            overlay.digest,
            self._incarnation,
            book.name(called) if book.is_listed(called) else "",
            overlay.oldest,
            overlay.node,
            self._address(),
            book.since,
            overlay.base,
        )

    def introduce(self, nodes: Collection[NodeId]) -> tuple[Introduction, ...]:
        """What another node must know of these, as far as it is known here; this node may be among them."""
        known = self._book.introduce(node for node in nodes if node != self._overlay.node)
        if self._overlay.node in nodes and (address := self._address()):
            return (*known, Introduction(self._overlay.node, self.name, address, self._book.since))
        return known

    def invitation(self, hello: Hello, heartbeat_ms: float) -> Invitation:
        """What a node that wants to join must know; raises NetworkMismatch, Refused or VersionError if it cannot."""
        overlay = self._overlay
        check_version(overlay.scheme, hello.version, f"node '{hello.name}'")
        self._check_place(hello)
        self._check_name(hello)
        terms, version = overlay.terms, min(VERSION, hello.version)
        return Invitation(
            version, terms.network, overlay.base, terms.scheme, dict(terms.options), terms.schema, terms.durable,
            overlay.node, self.name, heartbeat_ms,
        )  # fmt: skip

    def check(self, hello: Hello) -> None:
        """Raises NetworkMismatch, Refused or VersionError unless the other node means this one and can be its peer."""
        name, own = hello.name, self.name
        if not self._is_of_this_network(hello):
            raise NetworkMismatch(
                f"node '{own}' is in another network than '{name}': give both the same [overlay] table, with the same "
                "nodes"
            )
        if hello.called not in ("", own):
            raise NetworkMismatch(
                f"this is node '{own}', not '{hello.called}'; are two addresses exchanged in [[overlay.nodes]] of "
                f"'{name}'?"
            )
        check_version(self._overlay.scheme, hello.version, f"node '{name}'")
        self._check_place(hello)
        self._check_name(hello)

    def _check_place(self, hello: Hello) -> None:
        if hello.identity in self._book.gone:
            raise Refused(f"node '{hello.name}' was declared gone; begin with an empty data folder, as another node")

    def _check_name(self, hello: Hello) -> None:
        name, own = hello.name, self.name
        if name == own:
            raise NetworkMismatch(f"two nodes say they are '{own}'; give each a name of its own")
        if hello.identity == self._overlay.node:
            raise NetworkMismatch(
                f"nodes '{own}' and '{name}' have the same identity {hello.identity}; give each its own data folder"
            )
        listed, is_listed = self._book.listed_as(name), self._book.is_listed(hello.identity)
        if (listed is not None or is_listed) and listed != hello.identity:
            raise NetworkMismatch(
                f"node '{name}' says that its identity is {hello.identity}, which is not what '{own}' knows of it; do "
                "two nodes have this name, or one an id that the others do not list?"
            )

    def note(self, hello: Hello) -> None:
        """Keeps who called, and where it can be called."""
        entry = Introduction(hello.identity, hello.name, hello.address, hello.since)
        if not hello.address or not is_sound(entry):  # what others said of it is better than nothing
            entry = Introduction(hello.identity, hello.name, self._book.address(hello.identity), hello.since)
        self._book.learn(entry, is_its_own=True)

    def rename(self, node: NodeId, name: str) -> None:
        """A node that was called says that it is called otherwise than this one knew."""
        for known in self._book.introduce((node,)):
            if known.name != name:
                self._book.learn(Introduction(node, name, known.address, known.since), is_its_own=True)

    def _is_of_this_network(self, hello: Hello) -> bool:
        overlay = self._overlay
        if hello.network == overlay.digest:
            return True
        no_list = overlay.base in (hello.network, overlay.digest)  # one of both has joined
        return no_list and hello.base == overlay.base and is_sound(Introduction(hello.identity, hello.name, ""))
