"""Every public name with every argument that it takes: what `test_hostile_arguments` hands hostile values to.

A call is named `Name`, `Name.method` or `Name.method:argument`; it is a function of one argument, the others are valid.
Those that want a bus are given one, and may be coroutines.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

import siftcast as sc

EVENT = {"symbol": "IBM", "price": 3.0, "order": {"price": 5}}
FILTER = sc.Filter.parse("symbol = 'IBM' AND price < 5 AND NOT (order.price IN (1, 2) OR note LIKE 'a%b')")
SCHEMA = sc.Schema([sc.Attribute("price", "float", (0.0, 10.0), 0.5), sc.Attribute("symbol", "string")])
ENGINES = ("auto", "brute_force", "counting", "kd_tree")
ATTRIBUTE = sc.Attribute("at", "timestamp")


def filled(engine: str) -> sc.Matcher:
    """A matcher of a few subscriptions."""
    matcher = sc.Matcher(engine)
    matcher.add_many([("a", FILTER), ("b", "price BETWEEN 1 AND 4"), ("c", "symbol IS NOT NULL"), ("d", "price != 7")])
    return matcher


MATCHERS = {engine: filled(engine) for engine in ENGINES}
MATCHER = MATCHERS["auto"]

CALLS: dict[str, Callable[[Any], object]] = {
    "Attribute:name": lambda x: sc.Attribute(x, "int"),
    "Attribute:type": lambda x: sc.Attribute("a", x),
    "Attribute:domain": lambda x: sc.Attribute("a", "int", x),
    "Attribute:domain of texts": lambda x: sc.Attribute("a", "string", x),
    "Attribute:ends": lambda x: sc.Attribute("a", "float", (x, x)),
    "Attribute:granularity": lambda x: sc.Attribute("a", "float", (0, 1), x),
    "Attribute.coerce": lambda x: (ATTRIBUTE.coerce(x), SCHEMA["price"].coerce(x), SCHEMA["symbol"].coerce(x)),
    "Event:attributes": lambda x: sc.Event(x),
    "Event:id": lambda x: sc.Event(EVENT, x),
    "Event:source": lambda x: sc.Event(EVENT, source=x),
    "Event:time": lambda x: sc.Event(EVENT, time=x),
    "Event:payload": lambda x: sc.Event(EVENT, payload=x),
    "Event.from_json:text": lambda x: sc.Event.from_json(x),
    "Event.from_json:schema": lambda x: sc.Event.from_json('{"price": 1}', x),
    "Filter.parse:text": lambda x: sc.Filter.parse(x),
    "Filter.parse:dialect": lambda x: sc.Filter.parse("a = 1", x),
    "Filter.parse:limits": lambda x: sc.Filter.parse("a = 1", limits=x),
    "Filter.of": lambda x: sc.Filter.of(x),
    "Filter.matches": lambda x: FILTER.matches(x),
    "Filter.matches:value": lambda x: FILTER.matches({"symbol": x, "price": x, "order": x, "note": x}),
    "Filter.explain": lambda x: str(FILTER.explain(x)),
    "Filter.explain:value": lambda x: str(FILTER.explain({"symbol": x, "price": x, "order": {"price": x}, "note": x})),
    "Filter.covers:other": lambda x: FILTER.covers(x),
    "Filter.covers:schema": lambda x: FILTER.covers(FILTER, x),
    "Filter.overlaps:other": lambda x: FILTER.overlaps(x),
    "Filter.overlaps:schema": lambda x: FILTER.overlaps(FILTER, x),
    "Filter.to_bytes": lambda x: sc.Filter.from_bytes(sc.Filter.parse(x).to_bytes()),
    "Filter.from_bytes": lambda x: sc.Filter.from_bytes(x),
    "Filter.check": lambda x: FILTER.check(x),
    "Filter.__and__": lambda x: FILTER & x,
    "Filter.__or__": lambda x: FILTER | x,
    "FilterLimits:length_max": lambda x: sc.FilterLimits(length_max=x),
    "FilterLimits:depth_max": lambda x: sc.FilterLimits(depth_max=x),
    "FilterLimits:terms_max": lambda x: sc.FilterLimits(terms_max=x),
    "KeyRing.load": lambda x: sc.KeyRing.load(x),
    "Matcher:engine": lambda x: sc.Matcher(x),
    "Matcher:schema": lambda x: sc.Matcher(schema=x),
    "Matcher.add:id": lambda x: filled("brute_force").add(x, "a = 1"),
    "Matcher.add:filter": lambda x: filled("brute_force").add("x", x),
    "Matcher.add_many": lambda x: filled("brute_force").add_many(x),
    "Matcher.add_many:item": lambda x: filled("brute_force").add_many([("x", "a = 1"), x]),
    "Matcher.add_many:id": lambda x: filled("brute_force").add_many([(x, "a = 1")]),
    "Matcher.from_arrow:subscriptions": lambda x: sc.Matcher.from_arrow(x),
    "Matcher.from_arrow:engine": lambda x: sc.Matcher.from_arrow(pa.table({"id": ["a"], "x": [1]}), x),
    "Matcher.from_arrow:schema": lambda x: sc.Matcher.from_arrow(pa.table({"id": ["a"], "x": [1]}), schema=x),
    "Matcher.replace:id": lambda x: filled("brute_force").replace(x, "a = 1"),
    "Matcher.replace:filter": lambda x: filled("brute_force").replace("a", x),
    "Matcher.remove": lambda x: filled("brute_force").remove(x),
    "Matcher.__contains__": lambda x: x in MATCHER,
    "Matcher.match:limit": lambda x: MATCHER.match(EVENT, x),
    "Matcher.from_bytes": lambda x: sc.Matcher.from_bytes(x),
    "QueuePolicy:events_max": lambda x: sc.QueuePolicy(events_max=x),
    "QueuePolicy:bytes_max": lambda x: sc.QueuePolicy(bytes_max=x),
    "QueuePolicy:age_ms_max": lambda x: sc.QueuePolicy(age_ms_max=x),
    "QueuePolicy:refusals_max": lambda x: sc.QueuePolicy(refusals_max=x),
    "QueuePolicy:dead_letters_max": lambda x: sc.QueuePolicy(dead_letters_max=x),
    "Schema.of": lambda x: sc.Schema.of(x),
    "Schema:attributes": lambda x: sc.Schema(x),
    "Schema:attribute": lambda x: sc.Schema([ATTRIBUTE, x]),
    "Schema:name": lambda x: sc.Schema([ATTRIBUTE], x),
    "Schema.load": lambda x: sc.Schema.load(x),
    "Schema.parse": lambda x: sc.Schema.parse(x),
    "Schema.coerce": lambda x: SCHEMA.coerce(x),
    "Schema.coerce:value": lambda x: SCHEMA.coerce({"price": x}),
    "Event.get": lambda x: sc.Event(EVENT).get(x),
    "Explanation:verdict": lambda x: str(sc.Explanation("a", x, "")),
    "Explanation:parts": lambda x: str(sc.Explanation("a", True, "", x)),
    "Filter.of:limits": lambda x: sc.Filter.of(FILTER.expression, limits=x),
    "Matcher.from_arrow:look": lambda x: sc.Matcher.from_arrow(
        pa.table({"id": ["a"], "filter": ["x = 1"]}), look=None if callable(x) else x
    ),
    "Schema.nested_path": lambda x: SCHEMA.nested_path(x),
    "Schema.__getitem__": lambda x: SCHEMA[x],
    "Schema.__contains__": lambda x: x in SCHEMA,
    "Subscription:id": lambda x: sc.Subscription(x, FILTER),
    "Subscription:filter": lambda x: sc.Subscription("a", x),
    "Subscription:subscriber": lambda x: sc.Subscription("a", FILTER, x),
    "Subscription:delay_ms_max": lambda x: sc.Subscription("a", FILTER, delay_ms_max=x),
    "Subscription.from_json": lambda x: sc.Subscription.from_json(x),
    "Subscription.from_fields": lambda x: sc.Subscription.from_fields(x),
    "Subscription.from_fields:value": lambda x: sc.Subscription.from_fields(
        {"id": "a", "filter": "a = 1", "dialect": x, "subscriber": x, "delay_ms_max": x}
    ),
    "connect:url": lambda x: sc.connect(x),
    "connect:token": lambda x: sc.connect("siftcast://127.0.0.1", token=x),
    "connect:tls": lambda x: sc.connect("siftcast://127.0.0.1", tls=x),
    "connect:name": lambda x: sc.connect("siftcast://127.0.0.1", name=x),
    "connect:timeout_s": lambda x: sc.connect("siftcast://127.0.0.1", timeout_s=x),
    "connect:keys": lambda x: sc.connect("siftcast://127.0.0.1", keys=x),
    "connect_sync:url": lambda x: sc.connect_sync(x),
    "connect_sync:token": lambda x: sc.connect_sync("siftcast://127.0.0.1", token=x),
    "connect_sync:tls": lambda x: sc.connect_sync("siftcast://127.0.0.1", tls=x),
    "connect_sync:name": lambda x: sc.connect_sync("siftcast://127.0.0.1", name=x),
    "connect_sync:timeout_s": lambda x: sc.connect_sync("siftcast://127.0.0.1", timeout_s=x),
    "connect_sync:keys": lambda x: sc.connect_sync("siftcast://127.0.0.1", keys=x),
    "testing.in_process:configuration": lambda x: sc.testing.in_process(x),
    "testing.in_process:token": lambda x: sc.testing.in_process(token=x),
}
for name, matcher in MATCHERS.items():
    CALLS |= {
        f"Matcher.match:event, {name}": lambda x, m=matcher: m.match(x),
        f"Matcher.match:value, {name}": lambda x, m=matcher: m.match({"symbol": x, "price": x, "order": {"price": x}}),
        f"Matcher.match_any:event, {name}": lambda x, m=matcher: m.match_any(x),
        f"Matcher.match_any:value, {name}": lambda x, m=matcher: m.match_any({"symbol": x, "price": x, "note": x}),
        f"Matcher.match_batch, {name}": lambda x, m=matcher: m.match_batch(x),
        f"Matcher.count_batch, {name}": lambda x, m=matcher: m.count_batch(x),
    }

BUS_CALLS: dict[str, Callable[[Any, Any], object]] = {
    "publish": lambda bus, x: bus.publish(x),
    "publish:value": lambda bus, x: bus.publish({"price": x}),
    "publish:durable": lambda bus, x: bus.publish(EVENT, durable=x),
    "publish:seal": lambda bus, x: bus.publish(EVENT, seal=x, group="desk"),
    "publish:group": lambda bus, x: bus.publish(EVENT, seal="payload", group=x),
    "publish:keys": lambda bus, x: bus.publish(EVENT, seal="payload", group="desk", keys=x),
    "publish_many": lambda bus, x: bus.publish_many(x),
    "publish_many:seal": lambda bus, x: bus.publish_many([EVENT], seal=x),
    "publish_many:keys": lambda bus, x: bus.publish_many([EVENT], seal="payload", group="desk", keys=x),
    "publish_many:item": lambda bus, x: bus.publish_many([EVENT, x]),
    "publish_many:window": lambda bus, x: bus.publish_many([EVENT], window=x),
    "publish_many:progress": lambda bus, x: bus.publish_many([EVENT], progress=None if callable(x) else x),
    "subscribe:filter": lambda bus, x: bus.subscribe(x),
    "subscribe:durable": lambda bus, x: bus.subscribe(FILTER, x),
    "subscribe:start": lambda bus, x: bus.subscribe(FILTER, "name", start=x),
    "subscribe:since": lambda bus, x: bus.subscribe(FILTER, "name", since=x),
    "subscribe:policy": lambda bus, x: bus.subscribe(FILTER, "name", policy=x),
    "subscribe:delay_ms_max": lambda bus, x: bus.subscribe(FILTER, delay_ms_max=x),
    "subscribe:bandwidth": lambda bus, x: bus.subscribe(FILTER, bandwidth=x),
    "subscribe:on_bound": lambda bus, x: bus.subscribe(FILTER, delay_ms_max=1e9, on_bound=None if callable(x) else x),
    "subscribe:keys": lambda bus, x: bus.subscribe(FILTER, keys=x),
    "subscribe:allow_plain": lambda bus, x: bus.subscribe(FILTER, allow_plain=x),
    "subscribe:buffer": lambda bus, x: bus.subscribe(FILTER, buffer=x),
    "subscribe_many": lambda bus, x: bus.subscribe_many(x),
    "subscribe_many:item": lambda bus, x: bus.subscribe_many(["a = 1", x]),
    "subscribe_many:name": lambda bus, x: bus.subscribe_many([(x, "a = 1")]),
    "subscribe_many:delay_ms_max": lambda bus, x: bus.subscribe_many(["a = 1"], delay_ms_max=x),
    "subscribe_many:keys": lambda bus, x: bus.subscribe_many(["a = 1"], keys=x),
    "subscribe_many:buffer": lambda bus, x: bus.subscribe_many(["a = 1"], buffer=x),
    "on:filter": lambda bus, x: bus.on(x),
    "on:durable": lambda bus, x: bus.on(FILTER, x),
    "on:delay_ms_max": lambda bus, x: bus.on("nothing = 1", delay_ms_max=x),
    "on:keys": lambda bus, x: bus.on("nothing = 1", keys=x),
    "on:allow_plain": lambda bus, x: bus.on("nothing = 1", allow_plain=x),
    "on:handler": lambda bus, x: bus.on("nothing = 1")(x),
    "end_durable": lambda bus, x: bus.end_durable(x),
    "dead_letters": lambda bus, x: bus.dead_letters(x),
    "dead_letters:keys": lambda bus, x: bus.dead_letters("kept", keys=x),
    "dry_run": lambda bus, x: bus.dry_run(x),
    "trace": lambda bus, x: bus.trace(x),
}

WITHOUT_ARGUMENTS = {
    "Bound": {"explain"},
    "Bus": {"close", "describe", "wait"},
    "EventStream": {"close", "ready"},
    "Filter": {"attributes", "expression"},
    "Matcher": {"settle", "stats", "to_bytes"},
    "ReceivedEvent": {"ack"},
    "Schema": {"names", "to_toml"},
    "SyncBus": {"describe", "wait"},
}
ELSEWHERE = {
    "Bus": {"forget", "replace", "subscribed", "taken"},  # what a stream asks of the bus that made it
    "KeyRing": {"held", "knows", "look", "next_numbers", "sealing_epoch", "verifier"},  # what recipes ask of it
    "ReceivedEvent": {"open_as"},  # what a subscription with keys does to it
    "Event": {"keys"},  # read as a dict is, with a dict's errors
    "SyncBus": {"call", "run"},  # what a stream asks of the bus that made it
}
MADE_BY_OTHERS = {"Bound", "Bus", "EventStream", "Explanation", "KeyRing", "ReceivedEvent", "SyncBus"}
"""Classes that users are handed and do not make; their methods are called all the same."""
