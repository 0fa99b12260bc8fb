"""What a client makes a node remember is limited, by the node or for its principal; refusals name limit and key."""

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import siftcast
from siftcast import Event
from siftcast.model import EventError, FilterError, SubscriptionError
from siftcast.overlays.durability.contract import QueuePolicy
from siftcast.runtimes.live.errors import ConnectionLost
from siftcast.runtimes.live.node.client_limits import ClientLimits
from siftcast.runtimes.live.node.configuration import LimitSpec, PrincipalLimitSpec
from siftcast.runtimes.live.node.rights import new_token
from siftcast.runtimes.live.wire.frames import VERSION, Describe, Failure, Hello, encode_frame
from siftcast.testing import in_process
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import running, url_of
from tests.live.test_rights import principal
from tests.live.wire import read_frame

DESK, OTHER = new_token(), new_token()
ALL = 'publish = "TRUE"\nsubscribe = "TRUE"'
TWO = (
    "[limits]\ndurable_names_max = 3\npolicy_events_max = 50\n"
    + principal("desk", DESK, ALL + "\n[principal.limits]\ndurable_names_max = 1\nconnections_max = 2")
    + principal("other", OTHER, ALL)
)
NAMES = "[limits]\ndurable_names_max = 2\n"


async def refused(kind: type[Exception], asked: Any) -> str:
    with pytest.raises(kind) as caught:
        await asked
    return str(caught.value)


@on_loop
async def test_ids_and_sources_of_events_have_a_length() -> None:
    async with in_process("[limits]\nevent_id_length_max = 10\n") as bus:
        await bus.publish(Event({"n": 1}, "0123456789", source="0123456789"), durable=True)
        for event in (Event({"n": 1}, "0123456789a"), Event({"n": 1}, "ok", source="0123456789a")):
            for durable in (False, True):
                said = await refused(EventError, bus.publish(event, durable=durable))
                assert "has 11 characters; the limit is 10 (event_id_length_max in [limits]" in said


@on_loop
async def test_a_client_with_an_endless_name_is_refused_with_the_reason() -> None:
    async with running("[limits]\nevent_id_length_max = 10\n") as node:
        reader, writer = await asyncio.open_connection(*node.address.split(":"))
        writer.write(encode_frame(Hello(VERSION, "client", "x" * 11)))
        answer = await read_frame(reader)
        writer.close()
        assert isinstance(answer, Failure)
        assert (answer.code, "event_id_length_max" in answer.message) == ("refused", True)


@on_loop
async def test_durable_names_are_counted_once_however_often_they_are_taken_up() -> None:
    async with in_process(NAMES) as bus:
        for _ in range(3):
            for name in ("a", "b"):
                async with bus.subscribe("n > 0", durable=name):
                    pass
        said = await refused(SubscriptionError, bus.subscribe("n > 0", durable="c").ready())
        assert "has 2 durable subscriptions; the limit is 2 (durable_names_max in [limits]" in said
        await bus.end_durable("a")
        await bus.subscribe("n > 0", durable="c").ready()


@on_loop
async def test_a_lowered_limit_takes_nothing_away(tmp_path: Path) -> None:
    large = QueuePolicy(events_max=200)
    async with running('data = "kept"', tmp_path) as node, siftcast.connect(url_of(node)) as bus:
        for name in ("a", "b"):
            await bus.subscribe("n > 0", durable=name, policy=large).ready()
        await bus.publish_many([{"n": 1}] * 100, durable=True)
    text = 'data = "kept"\n[limits]\ndurable_names_max = 0\npolicy_events_max = 10\n'
    async with running(text, tmp_path) as node, siftcast.connect(url_of(node)) as bus:
        assert "durable_names_max" in await refused(SubscriptionError, bus.subscribe("n > 0", durable="c").ready())
        for name, policy in (("a", None), ("b", large)):
            async with bus.subscribe("n > 0", durable=name, policy=policy) as stream:
                await stream.replace("n >= 0")
                for _ in range(100):
                    (await anext(stream)).ack()
        more = QueuePolicy(events_max=100)
        said = await refused(SubscriptionError, bus.subscribe("n > 0", durable="a", policy=more).ready())
        assert "events_max = 100; the limit is 10 (policy_events_max in [limits]" in said


@on_loop
async def test_a_principal_has_limits_of_its_own() -> None:
    async with in_process(TWO, token=DESK) as desk, desk.connect(token=OTHER) as other:
        await desk.subscribe("n > 0", durable="a").ready()
        said = await refused(SubscriptionError, desk.subscribe("n > 0", durable="b").ready())
        assert "principal 'desk' has 1 durable subscriptions" in said
        assert "durable_names_max in [principal.limits] of 'desk'" in said
        for name in ("a", "b", "c"):
            await other.subscribe("n > 0", durable=name).ready()
        said = await refused(SubscriptionError, other.subscribe("n > 0", durable="d").ready())
        assert "the limit is 3 (durable_names_max in [limits]" in said
        policy = QueuePolicy(events_max=51)
        for bus in (desk, other):
            said = await refused(SubscriptionError, bus.subscribe("n > 0", durable="a", policy=policy).ready())
            assert "policy_events_max in [limits]" in said
        async with desk.connect(token=DESK):
            third = desk.connect(token=DESK)
            third._timeout_s = 0.1
            assert "connections_max in [principal.limits] of 'desk'" in await refused(
                ConnectionLost, third.__aenter__()
            )


