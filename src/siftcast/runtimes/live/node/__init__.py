"""A running node.

node.py             listens, lets callers in (accepting.py, greeting.py), lives one life after the other
life.py             one life: the protocol, `tell`, and the parts; the way of a durable publish through them
carrying.py         effects out, to clients, peers, timers and disk
sessions.py         clients; durable_clients.py those that were promised something
peers.py            other nodes (rivals.py: two of one name); layout.py whom it has to know
line.py             how it talks to whomever: connections, certificates.py, damage.py altered frames in the log
rights.py           who may do what; client_limits.py how much of it
inquiries.py        questions to all nodes
memory.py           what it remembers for people: hops.py of single events, recording.py a trace
set_aside.py        input that ended three lives
settling.py         routing tables that index themselves when there is time
configuration.py    its TOML file; descriptors.py how many connections the system allows
"""
