"""Events sealed whole, attributes and payload: the safe calls of `siftcast[security]`.

    server = KeyServer.begin(schema)
    publisher = server.publisher_keys("price < 1000")
    subscriber = server.subscriber_keys("symbol = 'IBM' AND price < 95")
    routing = server.search_keys("symbol = 'IBM'")

    sealed = publisher.seal({"symbol": "IBM", "price": 88}, b"a large buyer")
    routing.search(sealed)              whether it may be wanted; opens nothing
    subscriber.open(sealed)             raises UnopenedError, never returns False

bundles.py          keys as they are handed out: signed, in private files
body.py             what is in an event beside its header: values, time slot, payload, and who sealed it
publisher.py        `PublisherKeys`
subscriber.py       `SubscriberKeys`, and `OpenedEvent`
router.py           `SearchKeys`, for brokers
key_server.py       `KeyServer`: makes all of them, and connection requests

There is no choice here that could be made wrongly: no algorithm, nonce, length or check is an option. The scheme is in
`hazmat.scheme`; what it protects against whom, and what not, is in docs/security.md.
"""

from siftcast.security.whole.key_server import KeyServer
from siftcast.security.whole.publisher import PublisherKeys
from siftcast.security.whole.router import SearchKeys
from siftcast.security.whole.subscriber import OpenedEvent, SubscriberKeys

__all__ = ["KeyServer", "OpenedEvent", "PublisherKeys", "SearchKeys", "SubscriberKeys"]
