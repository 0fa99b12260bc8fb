"""The client: a `Bus` over one connection that is made again when it breaks.

    async with siftcast.connect("siftcast://localhost:7007") as bus:
        await bus.publish({"symbol": "IBM", "price": 88.0})
        async for event in bus.subscribe("symbol = 'IBM' AND price < 95"):
            ...

Requests are numbered and answered in any order; many may be under way (`publish_many` keeps a window of them). When
the connection breaks, requests under way raise `ConnectionLost`, because nobody knows whether they were heard; streams
stay, and are subscribed anew once the node is there again, after waits that double from 50 ms to 2 s. What an ephemeral
subscription would have got in between is gone. Requests made meanwhile wait for the connection, up to `timeout_s`.

What is durable goes on: a publish under way is made again under its id, which counts once, and a durable subscription
is taken up by its name where it was (`durable_inbox`).
"""

from __future__ import annotations

import asyncio
import inspect
import secrets
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from random import Random
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from siftcast.model import EventError, Filter, SubscriptionError
from siftcast.model.errors import SiftcastError
from siftcast.model.filter import AnyFilter, as_filter
from siftcast.model.showing import shown
from siftcast.overlays.durability.contract import QueuePolicy
from siftcast.runtimes.live.client.bounds import BoundHandler, Change, Wishes
from siftcast.runtimes.live.client.calling import check_caller, parse_url
from siftcast.runtimes.live.client.durable_inbox import DeadLetter, DurableInbox, check_durable
from siftcast.runtimes.live.client.environment import believed_authorities, caller_token, node_url
from siftcast.runtimes.live.client.link import ClientLink
from siftcast.runtimes.live.client.many import ManyFilters, ManySource, SharedInbox, named_filters
from siftcast.runtimes.live.client.opening import Trusted
from siftcast.runtimes.live.client.publishing import WINDOW, AnyEvent, Publisher
from siftcast.runtimes.live.client.received import EventStream, Inbox, ReceivedEvent, check_buffer
from siftcast.runtimes.live.client.sealing import SealWord, sealing_of
from siftcast.runtimes.live.client.token_notice import TokenNotice
from siftcast.runtimes.live.errors import FINAL_CODES, FINAL_GREETINGS, ConnectionLost, LiveError
from siftcast.runtimes.live.event_trace import EventTrace, follow
from siftcast.runtimes.live.reach import Reach, reach_of
from siftcast.runtimes.live.wire.addresses import is_loopback
from siftcast.runtimes.live.wire.frames import (
    OLDEST,
    VERSION,
    DeadLetters,
    Describe,
    Description,
    EndDurable,
    Hello,
    Inquire,
    Question,
    ReadDeadLetters,
    Replace,
    Subscribe,
    Unsubscribe,
)
from siftcast.runtimes.live.wire.tls import Dial, Trust, client_context, dial_tcp
from siftcast.security import AnyKeys, KeyRing, Opener, Rings, load_keys

EventHandler = Callable[[ReceivedEvent], Awaitable[None] | None]
BUFFER = 1_000
_WAIT_MIN_S, _WAIT_MAX_S = 0.05, 2.0


def connect(
    url: str | None = None,
    *,
    token: str | None = None,
    tls: Trust | None = None,
    name: str = "",
    timeout_s: float = 10.0,
    keys: AnyKeys | None = None,
) -> Bus:
    """A bus at `siftcast://host:port`, to be entered with `async with`; `name` is what the node's log calls it.

    With `siftcasts://` or `tls` the connection is encrypted: `tls` is a file with the authorities to believe, an
    SSLContext, or True for the machine's own authorities. `token` says who connects. Without a url the environment says
    where and who (`environment`): SIFTCAST_URL, SIFTCAST_TOKEN and SIFTCAST_AUTHORITIES; or else it is this machine.
    `keys`, a key ring or its folder, are those of all that the bus seals and of all its subscriptions.
    """
    if url is None:
        url = node_url()
        token = caller_token() if token is None else token
        tls = believed_authorities(url) if tls is None else tls
    check_caller(token, name, timeout_s)
    host, port = parse_url(url)
    encrypted = urlsplit(url).scheme == "siftcasts"
    if encrypted and tls is False:
        raise LiveError(f"{url} is encrypted; leave tls out, or write siftcast://")
    if tls is None or tls is False:
        tls = encrypted
    if token and tls is False and not is_loopback(host):
        raise LiveError(f"the token would travel readable to {host}; write siftcasts://{host}:{port}")
    context = None if tls is False else client_context(tls)
    ring = None if keys is None else load_keys(keys)
    return Bus(dial_tcp(host, port, context), url, token=token, name=name, timeout_s=timeout_s, keys=ring)


