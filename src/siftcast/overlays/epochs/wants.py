"""What persons asked a node for that has not come about yet, and what keeps it from doing so, as far as it was told."""

from __future__ import annotations

from dataclasses import dataclass, field

from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.epochs.messages import AskToApply, AskToForget, AskToLeave
from siftcast.overlays.epochs.view import ABSENT, PRESENT, View, is_expected


@dataclass(slots=True)
class Wants:
    """To leave, to have others forgotten, to have the network planned by other settings."""

    leave: bool = False
    forgotten: set[NodeId] = field(default_factory=set)
    applied: bytes | None = None
    applied_since: int = 0
    """The newest epoch when it was asked for."""
    gives_way: bool = False
    """Whether no person has asked for it, so that it is dropped where the network is planned otherwise meanwhile."""
    silent: tuple[NodeId, ...] = ()
    """Who does not answer the coordinator, as it said when it was asked last."""

    def __bool__(self) -> bool:
        return self.leave or bool(self.forgotten) or self.applied is not None

    def apply(self, settings: bytes, view: View | None, over: int = 0) -> None:
        """A person wants a plan by other settings; or nobody does, but it would be better than that of epoch `over`."""
        newest = 0 if view is None else view.newest.number
        if over and (over != newest or self):
            return
        self.applied, self.applied_since, self.gives_way = settings, newest, bool(over)

    def drop_fulfilled(self, view: View, node: NodeId) -> None:
        """Wants no longer what is so by a view."""
        self.forgotten = {other for other in self.forgotten if is_expected(view, other)}
        self.leave = self.leave and view.state(node) in (PRESENT, ABSENT)
        is_late = self.gives_way and view.newest.number != self.applied_since
        if self.applied == view.newest.settings or is_late:
            self.applied = None

    def asked_of_coordinator(self, *, besides_leaving: bool = False) -> list[Message]:
        """What to ask the coordinator for."""
        asked: list[Message] = [AskToForget(other) for other in sorted(self.forgotten)]
        asked += [] if self.applied is None else [AskToApply(self.applied, self.applied_since)]
        return [*asked, AskToLeave()] if self.leave and not besides_leaving else asked
