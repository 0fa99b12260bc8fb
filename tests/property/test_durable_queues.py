"""Durable subscriptions of one node against a list of events with states, through crashes at any write.

The model is told what the node is told. It does not know floors, cursors or a log: an event that a subscription holds
is `new`, `open`, `again` (refused, to be offered once more) or `done`. A crash takes the model back to what it was when
the last write began that is on the disk; what the node had not said by then, it never says.
"""

from copy import deepcopy
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from siftcast.overlays.contract import SetTimer, TimerFired, UnsubscribeRequested
from siftcast.overlays.durability.contract import (
    Bury,
    Expire,
    Offer,
    OfferRefused,
    OffersAcknowledged,
    QueuePolicy,
    SubscriberAttached,
    SubscriberDetached,
)
from siftcast.overlays.durability.queues import RETENTION_TIMER
from tests.unit.overlays.durability.single_node import SingleNode

NAMES = ("all", "odd", "desk/7")
FILTERS = {"all": "TRUE", "odd": "number IN (1, 3)", "desk/7": "number > 0"}
RETENTION_MS_MIN = 1_000.0


def wants(name, number):
    return {"all": True, "odd": number in (1, 3), "desk/7": number > 0}[name]


@dataclass
class Held:
    """An event that a subscription holds."""

    id: str
    time: float
    state: str = "new"
    refusals: int = 0


@dataclass
class Wanted:
    """A durable subscription."""

    policy: QueuePolicy
    held: dict[int, Held] = field(default_factory=dict)
    again: list[int] = field(default_factory=list)
    dead: dict[int, tuple] = field(default_factory=dict)
    window: int = 0

    def those(self, *states):
        return [position for position in sorted(self.held) if self.held[position].state in states]

    @property
    def unanswered(self):
        return self.those("new", "open", "again")

    def rest(self):
        """Nobody takes offers any more, so nothing is on its way."""
        self.window, self.again = 0, []
        for position in self.unanswered:
            self.held[position].state = "new"

    def offered(self):
        """What is offered now."""
        found = []
        while len(self.those("open")) < self.window and (self.again or self.those("new")):
            position = self.again.pop(0) if self.again else self.those("new")[0]
            event = self.held.get(position)
            if event is not None and event.state in ("new", "again"):
                event.state = "open"
                found.append(("offer", position, event.id, event.refusals + 1))
        return found

    def trimmed(self, now):
        """What expires now; acknowledged events go first, and silently."""
        expired = []
        for states in (("done",), ("new", "open", "again")):
            while (among := self.those(*states)) and (
                len(self.held) > self.policy.events_max or self.held[among[0]].time < now - self.policy.age_ms_max
            ):
                del self.held[among[0]]
                if states != ("done",):
                    expired.append(among[0])
        return [("expired", *expired)] if expired else []


@dataclass
class Model:
    """What a node must know."""

    wanted: dict[str, Wanted] = field(default_factory=dict)
    last: int = 0
    accepted: set[str] = field(default_factory=set)
    logged: set[str] = field(default_factory=set)

    def held(self):
        return {position for each in self.wanted.values() for position in each.held}

    def due(self):
        """When the first event is too old."""
        return min(
            (event.time + each.policy.age_ms_max for each in self.wanted.values() for event in each.held.values()),
            default=float("inf"),
        )


