"""A running node.

node.py             listens, lets callers in (accepting.py, greeting.py), lives one life after the other
life.py             one life: the protocol, `tell`, and the parts; the way of a durable publish through them
carrying.py         effects out, to clients, peers, timers and disk
sessions.py         clients, session.py one of them; backlog.py one that does not read
durable_clients.py  those that were promised something
peers.py            other nodes: peer_handlers.py what they say, guests.py those that nobody watches
measuring.py        how far they are: echoes.py heartbeats, coordinates.py predictions, probe_budget.py no storms
routes.py           by which routers: traceroute.py walks, error_queue.py what routers say; grounding.py all pairs
reception.py        how two become connected: calling.py, meeting.py who is let in, rivals.py two of one name
address_book.py     who is where; layout.py whom it has to know; joining.py asking a network to be let in
members.py          who is there, for people
line.py             how it talks to whomever: connections, certificates.py, damage.py altered frames in the log
access.py           who is let in, and put out again: principals.py by which token, failed_logins.py how often in vain
rights.py           who may do what; client_limits.py how much of it; audit.py who did it (audited.py in which words)
reloading.py        its configuration read again; upkeep.py what ends by the calendar, validity.py a certificate's end
inquiries.py        questions to all nodes
memory.py           what it remembers for people: hops.py of single events, recording.py a trace
set_aside.py        input that ended three lives
settling.py         routing tables that index themselves when there is time
configuration.py    its TOML file; descriptors.py how many connections the system allows
"""
