"""How much a client may ask of a node: what it makes the node remember is counted, and has a limit.

Limits are the node's (`[limits]`), or a principal's own where its table says so (`[principal.limits]`). What is asked
beyond one is refused, and the refusal names the limit and the key that sets it. A limit that is lowered takes nothing
away: names that are there stay and are taken up, and keep the policy they have.

    of one connection    subscriptions, the characters of all their filters, the length of an event's id and source
    of a principal       connections, durable names; where there are no principals, of the whole node
    of a durable name    each number of its policy
"""

from __future__ import annotations

from collections.abc import Callable

from siftcast.model import Event, EventError, SubscriptionError
from siftcast.overlays.durability.contract import QueuePolicy
from siftcast.runtimes.live.errors import LiveError, Refused
from siftcast.runtimes.live.node.configuration import LimitSpec, PrincipalLimitSpec

_POLICY = ("events_max", "bytes_max", "age_ms_max", "refusals_max", "dead_letters_max")


class ClientLimits:
    """The limits of one principal, or of everybody where there are none."""

    __slots__ = ("_general", "_id_length_max", "_own", "_principal")

    def __init__(self, general: LimitSpec, principal: str = "", own: PrincipalLimitSpec | None = None) -> None:
        self._general = general
        self._own = PrincipalLimitSpec() if own is None else own
        self._principal = principal
        self._id_length_max = self._limit("event_id_length_max")

    def _limit(self, key: str) -> float:
        own: float | None = getattr(self._own, key)
        general: float = getattr(self._general, key)
        return general if own is None else own

    def _said(self, key: str) -> str:
        """A limit with its key, for a refusal."""
        is_own = getattr(self._own, key) is not None
        place = f"[principal.limits] of '{self._principal}'" if is_own else "[limits]"
        return f"the limit is {_shown(self._limit(key))} ({key} in {place} of the node's configuration)"

    def check_name(self, name: str) -> None:
        """Raises Refused if a client's name, which is the source of its events, is too long."""
        if len(name) > self._id_length_max:
            raise Refused(f"the client's name has {len(name):,} characters; {self._said('event_id_length_max')}")

    def check_connections(self, count: Callable[[], int]) -> None:
        """Raises LiveError if a principal that has so many connections may have no other; counts only if it matters.

        It is not `Refused`, which is final: the client calls again, and is let in when one of the others has hung up.
        """
        limit = self._own.connections_max
        if limit is not None and count() >= limit:
            raise LiveError(f"principal '{self._principal}' has {limit:,} connections; {self._said('connections_max')}")

    def check_event(self, event: Event) -> None:
        """Raises EventError if the id or source of an event is too long."""
        if len(event.id) > self._id_length_max or len(event.source) > self._id_length_max:
            what = "id" if len(event.id) > self._id_length_max else "source"
            said = self._said("event_id_length_max")
            raise EventError(f"the event's {what} has {len(getattr(event, what)):,} characters; {said}")

    def check_subscriptions(self, count: int) -> None:
        """Raises SubscriptionError if a client may not have so many subscriptions."""
        if count > self._limit("subscriptions_max"):
            raise SubscriptionError(f"a client cannot have {count:,} subscriptions; {self._said('subscriptions_max')}")

    def check_filters(self, length: int) -> None:
        """Raises SubscriptionError if the filters of a client may not have so many characters together."""
        if length > self._limit("filters_length_max"):
            raise SubscriptionError(
                f"the filters of this client would have {length:,} characters together; "
                f"{self._said('filters_length_max')}"
            )

    def check_durable_names(self, count: int) -> None:
        """Raises SubscriptionError if there may not be so many durable names."""
        if count > self._limit("durable_names_max"):
            whose = f"principal '{self._principal}'" if self._principal else "this node"
            raise SubscriptionError(
                f"{whose} has {count - 1:,} durable subscriptions; {self._said('durable_names_max')}; end one of them, "
                "or take one up by its name"
            )

    def granted(self, wanted: QueuePolicy | None, before: QueuePolicy | None) -> QueuePolicy:
        """The policy of a durable subscription; raises SubscriptionError if it asks for too much.

        One that is there keeps what it has, and may say so; who asks for nothing gets the default, as far as allowed.
        """
        if before is not None and wanted in (None, before):
            return before
        if wanted is None:
            usual = QueuePolicy()
            least = {name: min(getattr(usual, name), self._limit(f"policy_{name}")) for name in _POLICY}
            return QueuePolicy(**least)
        for name in _POLICY:
            value = getattr(wanted, name)
            if value > self._limit(f"policy_{name}"):
                raise SubscriptionError(f"the policy asks for {name} = {_shown(value)}; {self._said(f'policy_{name}')}")
        return wanted


def _shown(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.15g}"