class Run:
    """A node and its model."""

    def __init__(self):
        self.node = SingleNode()
        self.node.slow = True
        self.model = Model()
        self.on_disk = self.being_written = deepcopy(self.model)
        self.said = {name: [] for name in NAMES}  # by the model
        self.heard = {name: [] for name in NAMES}  # from the node
        self.timer = None
        self.count = 0

    def tell(self, stimulus):
        self.note(self.node.writing, self.node.tell(stimulus))

    def note(self, writing, effects):
        """Takes in what the node does; what the model knows goes to disk with the write that begins now."""
        if self.node.writing is not writing:
            self.being_written = deepcopy(self.model)
        for effect in effects:
            match effect:
                case Offer(name, position, event, attempt):
                    self.heard[name].append(("offer", position, event.id, attempt))
                case Expire(name, positions):
                    self.heard[name].append(("expired", *positions))
                case Bury(name, position, event, refusals, reason):
                    self.heard[name].append(("dead", position, event.id, refusals, reason))
                case SetTimer(name, after_ms) if name == RETENTION_TIMER:
                    self.timer = self.node.now + after_ms

    def say(self, name, facts):
        self.said[name] += facts

    # -- what may happen -----------------------------------------------------------------------------------

    def subscribe(self, name, policy):
        if name in self.model.wanted:
            self.model.wanted[name].policy = policy
        else:
            self.model.wanted[name] = Wanted(policy)
        limits = {each: getattr(policy, each) for each in POLICY}
        self.note(self.node.writing, self.node.subscribe(name, FILTERS[name], **limits))

    def publish(self, number, repeated, durable):
        self.count += not repeated
        id = f"e{self.count}"
        model = self.model
        names = [name for name in model.wanted if wants(name, number)]
        if durable and id in model.accepted:
            names = []
        elif durable:
            model.accepted.add(id)
        if names and id not in model.logged:
            model.logged.add(id)
            model.last += 1
            for name in names:
                model.wanted[name].held[model.last] = Held(id, self.node.now)
            for name in names:
                self.say(name, model.wanted[name].trimmed(self.node.now) + model.wanted[name].offered())
        self.note(self.node.writing, self.node.publish(id, durable=durable, number=number))

    def attach(self, name, window, start=None, age=None):
        wanted = self.model.wanted.get(name)
        since = None if age is None else self.node.now - age
        if wanted is not None:
            wanted.rest()
            if start is not None or since is not None:
                for position in wanted.those("done"):
                    event = wanted.held[position]
                    if (start is None or position >= start) and (since is None or event.time >= since):
                        event.state = "new"
            wanted.window = window
            self.say(name, wanted.offered())
        self.tell(SubscriberAttached(name, window, start, since))

    def detach(self, name):
        if name in self.model.wanted:
            self.model.wanted[name].rest()
        self.tell(SubscriberDetached(name))

    def acknowledge(self, name, places):
        wanted = self.model.wanted.get(name)
        positions = self.positions(name, places)
        if wanted is not None:
            for position in positions:
                if position in wanted.unanswered:
                    wanted.held[position].state, wanted.held[position].refusals = "done", 0
            self.say(name, wanted.trimmed(self.node.now) + wanted.offered())
        self.tell(OffersAcknowledged(name, positions))

    def refuse(self, name, place):
        wanted = self.model.wanted.get(name)
        (position,) = self.positions(name, [place])
        reason = f"no {self.count}"
        if wanted is not None and position in wanted.those("open"):
            event = wanted.held[position]
            event.refusals += 1
            event.state = "again"
            wanted.again.append(position)
            if event.refusals >= wanted.policy.refusals_max:
                letter = (position, event.id, event.refusals, reason)
                del wanted.held[position]
                wanted.dead[position] = letter
                self.say(name, [("dead", *letter)])
                while len(wanted.dead) > wanted.policy.dead_letters_max:
                    del wanted.dead[next(iter(wanted.dead))]
            self.say(name, wanted.offered())
        self.tell(OfferRefused(name, position, reason))

    def positions(self, name, places):
        """Positions that are likely to mean something, and some that mean nothing."""
        wanted = self.model.wanted.get(name)
        likely = [] if wanted is None else wanted.those("open") or wanted.unanswered
        return tuple(likely[place % len(likely)] if likely and place < 20 else place for place in places)

    def unsubscribe(self, name):
        self.model.wanted.pop(name, None)
        self.tell(UnsubscribeRequested((name,)))

    def wait(self, ms):
        self.node.now += ms
        while self.timer is not None and self.timer <= self.node.now:
            self.timer = None
            for name, wanted in self.model.wanted.items():
                self.say(name, wanted.trimmed(self.node.now) + wanted.offered())
            self.tell(TimerFired(RETENTION_TIMER))

    def write(self, count):
        while count and self.node.writing is not None:
            count -= 1
            self.on_disk = self.being_written
            self.tell(self.node.write())

    def crash(self, survives):
        """Cuts the power; the write under way is lost or was just done."""
        survives = survives and self.node.writing is not None
        self.model = deepcopy(self.being_written if survives else self.on_disk)
        self.on_disk = deepcopy(self.model)
        self.said = {name: list(heard) for name, heard in self.heard.items()}
        self.timer = None
        for wanted in self.model.wanted.values():
            wanted.rest()
            wanted.dead = dict(sorted(wanted.dead.items()))
        self.node.disk = dict(sorted(self.node.disk.items()))  # a disk need not keep the order of writes
        self.node.restart(write_survives=survives)
        self.note(None, self.node.effects)

    # -- what must hold --------------------------------------------------------------------------------------

    def check(self):
        queues, model = self.node.durable.queues, self.model
        for name in NAMES:
            heard, said = self.heard[name], self.said[name]
            assert heard == said[: len(heard)], name
            letters = [(each.position, each.event.id, each.refusals, each.reason) for each in queues.dead_letters(name)]
            assert letters == list(model.wanted[name].dead.values() if name in model.wanted else [])
        assert queues.unanswered == {name: len(wanted.unanswered) for name, wanted in model.wanted.items()}
        if model.held():
            latest = max(model.due(), self.node.now + RETENTION_MS_MIN)
            assert latest == float("inf") or (self.timer is not None and self.timer <= latest)
        if self.node.writing is None:
            assert self.heard == self.said
            kept = {tuple(key.split("/", 1)) for key in self.node.disk}
            assert {int(rest[0]) for room, *rest in kept if room == "log"} == model.held()
            assert {rest[0] for room, *rest in kept if room in ("subscription", "cursor")} == set(model.wanted)
            assert {rest[0] for room, *rest in kept if room == "dead"} == {
                f"{position}/{name}" for name, wanted in model.wanted.items() for position in wanted.dead
            }


