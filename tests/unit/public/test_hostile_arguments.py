"""A fuzz over the public interface: whatever is handed to it, it answers, or raises an error of its own.

`siftcast.__all__` and the methods of its classes are enumerated: a new one without an entry in `public_calls` is told.
"""

import asyncio
import inspect
from typing import Any

import pytest

import siftcast as sc
from siftcast import SiftcastError
from tests.unit.public.hostile_values import HOSTILE
from tests.unit.public.public_calls import (
    BUS_CALLS,
    CALLS,
    ELSEWHERE,
    MADE_BY_OTHERS,
    MATCHERS,
    WITHOUT_ARGUMENTS,
)


def failures(name: str, call: Any) -> list[str]:
    """What came out of a call that should not have."""
    found = []
    for label, make in HOSTILE.items():
        try:
            call(make())
        except SiftcastError as error:
            if not 1 <= len(str(error)) <= 2_000:
                found.append(f"{name} of {label}: a message of {len(str(error)):,} characters")
        except Exception as error:
            found.append(f"{name} of {label}: {type(error).__name__}: {str(error)[:200]}")
    return found


@pytest.mark.parametrize("name", CALLS)
def test_what_it_cannot_use_is_refused_by_an_error_of_its_own(name):
    assert failures(name, CALLS[name]) == []


def test_a_matcher_is_as_it_was_after_all_that_was_refused():
    for matcher in MATCHERS.values():
        assert list(matcher) == ["a", "b", "c", "d"]
        assert matcher.match({"symbol": "IBM", "price": 3.0, "order": {"price": 5}, "note": "x"}) == [
            "a",
            "b",
            "c",
            "d",
        ]


async def finished(outcome: object) -> None:
    """Waits for what a call of a bus began."""
    if inspect.isawaitable(outcome):
        await outcome
    elif isinstance(outcome, sc.EventStream):
        await outcome.ready()
        outcome.close()


def test_a_bus_refuses_in_the_same_way_and_goes_on():
    found: list[str] = []

    async def call_all() -> None:
        async with sc.testing.in_process() as bus:
            stream = await bus.subscribe("price < 5", "kept").ready()
            await bus.publish({"price": 3}, durable=True)
            event = await anext(stream)
            calls = {
                **{f"Bus.{name}": lambda x, call=call: call(bus, x) for name, call in BUS_CALLS.items()},
                "EventStream.replace": lambda x: stream.replace(x),
                "EventStream.replace:delay_ms_max": lambda x: stream.replace(delay_ms_max=x),
                "EventStream.replace:bandwidth": lambda x: stream.replace(bandwidth=x),
                "ReceivedEvent.nack": lambda x: event.nack(x),
                "InProcessBus.connect:name": lambda x: bus.connect(x),
                "InProcessBus.connect:token": lambda x: bus.connect(token=x),
            }
            for name, call in calls.items():
                for label, make in HOSTILE.items():
                    try:
                        async with asyncio.timeout(20):
                            await finished(call(make()))
                    except SiftcastError as error:
                        if len(str(error)) > 2_000:
                            found.append(f"{name} of {label}: a message of {len(str(error)):,} characters")
                    except Exception as error:
                        found.append(f"{name} of {label}: {type(error).__name__}: {str(error)[:200]}")
            async with bus.subscribe("last = 1") as last:
                await bus.publish({"last": 1})
                assert (await anext(last))["last"] == 1

    asyncio.run(call_all())
    assert found == []


def test_a_bus_without_async_refuses_in_the_same_way():
    with sc.SyncBus(sc.testing.in_process()) as bus:
        for name in ("publish", "publish_many", "subscribe:filter", "subscribe:durable", "subscribe_many", "trace"):
            assert failures(f"SyncBus.{name}", lambda x, name=name: BUS_CALLS[name](bus, x)) == []


def test_every_public_name_has_calls():
    called = {name.partition(":")[0].partition(",")[0] for name in CALLS}
    called |= {f"{bus}.{name.partition(':')[0]}" for bus in ("Bus", "SyncBus") for name in BUS_CALLS}
    called |= {"EventStream.replace", "ReceivedEvent.nack"}
    for kind in (WITHOUT_ARGUMENTS, ELSEWHERE):
        called |= {f"{name}.{method}" for name, methods in kind.items() for method in methods}
    wanted = set()
    for name in sc.__all__:
        item = getattr(sc, name)
        if isinstance(item, type) and issubclass(item, SiftcastError):
            continue
        if name not in MADE_BY_OTHERS and name != "Filter":  # made by `parse` and `of`
            wanted.add(name)
        if isinstance(item, type):
            wanted |= {
                f"{name}.{method}"
                for method, value in vars(item).items()
                if not method.startswith("_") and (callable(value) or isinstance(value, classmethod))
            }
    assert wanted - called == set()
    assert {name for name in called if name.partition(".")[0] not in (*sc.__all__, "testing")} == set()
