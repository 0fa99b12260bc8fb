"""HOMED's messages on a wire, and what its scheme refuses."""

import numpy as np
import pytest

from siftcast.model import Attribute, Event, Filter, Schema
from siftcast.overlays.protocols.homed import Cast, Homed
from siftcast.overlays.protocols.homed.messages import Accept, Beat, BeatAnswer, Farewell, Gateways, Join, Widen
from siftcast.overlays.wire_messages import MessageCodec
from siftcast.schemes import Ground, SchemeError, scheme

NODE, SERIAL, DIGEST = 2**63 - 1, 2**62, 2**64 - 1
PLACE = (NODE, SERIAL)
WANTED = ((PLACE, 3, Filter.parse("x < 5 OR y = 'a'")),)
MESSAGES = [
    Join(0, PLACE, DIGEST),
    Accept(SERIAL, (1.5, NODE), ((7, 0, 2 << 8 | 4, 1, (DIGEST, 0, 1), 9, ((PLACE, DIGEST),)),)),
    Beat(SERIAL, 7, 1, SERIAL, (1.5, NODE), DIGEST, DIGEST, 4, WANTED, (1, 2)),
    BeatAnswer(SERIAL, 7, 0, SERIAL, 1, 1, 1, WANTED, ((7, PLACE, 1),), ((1, 2, 3),), ((4, PLACE, 5),)),
    Widen(SERIAL, 7, 1, SERIAL, DIGEST, -1, 4, PLACE, 2, 1),
    Farewell(SERIAL, 7, SERIAL, ((PLACE, 1),)),
    Gateways((NODE,), None),
    Cast(SERIAL, Event({"x": 1}, id="e"), -1, 3, (2, -1)),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: type(each).__name__)
def test_messages_survive_the_wire_and_introduce_whom_they_name(message):
    codec = MessageCodec(Homed.messages)
    assert codec.decode(codec.encode(message)) == message
    names_somebody = isinstance(message, Join | Accept | BeatAnswer | Farewell | Gateways)
    assert message.introduces == ((NODE,) if names_somebody else ())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"digest": "guess"}, "segments, hashed, bloom"),
        ({"arity": 3}, "2, 4, 8 or 16"),
        ({"bits": 65}, "2 to 64"),
        ({"bits": 60, "receivers": "to"}, "2 to 48"),
        ({"layout": "ring"}, "layout"),
        ({"drift": 1.5}, "drift"),
    ],
)
def test_options_that_make_no_sense_are_refused(changes, words):
    with pytest.raises(SchemeError, match=words):
        scheme("homed").configure(changes)


def test_the_scheme_makes_digests_of_the_attributes_it_is_given():
    schema = Schema([Attribute("x", "int", (0, 9), 1), Attribute("y", "int", (0, 9), 1)])
    ground = Ground(np.zeros((3, 3)), np.random.default_rng(1), schema=schema)
    homed = scheme("homed")
    plan = homed.plan(ground, homed.configure({"attributes": "y", "bits": 8}))
    assert [part.attribute.name for part in plan.digests.parts] == ["y"]
    assert [homed.contacts(plan, node) for node in range(3)] == [(), (0,), (1,)]
    assert homed.assign(plan, [50, 40, 30]).contacts == {50: (), 40: (50,), 30: (40,)}
    blind = Ground(np.zeros((3, 3)), np.random.default_rng(1))
    with pytest.raises(SchemeError, match="schema"):
        homed.plan(blind, homed.options)