in_handler: ContextVar[bool] = ContextVar("in_handler", default=False)
"""Whether what runs was called by a handler, which cannot wait for itself."""


async def _run(handler: EventHandler, event: ReceivedEvent) -> None:
    """Calls a handler. One that ends in the cancellation of something of its own has failed, and is not cancelled."""
    in_handler.set(True)
    try:
        result = handler(event)
        if inspect.isawaitable(result):
            await result
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise LiveError("a handler ended in CancelledError: it awaited something that was cancelled") from None


class Bus:
    """A connection to a node, as publishers and subscribers see it."""

    def __init__(
        self, dial: Dial, where: str, *, token: str | None, name: str, timeout_s: float, keys: KeyRing | None = None
    ) -> None:
        self.dropped = 0
        """Deliveries that the node dropped because this client did not keep up."""
        self._dial = dial
        self._where = where
        self._hello = Hello(VERSION, "client", name, token or "", oldest=OLDEST["client"])
        self._timeout_s = timeout_s
        self._rings = Rings(keys)
        ids = secrets.token_hex(6)
        self._publisher = Publisher(name, ids, self._present)
        self._count = 0
        self._inboxes: dict[int, Inbox] = {}
        self._standing: dict[int, asyncio.Future[Any]] = {}
        self._handlers: list[tuple[Filter, str | None, Wishes, Trusted, EventHandler]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._handled_inboxes: list[Inbox] = []
        self._handling = self._handled = 0  # events that handlers are at, and have dealt with
        self._link: ClientLink | None = None
        self._linked: asyncio.Event = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._final: SiftcastError | None = None
        self._trouble = ""
        self._is_closing = False
        self._random = Random(ids)
        self._notice = TokenNotice(where)

    # -- life ----------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._is_closing = False
        self._keeper = asyncio.create_task(self._keep())
        try:
            await self._present()
        except BaseException:
            await self.close()
            raise
        for registered in self._handlers:
            self._start(*registered)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failed = await self.close()
        if failed is not None and error is None:
            raise failed

    async def close(self) -> BaseException | None:
        """Hangs up; streams end. Returns what a handler failed with, if one did."""
        self._is_closing = True
        tasks = [task for task in (self._keeper, *self._tasks) if task is not None]
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        self._notice.stop()
        for inbox in tuple(self._inboxes.values()):
            inbox.end()
        self._inboxes.clear()
        if self._link is not None:
            self._link.close()
            self._link = None
        self._tasks.clear()
        return next((each for each in outcomes[1:] if isinstance(each, Exception)), None)

    @property
    def token_expires(self) -> datetime | None:
        """When the token of this client expires, by its own clock; None if it does not, or nobody has said so yet."""
        return self._notice.expires

    async def wait(self) -> None:
        """Waits while handlers work (`on`); raises what one of them raises."""
        if self._tasks:
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                self._tasks.remove(task)
                task.result()

    # -- publishing ----------------------------------------------------------------------------------

    async def publish(
        self,
        event: AnyEvent,
        *,
        durable: bool = False,
        seal: SealWord | None = None,
        group: str | None = None,
        keys: AnyKeys | None = None,
    ) -> str:
        """Publishes an event and waits until the node has taken it; returns the event's id.

        With `durable`, until it is on the node's disk; should the connection break meanwhile, it is published again
        under the same id, and counts once.

        With `seal="payload"`, only members of the key group `group` read the payload. Attributes, id, source and time
        stay readable for everybody on the way. What cannot be sealed is not published.
        """
        sealing = sealing_of(seal, group, keys, self._rings)
        return await self._publisher.publish(event, durable=durable, sealing=sealing)

    async def publish_many(
        self,
        events: Iterable[AnyEvent] | AsyncIterable[AnyEvent],
        *,
        durable: bool = False,
        seal: SealWord | None = None,
        group: str | None = None,
        keys: AnyKeys | None = None,
        window: int = WINDOW,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Publishes events with up to `window` of them under way; returns how many. The first failure is raised.

        Sealed events of a list or generator are signed a hundred at a time, those that come one by one each by itself.
        """
        sealing = sealing_of(seal, group, keys, self._rings)
        return await self._publisher.publish_many(
            events, durable=durable, sealing=sealing, window=window, progress=progress
        )

    # -- subscribing ---------------------------------------------------------------------------------

    def subscribe(
        self,
        filter: AnyFilter,
        durable: str | None = None,
        *,
        start: int | None = None,
        since: datetime | None = None,
        policy: QueuePolicy | None = None,
        delay_ms_max: float | None = None,
        bandwidth: float | None = None,
        on_bound: BoundHandler | None = None,
        keys: AnyKeys | None = None,
        allow_plain: bool = False,
        buffer: int = BUFFER,
    ) -> EventStream:
        """A stream of the events that match from now on; raises FilterError at once if the filter is none.

        With a name as `durable`, the node holds the events until they are acknowledged, and the stream begins after
        those that were; with `start` or `since` it begins again at a position or time, as far as the policy keeps them.

        `delay_ms_max` bounds how late events may come: `stream.bound` says whether 99 % of the last 1,000 came in time,
        and `on_bound` is called when that changes. What it raises ends the stream, and whoever reads it gets it.
        `bandwidth` is what the node may spend on receiving them and passing them on for others, in bytes per second.
        Schemes that know neither report bounds and do no more.

        With `keys`, or those of the bus, only sealed events come that open with them, and plain ones if `allow_plain`;
        `stream.unopened` counts the others.
        """
        check_buffer(buffer)
        opening = Trusted(keys, allow_plain).opening(self._rings, is_durable=durable is not None)
        wanted = as_filter(filter)
        wishes = Wishes(delay_ms_max, bandwidth, on_bound).check(may_be_kept=durable is not None)
        self._count += 1
        if durable is not None:
            check_durable(durable, start, since, policy)
            inbox: Inbox = DurableInbox(
                self._count,
                wanted,
                durable,
                buffer,
                start=start,
                since=since,
                policy=policy,
                wishes=wishes,
                opening=opening,
            )
        elif start is not None or since is not None or policy is not None:
            raise SubscriptionError("start, since and policy are for durable subscriptions; name one as durable")
        else:
            inbox = Inbox(self._count, wanted, None, buffer, wishes, opening)
        self._inboxes[inbox.number] = inbox
        self._ask_for(inbox)
        return EventStream(self, inbox)

    def subscribe_many(
        self,
        filters: ManyFilters,
        *,
        delay_ms_max: float | None = None,
        on_bound: BoundHandler | None = None,
        keys: AnyKeys | None = None,
        allow_plain: bool = False,
        buffer: int = BUFFER,
    ) -> EventStream:
        """One stream for many filters: each event that satisfies any of them comes once, and `matched` names which.

        Filters are given by name, as pairs of name and filter, as subscriptions, or alone. All or none: what is wrong
        with one of them is told with its number and name. `delay_ms_max` goes for each of them that is no subscription
        with a bound of its own; only subscriptions have bandwidths.
        """
        check_buffer(buffer)
        named = named_filters(filters, Wishes(delay_ms_max, None, on_bound).check(may_be_kept=True))
        if on_bound is not None and all(wishes.delay_ms_max is None for _, _, wishes in named):
            raise SubscriptionError("on_bound tells of bounds on delay; give one as delay_ms_max")
        opening = Trusted(keys, allow_plain).opening(self._rings)
        shared = SharedInbox(self, named, range(self._count + 1, self._count + 1 + len(named)), buffer, opening)
        self._count += len(named)
        for member in shared.members:
            self._inboxes[member.number] = member
            self._ask_for(member)
        return EventStream(ManySource(self), shared)

    def on(
        self,
        filter: AnyFilter,
        durable: str | None = None,
        *,
        delay_ms_max: float | None = None,
        bandwidth: float | None = None,
        on_bound: BoundHandler | None = None,
        keys: AnyKeys | None = None,
        allow_plain: bool = False,
    ) -> Callable[[EventHandler], EventHandler]:
        """Has a function called with each event that matches. What it raises ends the bus (see `wait`).

        Events of a durable subscription are acknowledged when the function returns, and refused when it raises, which
        ends nothing: they come again, and at last become dead letters with what was raised as their reason.
        """
        parsed = as_filter(filter)
        if durable is not None:
            check_durable(durable)
        wishes = Wishes(delay_ms_max, bandwidth, on_bound).check(may_be_kept=durable is not None)
        trust = Trusted(keys, allow_plain)
        trust.opening(self._rings)  # what makes no sense raises here

        def register(handler: EventHandler) -> EventHandler:
            if not callable(handler):
                raise SubscriptionError(f"a handler is a function of an event, not {shown(handler)}")
            if self._keeper is None:
                self._handlers.append((parsed, durable, wishes, trust, handler))
            else:
                self._start(parsed, durable, wishes, trust, handler)
            return handler

        return register

    def _start(
        self, filter: Filter, durable: str | None, wishes: Wishes, trust: Trusted, handler: EventHandler
    ) -> None:
        stream = self.subscribe(filter, durable, **wishes._asdict(), **trust._asdict())
        self._handled_inboxes.append(self._inboxes[self._count])
        self._tasks.append(asyncio.create_task(self._handle_each(stream, handler)))

    async def _handle_each(self, stream: EventStream, handler: EventHandler) -> None:
        async for event in stream:
            self._handling += 1
            try:
                await _run(handler, event)
            except Exception as error:
                event.nack(_reason(error))
                if not stream.is_durable:
                    raise
            else:
                event.ack()
            finally:
                self._handling -= 1
                self._handled += 1

    async def subscribed(self, inbox: Inbox) -> None:
        """Waits until a subscription stands; raises what it was refused with."""
        while not inbox.closed:
            standing = self._standing.get(inbox.number)
            if standing is None:
                await self._present()
                continue
            try:
                await asyncio.shield(standing)
                return
            except ConnectionLost:
                await asyncio.sleep(0)  # as in `publish`
                await self._present()
        if inbox.error is not None:
            raise inbox.error

    async def replace(self, inbox: Inbox, filter: Filter, change: Change) -> None:
        """Gives a subscription another filter, bound or bandwidth."""
        await self.subscribed(inbox)
        link = await self._present()
        if link.is_full:
            await link.drained()
        wishes = change.written
        await link.subscribe(wishes, lambda number: Replace(number, inbox.number, str(filter), *wishes[:2]))
        inbox.filter = filter
        inbox.wish(change.of(inbox.wishes))

    def taken(self, inbox: Inbox) -> None:
        """An event was taken out of an inbox."""
        if self._link is not None:
            self._link.made_room()

    def forget(self, inbox: Inbox) -> None:
        """Nobody wants the events of an inbox any more."""
        self._inboxes.pop(inbox.number, None)
        self._standing.pop(inbox.number, None)
        if self._link is not None and not self._link.is_closed:
            asked = self._link.ask(lambda number: Unsubscribe(number, inbox.number))
            asked.add_done_callback(_ignore)

    def _ask_for(self, inbox: Inbox) -> None:
        if self._link is None:
            return
        text = str(inbox.filter)
        if isinstance(inbox, DurableInbox):
            asked = self._link.subscribe(inbox.wishes, inbox.subscribe_frame)
        else:
            delay_ms_max, bandwidth, _ = inbox.wishes
            asked = self._link.subscribe(
                inbox.wishes,
                lambda number: Subscribe(number, inbox.number, text, delay_ms_max=delay_ms_max, bandwidth=bandwidth),
            )
        self._standing[inbox.number] = asked

        def answered(future: asyncio.Future[Any]) -> None:
            error = None if future.cancelled() else future.exception()
            if isinstance(error, Exception) and not isinstance(error, ConnectionLost):
                self._inboxes.pop(inbox.number, None)
                inbox.end(error)
            elif error is None and not future.cancelled() and isinstance(inbox, DurableInbox):
                inbox.stand()

        asked.add_done_callback(answered)

    async def end_durable(self, name: str) -> None:
        """Ends a durable subscription of the node, with all it holds; raises SubscriptionError if there is none."""
        check_durable(name)
        link = await self._present()
        await link.request(lambda number: EndDurable(number, name))

    async def dead_letters(self, name: str, *, keys: AnyKeys | None = None) -> list[DeadLetter]:
        """What a durable subscription refused too often, the oldest first, opened with `keys` or those of the bus."""
        check_durable(name)
        ring = self._rings.of(keys)
        opener = None if ring is None else Opener(ring)
        letters: list[DeadLetter] = []
        more = True
        while more:
            after = letters[-1].position if letters else 0
            link = await self._present()
            answer: DeadLetters = await link.request(partial(ReadDeadLetters, name=name, after=after))
            letters += [DeadLetter.of(letter, opener) for letter in answer.letters]
            more = answer.more
        return letters

    # -- the node ------------------------------------------------------------------------------------

    async def describe(self) -> dict[str, Any]:
        """What the node says about itself: its subscriptions, peers and counts."""
        link = await self._present()
        answer: Description = await link.request(Describe)
        return answer.facts

    async def dry_run(self, event: AnyEvent) -> Reach:
        """Which subscriptions at all nodes an event would reach, and why not others; nothing is published.

        The payload stays here: nobody matches it, and it may be one that is to be sealed.
        """
        encoded = self._publisher.encode_bare(event)
        facts = await self._inquire("reach", encoded)
        return reach_of(facts["answers"], facts["silent"])

    async def trace(self, event: str) -> EventTrace:
        """What the nodes remember of an event, by its id: the way it took, hop by hop."""
        if not isinstance(event, str):
            raise EventError(f"an event is traced by its id, a text, not {shown(event)}")
        facts = await self._inquire("trace", event.encode("utf-8", "replace"))
        return follow(event, facts["answers"], facts["silent"])

    async def _inquire(self, question: Question, content: bytes) -> dict[str, Any]:
        link = await self._present()
        answer: Description = await link.request(lambda number: Inquire(number, question, content))
        return answer.facts

    # -- the connection ------------------------------------------------------------------------------

    async def _present(self) -> ClientLink:
        """The connection, once there is one."""
        if self._link is not None and not self._link.is_closed:
            return self._link
        if self._keeper is None:
            raise ConnectionLost("the bus is not open; use it inside `async with`")
        if self._final is None and not self._keeper.done():
            try:
                async with asyncio.timeout(self._timeout_s):
                    await self._standing_link()
            except TimeoutError:
                why = f": {self._trouble}" if self._trouble else ""
                raise ConnectionLost(f"{self._where} was not reached within {self._timeout_s:g} s{why}") from None
        if self._link is None:
            raise self._final or ConnectionLost("the bus is closed")
        return self._link

    async def _standing_link(self) -> None:
        """Waits for a connection, or for its final failure; one that is about to close is none.

        Without that, who publishes again and again would be given the same closed one for ever, and never wait.
        """
        while self._link is not None and self._link.is_closed:
            await self._link.closed()
            await asyncio.sleep(0)
        await self._linked.wait()

    async def _keep(self) -> None:
        """Makes the connection, and makes it again whenever it breaks."""
        wait_s = _WAIT_MIN_S
        while True:
            try:
                link = await ClientLink.open(self._dial, self._hello, self._inboxes, self._note_dropped, self._notice)
            except SiftcastError as error:
                self._trouble = str(error)
                if error.code in FINAL_GREETINGS:
                    self._end(error)
                    return
            else:
                if self._is_closing:
                    link.close()
                    return
                self._link = link
                for inbox in tuple(self._inboxes.values()):
                    if inbox.closed:  # the node ended it
                        del self._inboxes[inbox.number]
                    else:
                        self._ask_for(inbox)
                self._linked.set()
                wait_s = _WAIT_MIN_S
                lost = await link.closed()
                self._linked.clear()
                self._link = None
                if lost.code in FINAL_CODES:
                    self._end(lost)
                    return
            if self._is_closing:  # the cancellation came together with the failure, which hid it (`wait_for` in 3.11)
                return
            await asyncio.sleep(wait_s * (0.5 + self._random.random()))
            wait_s = min(2 * wait_s, _WAIT_MAX_S)

    def _end(self, error: SiftcastError) -> None:
        self._final = error
        self._linked.set()
        for inbox in tuple(self._inboxes.values()):  # one that fails takes those away that it shares a stream with
            inbox.end(error)

    def _note_dropped(self, count: int) -> None:
        self.dropped += count


def _reason(error: Exception) -> str:
    """What a handler raised, as text that can be sent."""
    return f"{type(error).__name__}: {error}".encode("utf-8", "replace").decode()


def _ignore(future: asyncio.Future[Any]) -> None:
    """Looks at a failure that concerns nobody, so that asyncio does not report it."""
    if not future.cancelled():
        future.exception()
