"""Many filters, one stream: each event once with the names of those it satisfies; all of them or none."""

import random

import numpy as np
import pandas as pd
import pytest

import siftcast
from siftcast import Filter, FilterError, Forbidden, Refused, Subscription, SubscriptionError
from siftcast.runtimes.live.node.rights import hash_token
from tests.live.asynchronous import on_loop


@on_loop
async def test_each_event_comes_once_with_the_names_of_the_filters_it_satisfies() -> None:
    draw = random.Random(3)
    filters = {f"f{n}": f"value BETWEEN {draw.randrange(50)} AND {draw.randrange(50, 100)}" for n in range(200)}
    async with siftcast.testing.in_process() as bus, bus.subscribe_many(filters) as stream:
        for value in range(0, 100, 7):
            await bus.publish({"value": value})
            wanted = tuple(name for name, text in filters.items() if Filter.parse(text).matches({"value": value}))
            if wanted:
                event = await anext(stream)
                assert (event["value"], event.matched) == (value, wanted)
        assert len((await bus.describe())["subscriptions"]) == 200
        stream.close()
        assert (await bus.describe())["subscriptions"] == []


@on_loop
async def test_filters_may_be_given_alone_in_pairs_or_as_subscriptions() -> None:
    given = ["a = 1", ("pair", "a < 2"), Subscription("whole", Filter.parse("a > 0")), Filter.parse("b IS NULL")]
    async with siftcast.testing.in_process() as bus, bus.subscribe_many(given) as stream:
        await bus.publish({"a": 1})
        assert (await anext(stream)).matched == ("a = 1", "pair", "whole", "b IS NULL")
        async with bus.subscribe("a = 1") as one:
            await bus.publish({"a": 1})
            assert (await anext(one)).matched == ()


@on_loop
async def test_a_bad_filter_is_told_by_number_and_name_and_none_is_subscribed() -> None:
    async with siftcast.testing.in_process() as bus:
        with pytest.raises(FilterError, match=r"filter 2 \('broken'\): line 1"):
            bus.subscribe_many({"fine": "a = 1", "broken": "a ="})
        with pytest.raises(SubscriptionError, match="filter 2: there is one named 'a = 1' already"):
            bus.subscribe_many(["a = 1", "a = 1"])
        assert (await bus.describe())["subscriptions"] == []


@on_loop
async def test_a_filter_that_the_node_refuses_takes_the_others_with_it() -> None:
    token = "siftcast_" + "t" * 43
    principal = f"""
        [limits]
        subscriptions_max = 3
        [[principal]]
        name = "desk"
        token_hash = "{hash_token(token)}"
        publish = "TRUE"
        subscribe = "price < 100"
        see = true
    """
    async with siftcast.testing.in_process(principal, token=token) as bus:
        with pytest.raises(Forbidden, match="'greedy'"):
            await bus.subscribe_many({"fine": "price < 5", "greedy": "price < 500", "also": "price < 7"}).ready()
        assert (await bus.describe())["subscriptions"] == []
        with pytest.raises((Refused, SubscriptionError), match="'price < 3'"):
            await bus.subscribe_many([f"price < {n}" for n in range(4)]).ready()
        assert (await bus.describe())["subscriptions"] == []
        async with bus.subscribe_many(["price < 5"]) as stream:
            await bus.publish({"price": 1})
            assert (await anext(stream)).matched == ("price < 5",)


def test_the_bus_without_async_has_it_too() -> None:
    with siftcast.SyncBus(siftcast.testing.in_process()) as bus:
        with bus.subscribe_many({"low": "price < 5", "any": "price IS NOT NULL"}) as stream:
            bus.publish({"price": 3})
            assert next(stream).matched == ("low", "any")
        with pytest.raises(FilterError, match="filter 1"):
            bus.subscribe_many(["price <"])


@on_loop
async def test_a_table_of_filters_is_refused_and_not_taken_for_the_names_of_its_columns() -> None:
    frame = pd.DataFrame({"id": ["a", "b"], "filter": ["x = 1", "y = 1"]})
    async with siftcast.testing.in_process() as bus:
        with pytest.raises(SubscriptionError, match=r"zip\(table\['id'\], table\['filter'\]\)"):
            bus.subscribe_many(frame)
        async with bus.subscribe_many(zip(frame["id"], frame["filter"], strict=True)) as stream:
            await bus.publish({"y": 1})
            assert (await anext(stream)).matched == ("b",)


@on_loop
async def test_texts_of_classes_of_their_own_say_who_calls() -> None:
    async with (
        siftcast.testing.in_process() as bus,
        bus.connect(name=np.str_("desk")) as other,
        other.subscribe(np.str_("x = 1")) as stream,
    ):
        await bus.publish({"x": 1})
        assert (await anext(stream))["x"] == 1