POLICY = ("events_max", "age_ms_max", "refusals_max", "dead_letters_max")
names = st.sampled_from(NAMES)
policies = st.builds(
    QueuePolicy,
    events_max=st.sampled_from([100, 3, 1]),
    age_ms_max=st.sampled_from([float("inf"), 20_000.0, 5_000.0]),
    refusals_max=st.integers(1, 3),
    dead_letters_max=st.sampled_from([100, 1, 0]),
)
numbers, windows, places = st.integers(0, 3), st.integers(1, 4), st.integers(0, 21)
steps = st.one_of(
    st.just(("check",)),  # nothing happens: what a failure shrinks to
    st.tuples(st.just("publish"), numbers, st.just(False), st.just(True)),
    st.tuples(st.just("publish"), st.integers(1, 3), st.just(False), st.just(True)),
    st.tuples(st.just("publish"), numbers, st.booleans(), st.booleans()),
    st.tuples(st.just("write"), st.integers(1, 3)),
    st.tuples(st.just("write"), st.integers(1, 3)),
    st.tuples(st.just("attach"), names, windows),
    st.tuples(st.just("attach"), names, windows, st.none() | st.integers(0, 8), st.sampled_from([None, 0.0, 4_000.0])),
    st.tuples(st.just("acknowledge"), names, st.lists(places, max_size=3)),
    st.tuples(st.just("acknowledge"), names, st.lists(places, max_size=3)),
    st.tuples(st.just("refuse"), names, places),
    st.tuples(st.just("refuse"), names, places),
    st.tuples(st.just("crash"), st.booleans()),
    st.tuples(st.just("detach"), names),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 3_000.0, 30_000.0])),
    st.tuples(st.just("subscribe"), names, policies),
    st.tuples(st.just("unsubscribe"), names),
)


@given(policies, policies, st.lists(steps, min_size=100, max_size=150))
def test_durable_subscriptions_do_as_a_list_of_events_does_whatever_is_lost_in_crashes(first, second, steps):
    run = Run()
    for step in (("subscribe", "all", first), ("subscribe", "odd", second), *steps, ("write", 99), ("crash", False)):
        getattr(run, step[0])(*step[1:])
        run.check()
    for name in list(run.model.wanted):  # in the end all that is held can be replayed, and nothing else
        run.attach(name, 99, start=0)
    run.write(99)
    run.check()
    assert run.heard == run.said
