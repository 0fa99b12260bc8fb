"""The scenario that `siftcast simulate --example` prints: every table, with what it may contain."""

EXAMPLE = """\
# A scenario: what is simulated, what happens meanwhile, and what must hold.
# Run it:  siftcast simulate scenario.toml --seed 7
title = "A broker goes down and comes back"

[underlay]                      # the physical network
generator = "transit-stub"      # or waxman, balanced-tree; or: file = "map.brite", format = "brite"
                                # or a network of your own: file = "my.ground", format = "ground"
servers = 40                    # brokers, on random routers; left out: every router is one
access_ms = 1.0                 # between a server and its router
# asymmetry = 0.3               # the share of links that are slower in one direction
# unreachable = 0.05            # the share of pairs of servers that cannot reach each other

[underlay.options]              # what the generator takes
transit_domains = 2
transit_routers = 4
stubs_per_router = 2
stub_routers = 5
links = 160

[scheme]                        # siftcast schemes lists them, with their options
name = "filter-based"

[scheme.options]
summary = "covering"            # none, covering, merging
reuse = "never"                 # never, always, partial-60
graph = 0                       # links per server beside the tree

[workload]                      # siftcast generate --list shows the presets
preset = "kyra-zipf"
events = 300
subscriptions = 120
interval_ms = 20.0              # between two publications
# burst_ms = 1.0                # events of one publisher that follow each other come in bursts, so far apart

[workload.options]
values = 100
interest_rate = 0.1

# delay_ms_max = [50, 2000]     # in [workload]: how late an event may come to a subscription
# advertise = "ranges"          # in [workload]: what publishers say they publish, in schemes that ask for it

# [costs]                       # how long servers are busy; what comes meanwhile waits
# message_ms = 0.1
# match_ms = 0.5

# [roles]                       # which servers are for what; left out: all may do everything
# matcher = 10                  # the first ten run the matching layer of a scheme that divides it; or a list of servers

# [churn]                       # servers that come and go by themselves
# absent = 5                    # come later
# arrivals_per_s = 1.0
# crashes_per_s = 0.2
# changes_per_s = 10.0          # subscribers who give up a subscription for another
# down_ms = 500

[faults]                        # of every message and node
loss = 0.0
jitter_ms = 2.0
reorder = false
detect_ms = 100.0               # until neighbours notice that a node is gone

# [measuring]                   # how well servers measure each other; left out: exactly
# noise = 0.15                  # relative deviation of a delay
# loss = 0.1                    # share of measurements without an answer
# anonymous = 0.33              # share of routers without a name
# partial = 0.1                 # share of routes that cannot be followed to their end

[[schedule]]                    # times count from the first publication
at_ms = 1500
do = "crash"                    # crash, restart, leave, join, cut, heal, subscribe, unsubscribe
node = 3

[[schedule]]
at_ms = 2500
do = "restart"
node = 3

[timing]
refresh_ms = 200.0              # where messages can be lost: until a control message is sent again; 0: never

[checks]                        # a bound that is not given is not checked
exactly_once = true
settle_ms = 1000.0              # so long may a change take until it is known everywhere
# repair_ms = 2000.0            # so long may a network take to recover, even if a server stays down
delay_ms_max = 2000.0
resource_usage = 3.0
"""
