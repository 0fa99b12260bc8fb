"""Many filters, one stream: what `subscribe_many` gives.

Each filter is a subscription of its own at the node, so that the node's limits and rights hold for each; they are asked
for together and answered together, in one round trip. The node sends an event once, with the numbers of all the filters
that it satisfies, and the stream shows it once, with their names (`matched`).

All or none: a filter that cannot be parsed is told before anything is sent, and one that the node refuses ends the
stream, with all the others. Both are told by name.

A bound on delay holds for each of them. An event that satisfies several is as late as the tightest of their bounds
makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from siftcast.model import Filter, FilterError, SiftcastError, Subscription, SubscriptionError
from siftcast.model.filter import AnyFilter, as_filter
from siftcast.model.showing import shown
from siftcast.model.values import is_iterable
from siftcast.runtimes.live.client.bounds import NOTHING_MORE, Bound, Change, Wishes, lateness_ms
from siftcast.runtimes.live.client.opening import Opening
from siftcast.runtimes.live.client.received import AnswerLine, Inbox, TimedEvent
from siftcast.runtimes.live.errors import FINAL_CODES, failure_error

ManyFilters = Mapping[str, AnyFilter] | Iterable[AnyFilter | tuple[str, AnyFilter] | Subscription]
"""Filters by name; or pairs of name and filter, or subscriptions, or filters alone, whose names are their texts."""

Named = tuple[str, Filter, Wishes]


class MatchedEvent(TimedEvent):
    """An event that satisfies one or more of many filters; `matched` names them."""

    __slots__ = ("_names",)
    _names: list[str]

    def add(self, bound_ms: float | None) -> None:
        """It satisfies another filter, with this bound or none."""
        late_ms = lateness_ms(self.age_ms, bound_ms)
        if late_ms is not None and (self.late_ms is None or late_ms > self.late_ms):
            self.set_age(self.age_ms, bound_ms)

    @property
    def matched(self) -> tuple[str, ...]:
        """The names of the filters that it satisfies, in the order in which they were given."""
        return tuple(self._names)


_EVERYTHING = Filter.parse("TRUE")  # what a shared inbox shows as its filter; the members have their own
_set_names = MatchedEvent.__dict__["_names"].__set__  # events are frozen


class SharedInbox(Inbox):
    """The events of all filters; each waits once."""

    __slots__ = ("_bus", "_encoded", "_last", "_names", "_places", "members")

    def __init__(
        self, bus: Members, named: Sequence[Named], numbers: range, buffer: int, opening: Opening | None = None
    ) -> None:
        super().__init__(0, _EVERYTHING, None, buffer, opening=opening)
        self._bus = bus
        self._encoded: bytes | None = None
        self._last: MatchedEvent | None = None
        self._names: list[str] = []
        self._places = {name: place for place, (name, _, _) in enumerate(named)}
        self.members = tuple(
            MemberInbox(number, *each, shared=self) for number, each in zip(numbers, named, strict=True)
        )
        self.look_at_bounds()

    @property
    def bounds(self) -> Mapping[str, Bound]:
        return {member.name: member.bound for member in self.members if member.bound is not None}

    def look_at_bounds(self) -> None:
        """Shows the worst of all."""
        self.bound = max(self.bounds.values(), key=lambda bound: bound.severity, default=None)

    def take_for(self, member: MemberInbox, encoded: bytes, age_ms: float | None) -> None:
        """An event came for one of the filters. One that came for several is the same bytes, one call after another."""
        bound_ms = member.wishes.delay_ms_max
        if encoded is self._encoded:
            if self._last is not None:  # or else it was not opened
                self._names.append(member.name)
                self._names.sort(key=self._places.__getitem__)
                self._last.add(bound_ms)
            return
        self._encoded, self._last, self._names = encoded, None, [member.name]
        event = MatchedEvent(encoded, age_ms, bound_ms)
        if self.opens(event):
            self._last = event
            _set_names(event, self._names)
            self.put(event)

    def fail(self, name: str, error: Exception) -> None:
        """One of the filters is refused, or the whole bus is at its end: then none is wanted any more."""
        if isinstance(error, SiftcastError) and error.code not in FINAL_CODES:
            error = failure_error(error.code, f"{shown(name)}: {error}")
        self.end(error)
        self.release()

    def release(self) -> None:
        """Unsubscribes all that are not yet."""
        for member in self.members:
            if not member.closed:
                member.closed = True
                self._bus.forget(member)


class MemberInbox(Inbox):
    """One of the filters, as the connection sees it; its events wait in the inbox that all share."""

    __slots__ = ("_shared", "name")

    def __init__(self, number: int, name: str, filter: Filter, wishes: Wishes, *, shared: SharedInbox) -> None:
        super().__init__(number, filter, None, shared.buffer, wishes)
        self.name = name
        self.bound = None if self.bound is None else replace(self.bound, name=name)
        self._shared = shared

    @property
    def is_full(self) -> bool:
        return self._shared.is_full

    def take(self, line: AnswerLine, encoded: bytes, position: int, attempt: int, age_ms: float | None) -> None:
        self._shared.take_for(self, encoded, age_ms)

    def judged(self, bound: Bound) -> None:
        super().judged(replace(bound, name=self.name))
        self._shared.look_at_bounds()

    def break_off(self, error: Exception) -> None:
        self._shared.fail(self.name, error)

    def end(self, error: Exception | None = None) -> None:
        if not self.closed:
            super().end(error)
            if error is None:
                self._shared.end()
            else:
                self._shared.fail(self.name, error)


class ManySource:
    """The bus as the source of a stream of many filters: what is done, is done for each of them."""

    def __init__(self, bus: Members) -> None:
        self._bus = bus

    async def subscribed(self, inbox: Inbox) -> None:
        """Waits until all stand; raises what one was refused with, and then none stands."""
        assert isinstance(inbox, SharedInbox)
        for member in inbox.members:
            try:
                await self._bus.subscribed(member)
            except SiftcastError as error:
                inbox.release()
                raise (inbox.error or error) from None

    async def replace(self, inbox: Inbox, filter: Filter, change: Change) -> None:
        """There is not one filter to replace."""
        raise SubscriptionError("a stream of many filters cannot be given another; close it and subscribe anew")

    def taken(self, inbox: Inbox) -> None:
        """An event was taken out."""
        self._bus.taken(inbox)

    def forget(self, inbox: Inbox) -> None:
        """Nobody wants the events any more."""
        assert isinstance(inbox, SharedInbox)
        inbox.release()


class Members(Protocol):
    """What is asked of a bus."""

    async def subscribed(self, inbox: Inbox) -> None:
        """Waits until a subscription stands; raises what it was refused with."""

    def taken(self, inbox: Inbox) -> None:
        """An event was taken out."""

    def forget(self, inbox: Inbox) -> None:
        """Nobody wants the events any more."""


def named_filters(filters: ManyFilters, wishes: Wishes = NOTHING_MORE) -> list[Named]:
    """Filters with their names; raises FilterError or SubscriptionError that says which of them is wrong.

    `wishes` go for all that have none of their own, as subscriptions may.
    """
    found: dict[str, Named] = {}
    for number, (name, filter, own) in enumerate(_pairs(filters), 1):
        label = f"filter {number}" + ("" if name is None else f" ({shown(name)})")
        try:
            parsed = as_filter(filter)
        except FilterError as error:
            raise FilterError(f"{label}: {error}") from None
        name = str(parsed) if name is None else name
        if type(name) is not str or not name:
            raise SubscriptionError(f"filter {number}: its name must be a string that is not empty, not {shown(name)}")
        if name in found:
            raise SubscriptionError(f"filter {number}: there is one named {shown(name)} already; names are distinct")
        bound = wishes.delay_ms_max if own.delay_ms_max is None else own.delay_ms_max
        found[name] = name, parsed, Wishes(bound, own.bandwidth, wishes.on_bound)
    return list(found.values())


def _pairs(filters: ManyFilters) -> Iterator[tuple[str | None, AnyFilter, Wishes]]:
    """Names, where there are any, filters, and what is wished for them alone."""
    if isinstance(filters, str | bytes | Filter) or not is_iterable(filters):
        raise SubscriptionError(f"subscribe_many takes many filters, not {shown(filters)}; see subscribe")
    if hasattr(filters, "columns"):  # a table goes through the names of its columns
        raise SubscriptionError(
            "subscribe_many takes no table; hand it pairs, as in zip(table['id'], table['filter']), or a dict of them"
        )
    if isinstance(filters, Mapping):
        for name, filter in filters.items():
            yield name, filter, NOTHING_MORE
        return
    for number, item in enumerate(filters, 1):
        if isinstance(item, Subscription):
            yield item.id, item.filter, Wishes(item.delay_ms_max, item.bandwidth)
        elif isinstance(item, tuple):
            if len(item) != 2:
                raise SubscriptionError(f"filter {number}: a pair of name and filter is wanted, not {len(item)} things")
            yield *item, NOTHING_MORE
        else:
            yield None, item, NOTHING_MORE