@on_loop
async def test_filters_of_a_client_are_limited_together_and_one_by_one() -> None:
    text = "[limits]\nfilters_length_max = 20\nsubscriptions_max = 3\nfilter_length_max = 15\nfilter_terms_max = 1\n"
    async with in_process(text) as bus:
        first = await bus.subscribe("n > 10000").ready()
        assert "filters_length_max" in await refused(SubscriptionError, bus.subscribe("n > 100000000").ready())
        await first.replace("n > 1")
        second = await bus.subscribe("n > 10000000").ready()
        assert "filters_length_max" in await refused(SubscriptionError, first.replace("n > 100000000"))
        second.close()
        await first.replace("n > 100000000")
        first.close()
        assert "filter_terms_max in [limits]" in await refused(FilterError, bus.subscribe("a=1 AND b=2").ready())
        assert "filter_length_max in [limits]" in await refused(FilterError, bus.subscribe("n = 1" + "0" * 11).ready())
        held = [await bus.subscribe("n=1").ready() for _ in range(3)]
        assert len(held) == 3
        assert "subscriptions_max in [limits]" in await refused(SubscriptionError, bus.subscribe("n=1").ready())


@on_loop
async def test_a_client_that_asks_and_never_reads_is_disconnected() -> None:
    said = io.StringIO()
    text = "[slow_consumers]\nqueue_bytes_max = 10000\n"
    async with running(text, said=said) as node, siftcast.connect(url_of(node)) as bus:
        texts = [f"n = {number} OR note = '{'x' * 2_000}'" for number in range(20)]
        held = [await bus.subscribe(text).ready() for text in texts]
        reader, writer = await asyncio.open_connection(*node.address.split(":"))
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(encode_frame(Hello(VERSION, "client", "greedy")))
        writer.write(b"".join(encode_frame(Describe(number)) for number in range(1_000)))
        await until(lambda: _left(said, "greedy"))
        assert "queue_bytes_max in [slow_consumers]" in _left(said, "greedy")["reason"]
        assert (await bus.describe())["clients"] == 1
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        data = await reader.read(-1)
        writer.close()
        assert len(data) < 1_000 * len(held) * 2_000
        await bus.publish({"n": 1})


def _left(said: io.StringIO, client: str) -> dict[str, Any]:
    """What a node has logged about a client that it has no more; nothing while it has it."""
    rows = [json.loads(line) for line in said.getvalue().splitlines()]
    return next((row for row in rows if row["event"] == "client left" and row["client"] == client), {})


# -- policies ------------------------------------------------------------------------------------------

VALUES = st.one_of(
    st.integers(-2, 200), st.integers(), st.floats(), st.booleans(), st.none(), st.text(max_size=3), st.just(2**63)
)
FIELDS = tuple(QueuePolicy.__struct_fields__)
LIMITS = LimitSpec(policy_events_max=100, policy_bytes_max=100, policy_age_ms_max=100.0, policy_dead_letters_max=0)


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_a_policy_is_sound_or_refused_in_words_and_granted_within_limits_only(fields: dict[str, Any]) -> None:
    limits = ClientLimits(LIMITS)
    said = ""
    try:
        policy = limits.granted(QueuePolicy(**fields), None)
    except SubscriptionError as error:
        said = str(error)
    if said:
        assert any(name in said for name in FIELDS)
        return
    for name in FIELDS:
        value = getattr(policy, name)
        assert type(value) in (int, float)
        assert (0 if name == "dead_letters_max" else 1e-320) <= value <= getattr(LIMITS, f"policy_{name}")


def test_who_asks_for_no_policy_gets_the_usual_one_as_far_as_it_is_allowed() -> None:
    own = PrincipalLimitSpec(policy_events_max=7, policy_dead_letters_max=2_000)
    granted = ClientLimits(LimitSpec(), "desk", own).granted(None, None)
    assert (granted.events_max, granted.dead_letters_max) == (7, QueuePolicy().dead_letters_max)
    assert ClientLimits(LimitSpec()).granted(None, None) == QueuePolicy()


@pytest.mark.parametrize("fields", [{"events_max": "x"}, {"age_ms_max": None}, {"bytes_max": 1.5}])
def test_a_policy_of_other_types_is_refused_where_it_is_made(fields: dict[str, Any]) -> None:
    with pytest.raises(SubscriptionError, match="_max of a durable subscription is a"):
        QueuePolicy(**fields)
