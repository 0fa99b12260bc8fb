"""One life of a node: the protocol and all its parts that do not outlive a defect.

    connections ──frames──▶ sessions, peers ──stimuli──▶ Protocol ──effects──▶ carrier ──▶ sessions, peers, store

The parts know each other by what they need and no more: whoever reports something is given `tell`, sessions see their
`Desk`, nobody sees the whole. An exception inside the protocol ends the life (`on_defect`): from then on nothing is
told to it, and requests are refused until the node has begun another.

The way of a durable publish: `sessions` (decodes, checks rights) → `durable_clients` (who waits for the answer) →
`tell` → `Durable` (stages it) → `carrying` (Persist) → `storage.store` (a thread writes) → `tell` (Persisted) →
`Durable` → `carrying` (Accept) → `durable_clients` → `sessions` (Published).
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from siftcast.model import Event, Filter, Schema
from siftcast.overlays.contract import (
    NOTHING,
    ApplyRequested,
    ContactsFound,
    Effects,
    InputSetAside,
    LeaveRequested,
    NodeId,
    PeerGone,
    PeerLost,
    PublishRequested,
    Refuse,
    Report,
    Started,
    Stimulus,
)
from siftcast.overlays.epochs.planned import LEAVE, Planned
from siftcast.overlays.epochs.view import GONE, LEFT
from siftcast.overlays.wire_events import WireEvent, decode_event, encode_event
from siftcast.runtimes.live.errors import DurabilityUnavailable, Refused
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.address_book import AddressBook
from siftcast.runtimes.live.node.applying import wanted_settings
from siftcast.runtimes.live.node.bounds import Bounds
from siftcast.runtimes.live.node.calling import Line
from siftcast.runtimes.live.node.carrying import Carrier
from siftcast.runtimes.live.node.configuration import ConfigurationFile
from siftcast.runtimes.live.node.durable_clients import Answer, DurableClients
from siftcast.runtimes.live.node.grounding import Grounding
from siftcast.runtimes.live.node.hearing import Hearing
from siftcast.runtimes.live.node.identity import STORE
from siftcast.runtimes.live.node.inquiries import Inquiries
from siftcast.runtimes.live.node.joining import Invited
from siftcast.runtimes.live.node.layout import Overlay, lay_out, lay_out_joining
from siftcast.runtimes.live.node.load_meter import LoadMeter
from siftcast.runtimes.live.node.members import list_members, waiting_words
from siftcast.runtimes.live.node.memory import NodeMemory
from siftcast.runtimes.live.node.peers import Peers
from siftcast.runtimes.live.node.planning import PlanSettings
from siftcast.runtimes.live.node.probe_budget import ProbeBudget
from siftcast.runtimes.live.node.rights import Guard
from siftcast.runtimes.live.node.routes import Routes
from siftcast.runtimes.live.node.sessions import Sessions
from siftcast.runtimes.live.node.set_aside import STOPS_MAX, SetAside, refusals
from siftcast.runtimes.live.node.settling import SettledTables
from siftcast.runtimes.live.node.surveying import DELAYS, Surveyor
from siftcast.runtimes.live.reach import judge
from siftcast.runtimes.live.storage.memory_store import Keeper
from siftcast.runtimes.live.storage.store import Reported, Store
from siftcast.runtimes.live.wire.connection import Connection, Outbox
from siftcast.runtimes.live.wire.frames import Description, Failure, Inquire, Question
from siftcast.runtimes.live.wire.node_frames import Introduction, PeerAnswer, PeerQuestion

SHOWN_MAX = 2_000
CONTACTS_MAX = 8
"""With so many nodes that it knew before, a node begins again that has joined."""
MakeStore = Callable[[Callable[[Reported], None]], Keeper]


@dataclass(slots=True)
class Tally:
    """What is counted over all lives, so that ids made from it are never given twice."""

    published: int = 0
    sessions: int = 0


@dataclass(frozen=True, slots=True)
class Lasting:
    """What outlives a life and is lent to each."""

    file: ConfigurationFile
    identity: NodeId
    log: Logger
    outbox: Outbox
    line: Line
    book: AddressBook
    invited: Invited | None
    memory: NodeMemory
    set_aside: SetAside
    tally: Tally
    incarnation: str
    random: Random
    make_store: MakeStore | None
    on_closed: Callable[[Connection], None]
    on_defect: Callable[[Stimulus, Exception], None]
    on_leave: Callable[[str], None]
    on_reload: Callable[[Connection, int], None]


class Life:
    """The parts of a node, from a start to a stop or a defect. Make it inside a running loop, then `open` it."""

    def __init__(self, lasting: Lasting) -> None:
        file, configuration = lasting.file, lasting.file.configuration
        data = None if configuration.node.data is None else file.beside(configuration.node.data)
        self.loop = asyncio.get_running_loop()
        self.begun_at = self.loop.time()
        self.down = False
        self._lasting = lasting
        self._log = lasting.log
        self._set_aside, self._memory = lasting.set_aside, lasting.memory
        self._name = configuration.node.name
        self._event_limits = configuration.event_limits
        self.tables = SettledTables(self.loop, configuration.node.engine)
        self._store: Keeper | None = None
        if lasting.make_store is not None:
            self._store = lasting.make_store(self._report_written)
        elif data is not None:
            self._store = Store(data / STORE, self._report_written, self._log)
        self.overlay = self._lay_out()
        self.protocol = self.overlay.protocol
        self._hearing = Hearing(lambda: self.down or self.protocol.is_heard)
        schema = self.overlay.terms.schema
        self._load = LoadMeter(None if schema is None else Schema.parse(schema))
        self._budget = ProbeBudget(self.loop, configuration.node.probes_per_minute)
        self.routes = Routes(
            self.loop, self._budget, lasting.book.address, self._log, is_permitted=configuration.node.traceroute
        )
        self.peers = Peers(
            self.overlay,
            lasting.book,
            lasting.line,
            tell=self.tell,
            log=self._log,
            random=lasting.random,
            budget=self._budget,
            event_limits=self._event_limits,
            queue_bytes_max=configuration.slow_consumers.queue_bytes_max,
            measures_again=lambda: self._surveyor.follows,
            on_lost=lambda peer: self.inquiries.lost(peer),
            on_question=self._on_question,
        )
        self._grounding = Grounding(
            self.loop,
            self.overlay.node,
            self._name,
            address=lasting.line.advertised,
            book=lasting.book,
            measuring=self.peers.measuring,
            routes=self.routes,
        )
        self._bounds = Bounds(self.peers.ages, lasting.book.name)
        self.sessions = Sessions(configuration, lasting.outbox, data, self._log, lasting.on_closed, self._bounds)
        self._durable: DurableClients | None = None
        if self.overlay.part.durable is not None:
            self._durable = DurableClients(
                self.overlay.part.durable.queues,
                lasting.identity,
                self._name,
                configuration.limits.frame_bytes_max,
                bounds=self._bounds,
                tell=self.tell,
                log=self._log,
            )
        self.carrier = Carrier(
            self.sessions,
            self.peers,
            self.routes,
            self._durable,
            self._store,
            tell=self.tell,
            leave=lasting.on_leave,
            log=self._log,
        )
        self.inquiries = Inquiries(
            self._name,
            lasting.incarnation,
            self._expected,
            self.peers,
            knows_all=self.overlay.is_planned,
            frame_bytes_max=configuration.limits.frame_bytes_max,
            answer=self._answer,
            event_of=self._event_of,
        )
        self._surveyor = Surveyor(
            self.overlay,
            view=lambda: self.protocol.view if isinstance(self.protocol, Planned) else None,
            gone=self._gone,
            gather=self.inquiries.gather,
            tell=self.tell,
            log=self._log,
            random=lasting.random,
        )

    def _lay_out(self) -> Overlay:
        """This node's part in the network of its file, or in the one that it has joined."""
        lasting, durable = self._lasting, self._store is not None
        book, invited = lasting.book, lasting.invited
        if invited is None:
            overlay = lay_out(lasting.file, self.tables.table, lasting.identity, durable=durable)
        else:
            known = invited.invitation
            others = [node for node in book.met if node not in (known.identity, lasting.identity)][:CONTACTS_MAX]
            overlay = lay_out_joining(
                lasting.file, known, self.tables.table, lasting.identity, others=others, durable=durable
            )
            book.learn(Introduction(known.identity, known.name, invited.seed), is_its_own=known.identity not in book)
        book.take_list(overlay.names, overlay.addresses)
        return overlay

    def meet(self, seeds: Sequence[Invited]) -> None:
        """Seeds have answered through which the node may enter its network, too."""
        for invitation, address in ((each.invitation, each.seed) for each in seeds):
            known = invitation.identity in self._lasting.book
            entry = Introduction(invitation.identity, invitation.name, address)
            self._lasting.book.learn(entry, is_its_own=not known)
        self.tell(ContactsFound(tuple(each.invitation.identity for each in seeds)))

    def open(self) -> None:
        """Gives the protocol what was kept."""
        if self.overlay.is_planned:
            self._surveyor.start()
        clock_ms, nonce = time.time() * 1_000, secrets.randbits(63)
        if self._store is None:
            self.tell(Started({}, clock_ms, nonce=nonce, contacts=self.overlay.contacts))
            return
        kept = self._store.open()
        self.tell(Started(kept, clock_ms, bool(self._store.damaged), nonce, self.overlay.contacts))
        for number in self.overlay.contacts:  # so that what waits for them is known to wait for them
            self.tell(PeerLost(number))

    async def hang_up(self, *, for_good: bool = False) -> None:
        """Talks to no other node any more; `for_good` if this one has left them."""
        self._surveyor.stop()
        self.inquiries.stop()
        self._bounds.stop()
        self._grounding.stop()
        self._budget.stop()
        self.routes.stop()
        await self.peers.stop(for_good=for_good)

    async def close(self) -> None:
        """Closes the store, after what it was given is written."""
        if self._store is not None:
            await self.loop.run_in_executor(None, self._store.close)

    # -- stimuli and effects -------------------------------------------------------------------------

    def tell(self, stimulus: Stimulus) -> Effects:
        """Tells the protocol what happened and has done what it wants; returns the effects, none while it is down."""
        if self.down:
            return NOTHING
        now = self.loop.time() * 1_000
        try:
            if stimulus in self._set_aside:
                effects = self._pass_by(stimulus, now)
            else:
                effects = self.protocol.handle(stimulus, now)
        except Exception as error:
            self.down = True
            self._lasting.on_defect(stimulus, error)
            return NOTHING
        if self._memory.is_kept:
            self._memory.note(stimulus, effects, now)
        self.carrier.carry_out(effects)
        self._hearing.look()
        return effects

    def _pass_by(self, stimulus: Stimulus, now: float) -> Effects:
        """Goes on without input that stopped the node too often."""
        reason = f"it has stopped this node {STOPS_MAX} times and was set aside; the node's log says more"
        self._log.error("input set aside", stimulus=type(stimulus).__name__, content=repr(stimulus)[:SHOWN_MAX])
        return [*self.protocol.handle(InputSetAside(stimulus, reason), now), *refusals(stimulus, reason)]

    def _report_written(self, written: Reported) -> None:
        """Called by the store's thread."""
        self.loop.call_soon_threadsafe(self.carrier.tell_written, written)

    # -- what sessions ask (`session.Desk`) ---------------------------------------------------------

    def publish(self, event: WireEvent) -> str | None:
        """Publishes an event of a client; says why not, if it is refused."""
        event = self._begun(self._named(event))
        self._load.note(event, self.loop.time() * 1_000)
        for effect in self.tell(PublishRequested(event)):
            if type(effect) is Refuse and effect.request == event.id:
                return effect.reason
        return "the node begins again after a defect; publish it again" if self.down else None

    def publish_durable(self, event: WireEvent, source: str, answer: Answer, connection: Connection) -> None:
        """Publishes an event of a client that is answered when it is safe; order is kept among those of a source."""
        event = self._begun(self._named(event, source))
        self.durable_clients().publish(event, answer, connection)
        self._load.note(event, self.loop.time() * 1_000)

    def durable_clients(self) -> DurableClients:
        """Who was promised something; raises DurabilityUnavailable if this node keeps nothing."""
        if self._durable is None and self._store is not None:
            raise DurabilityUnavailable(f"the nodes of this network keep no events (scheme '{self.overlay.scheme}')")
        if self._durable is None:
            raise DurabilityUnavailable("this node keeps nothing on disk; name a folder as data in its [node] table")
        return self._durable

    def check_ephemeral(self) -> None:
        """Raises Refused where an ephemeral subscription would get nothing."""
        view = self.protocol.view if isinstance(self.protocol, Planned) else None
        own = None if view is None else view.member(self.overlay.node)
        if own is not None and own.edge:  # whoever stands in for it hands on what durable subscriptions are to get
            words = "which gets events for durable subscriptions only; give it a durable name, or choose another node"
            raise Refused(f"this node is an edge, {words}")

    def when_heard(self, answer: Callable[[], None]) -> None:
        """Answers a client once all who must know what it has asked for do."""
        self._hearing.answer(answer)

    def inquire(self, connection: Connection, guard: Guard, frame: Inquire) -> None:
        """Asks all nodes something."""
        if frame.question == "distances":
            frame = msgspec.structs.replace(frame, content=self._grounding.prepare(frame.content))
        self.inquiries.ask(connection, guard, frame)

    def _on_question(self, peer: NodeId, frame: PeerQuestion | PeerAnswer) -> None:
        """Another node asks or answers."""
        if isinstance(frame, PeerAnswer):
            self._grounding.learn(frame.answers)
        self.inquiries.received(peer, frame)

    def leave(self) -> None:
        """Has the protocol hand over what it holds for others, and then leave; raises Refused where none can."""
        if not self.protocol.can_leave:
            raise Refused(f"nodes of scheme '{self.overlay.scheme}' cannot leave in peace; stop it")
        for effect in self.tell(LeaveRequested()):
            if isinstance(effect, Refuse) and effect.request == LEAVE:
                raise Refused(effect.reason)

    def apply(self, text: str) -> tuple[str, ...]:
        """Has the network planned by another configuration; returns remarks. Raises Refused or ConfigurationError."""
        current = PlanSettings.decode(self._planned().settings)
        wanted = wanted_settings(text, self.overlay, self.members(), current)
        self.tell(ApplyRequested(wanted.settings))
        return wanted.remarks

    def replan(self, connection: Connection, request: int) -> None:
        """Has the network planned by what all nodes have measured, and says what that is. Raises Refused."""
        self._planned()

        def answer(facts: dict[str, Any]) -> None:
            if not connection.closing:
                connection.send(Description(request, facts))

        self._surveyor.replan(answer)

    def _planned(self) -> Planned:
        if not isinstance(self.protocol, Planned):
            raise Refused(f"scheme '{self.overlay.scheme}' has no plan that could be changed")
        if not self.protocol.is_ready:
            raise Refused("this node has no place in its network yet; ask another, or this one when it is ready")
        return self.protocol

    def forget(self, text: str, connection: Connection, request: int) -> None:
        """Declares a node gone, by name or identity, unless it answers a call; raises Refused.

        Whoever asked is answered with what the protocol reports about it.
        """
        book = self._lasting.book
        found = [node for node in book.named(text) if node != self.overlay.node]
        if not found and text.isdecimal():  # one that only the protocol remembers
            found = [int(text)]
        if not found and text in (self._name, str(self.overlay.node)):
            raise Refused(f"this is node '{self._name}' itself; have it leave, or say it to another node")
        if len(found) != 1:
            several = f"several nodes are called '{text}'; say which: {', '.join(map(str, found))}"
            raise Refused(several if found else f"no node '{text}' is known here; siftcast members lists them")
        (node,) = found

        def forget(is_there: bool) -> None:
            if is_there:
                refusal = Refused(
                    f"node '{book.name(node)}' is there and answers; have it leave: siftcast leave --at …"
                )
                connection.send(Failure(request, refusal.code, str(refusal)))
                return
            effects = self.tell(PeerGone(node))
            self.peers.forget(node)
            if not self.overlay.is_planned:  # where there is a plan, it says who is gone
                self.peers.declare_gone((node,))
            reports = [{"what": each.what, **each.facts} for each in effects if isinstance(each, Report)]
            connection.send(Description(request, {"reports": reports}))

        self.peers.seek(node, forget)

    def reload(self, connection: Connection, request: int) -> None:
        """Has the node read its configuration again; whoever asked is answered when it has."""
        self._lasting.on_reload(connection, request)

    @property
    def is_ready(self) -> bool:
        """Whether the node has its part in the network; one that joins has not at first."""
        return not self.down and bool(self.protocol.state().get("ready", True))

    def members(self) -> list[dict[str, Any]]:
        """The nodes of the network, as this one sees them."""
        lasting = self._lasting
        return list_members(
            self.overlay.node,
            self.protocol.state(),
            self.peers,
            lasting.book,
            lasting.line,
            self.routes.inferred,
        )

    def _expected(self) -> list[str]:
        """The names of the nodes that answer questions, as far as this one knows."""
        gone = self._gone()
        return [name for node, name in self._lasting.book.names.items() if node not in gone]

    def _gone(self) -> set[NodeId]:
        """Former members of the network."""
        told = self.protocol.state().get("members", ())
        return {row["identity"] for row in told if row.get("state") in (LEFT, GONE)}

    def waits_for(self) -> list[str]:
        """Whom a change of the network waits for, as far as this node knows, in words."""
        return waiting_words(self.protocol.state(), self.peers, self._lasting.book)

    def _begun(self, event: WireEvent) -> WireEvent:
        """The event, whose age counts from now, if anybody wants to know it."""
        if self.peers.ages.is_wanted:
            self.peers.ages.begin(event.id)
        return event

    def _named(self, event: WireEvent, source: str = "") -> WireEvent:
        """The event with an id, and with a source if one is given; as it is, if it has them."""
        tally = self._lasting.tally
        tally.published += 1
        if event.id and (event.source or not source):
            return event
        id = event.id or f"{self._name}.{self._lasting.incarnation}.e{tally.published}"
        return decode_event(
            encode_event(Event(event.attributes, id, event.source or source, event.time, event.payload))
        )

    def _event_of(self, encoded: bytes) -> Event:
        """An event that somebody asks about; raises EventError."""
        return decode_event(encoded, self._event_limits)

    def _answer(self, question: Question, content: bytes) -> dict[str, Any]:
        """What this node has to say to a question."""
        if question == "reach":
            durable = [] if self._durable is None else self._durable.listed()
            return judge(self._event_of(content), self.sessions.listed() + durable)
        if question == "members":
            return {"members": self.members()}
        if question == "distances":
            return self._grounding.answer(content)
        if question == "load":
            delays_ms = list(self.peers.echoes.delays_ms.items())
            if content == DELAYS:
                return {"identity": self.overlay.node, "delays_ms": delays_ms}
            durable = [] if self._durable is None else self._durable.listed()
            filters = [filter_ for _, _, filter_ in self.sessions.listed() + durable]
            load = self._load.describe(filters, self.loop.time() * 1_000)
            return {"identity": self.overlay.node, "delays_ms": delays_ms, **load}
        event, names = content.decode("utf-8", "replace"), self._lasting.book.names
        return {"rows": self._memory.hops_of(event, names, self._filter_of, self._shown)}

    def _shown(self, id: str) -> str:
        return id if self._durable is None else self._durable.shown(id)

    def _filter_of(self, id: str) -> Filter | None:
        found = self.sessions.filter_of(id)
        return found if found is not None or self._durable is None else self._durable.filter_of(id)

    def _state(self) -> dict[str, Any]:
        """What the protocol says about itself, with nodes by their names."""
        state = dict(self.protocol.state())
        state.pop("awaited", None)  # `waits_for` says it in words
        if "peers_lost" in state:
            state["peers_lost"] = [self._lasting.book.name(node) for node in state["peers_lost"]]
        if "durable" in state:
            state["durable"] = {self._shown(id): count for id, count in state["durable"].items()}
        return state

    def describe(self) -> dict[str, Any]:
        """Facts about the node, for people."""
        return {
            "node": self._name,
            "identity": self.overlay.node,
            "network": self._lasting.file.configuration.overlay.network,
            "address": self._lasting.line.address(),
            "scheme": self.overlay.scheme,
            "members": self.members(),
            "plan": self._surveyor.describe(),
            "peers": self.peers.present,
            "missing": self.peers.missing,
            "clients": len(self.sessions.open),
            "published": self._lasting.tally.published,
            "sent": self.peers.sent,
            "received": self.peers.received,
            "writing": self.carrier.writing,
            "deliveries": self.sessions.deliveries,
            "dropped": self.sessions.dropped + self.peers.dropped,
            "cpu_s": time.process_time(),
            "state": self._state(),
            "waits_for": self.waits_for(),
            "effects_failed": self.carrier.failed,
            "subscriptions": self.sessions.describe() + ([] if self._durable is None else self._durable.describe()),
        }
