"""The live network: nodes over TCP that run the same protocol objects as the simulator, and clients.

frames.py           what travels over a connection; what travels inside is in `overlays.wire_events` and `wire_messages`
connection.py       one connection as frames: cutting, batched writes, heartbeats
node.py             stimuli in, effects out (carrying.py), life after life (set_aside.py: what ended three of them)
sessions.py         clients: subscriptions, deliveries, slow consumers (spill.py: on disk)
peers.py            other nodes: calling, losing, finding (rivals.py: two of one name)
rights.py           who may do what; tls.py encryption
inquiries.py        questions to all nodes: reach.py (a dry run), hops.py and event_trace.py (where an event went)
layout.py           from a configuration to a part in an overlay
settling.py         routing tables that index themselves when there is time
store.py            what must survive a crash (marks.py, store_tail.py, store_file.py: how it is known to be whole;
                    salvage.py, rescue.py, sqlite_pages.py: after damage)
configuration.py    the node's TOML file
recording.py        a node's part of a trace
client.py           the client: `siftcast.connect` (publishing.py, received.py: its two halves)
sync_client.py      its twin without async; in_process.py one for tests
"""
