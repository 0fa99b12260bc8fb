"""The client of a node.

bus.py              `siftcast.connect`: a bus over one connection that is made again when it breaks (link.py)
publishing.py       its publishing half
received.py         its receiving half: streams of events (many.py: many filters in one; durable_inbox.py: durable)
environment.py      what the environment says about the node to call; token_notice.py until when one is let in there
sync_bus.py         the same for code without async
"""
