"""The live network: nodes over TCP that run the same protocol objects as the simulator, and clients.

client/             whoever publishes and subscribes
node/               whoever matches and delivers
storage/            what a node keeps on disk
wire/               what travels between them
reach.py            a dry run; event_trace.py where an event went: what nodes are asked, and clients are shown
errors.py           what can go wrong; logs.py; countdown.py warnings of what ends at a known time
in_process.py       a bus in memory, for tests of those who use Siftcast
local_network.py    a whole network on one machine
slow_line.py        a line between two addresses that takes its time
"""
