"""The client of a node.

bus.py              `siftcast.connect`: a bus over one connection that is made again when it breaks (link.py)
publishing.py       its publishing half
received.py         its receiving half: streams of events (many.py: many filters in one; durable_inbox.py: durable)
opening.py          events that are opened with keys, or counted; sealing.py: those that are sealed
calling.py          whom to call, and as whom; environment.py: what the environment says about it
token_notice.py     until when one is let in there
sync_bus.py         the same for code without async
"""
