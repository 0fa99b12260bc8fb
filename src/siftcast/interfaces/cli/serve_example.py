"""The configuration that `siftcast serve --example` prints: every table, with what it may contain."""

EXAMPLE = """\
# A node. Run it:  siftcast serve --config node.toml
# Whatever is left out has the value shown here, unless a comment says otherwise.

[node]
name = "node"                   # letters, digits, '-' and '_'
# id = 4729581942038695057      # who it is; left out: as its data folder says, or drawn when it first starts
listen = "127.0.0.1:7007"       # port 0: one that is free
# roles = ["matcher"]           # what it is for (matcher, edge), if it joins; left out: whatever a plan needs
# advertise = "host:7007"       # where other nodes call it; left out: where it listens
allow_remote = false            # true to listen where other machines can reach it; needs principals and [tls]
# data = "data"                 # a folder for durable events and subscriptions; left out: nothing survives
# token_file = "node.token"     # how this node tells other nodes who it is; needed where there are principals
probes_per_minute = 600         # to learn how far other nodes are, and by which routers; what is beyond that waits
traceroute = false              # true to probe routes with UDP packets, which some networks take for an attack

[limits]
frame_bytes_max = 1048576       # one frame of a client
event_bytes_max = 262144        # one event, as it is encoded
event_depth_max = 16            # how deep its attributes nest
filter_length_max = 65536       # characters
filter_depth_max = 64
filter_terms_max = 4096         # comparisons; each value of an IN counts
connections_max = 10000
subscriptions_max = 10000       # of one client
filters_length_max = 8388608    # characters of all filters of one client
event_id_length_max = 256       # characters of an event's id, and of its source
durable_names_max = 1000        # of one principal, or of the node
policy_events_max = 1000000     # what the policy of a durable subscription may ask for
policy_bytes_max = 1073741824
policy_age_ms_max = 31622400000.0
policy_refusals_max = 1000
policy_dead_letters_max = 10000
kept_bytes_max = 1073741824     # what the node keeps in all, for durable subscriptions and for other nodes
failed_logins_per_minute = 60   # from one address; beyond that all logins from there wait

[slow_consumers]
policy = "drop"                 # drop, disconnect, spill (needs data)
queue_bytes_max = 4194304       # so much may wait for a client
spill_bytes_max = 67108864      # so much may wait on disk

[heartbeat]
interval_ms = 5000.0            # three missed ones end a connection

[overlay]                       # the same for all nodes of a network
network = "siftcast"            # what the network is called; two of different names do not mix
scheme = "filter-based"         # siftcast schemes lists them, with their options
# schema = "schema.toml"        # for schemes that divide the content: with a domain for the attribute to cut
ground = "named"                # measured: planned by the delays between nodes, and again when these change
ground_ms = 60000.0             # how often they are collected, if ground is measured
# links = [["node", "other"]]   # the tree that joins the nodes; left out: one that suits the regions

[overlay.options]               # what the scheme takes

# [[overlay.nodes]]             # every node, this one too; left out: the node is alone
# name = "node"
# address = "127.0.0.1:7007"
# region = "here"               # nodes of one region are near each other
# roles = ["matcher"]           # what it is for
# id = 4729581942038695057      # who it is; left out: it follows from the names of network and node

# [join]                        # in place of a list: join a network through nodes that are in it
# seeds = ["127.0.0.1:7007"]
# network = "siftcast"          # what it must be called; left out: any

# [tls]                         # left out: nothing is encrypted
# certificate = "node.pem"      # this node's certificate, and those up to its authority
# key = "node.key"              # not encrypted
# authorities = "authority.pem" # who signs the other nodes' certificates; left out: those this machine knows

# [[principal]]                 # who may do what (siftcast token new); left out: everyone on this machine, everything
# name = "desk"
# token_hash = "sha256:…"
# expires = 2026-12-31T00:00:00Z  # until when its tokens are good; left out: for ever
# revoked = false               # true: none of its tokens is good any more
# publish = "price > 0"         # may publish what matches; left out: nothing
# subscribe = "symbol = 'IBM'"  # may subscribe within this; left out: nothing
# see = false                   # may see what others subscribe to, dry runs and traces
# operate = false               # may have the node leave its network, others forgotten, and this file read again
# node = false                  # is another node, of this name
# [[principal.tokens]]          # a further token, to exchange one without a gap
# hash = "sha256:…"
# [principal.limits]            # its own in place of those in [limits]: connections_max, subscriptions_max,
# durable_names_max = 10        # filters_length_max, event_id_length_max, durable_names_max, policy_…

[tracing]
rows_max = 10000                # so much of what happened to events is remembered for siftcast trace; 0: nothing

# [audit]                       # left out: nobody writes down who did what
# file = "audit.jsonl"          # a line of JSON for each; siftcast audit shows it
# bytes_max = 67108864          # a file that is longer becomes audit.jsonl.1
# files_max = 10                # so many files are kept
# filters = true                # false: without the text of filters
# when_full = "refuse"          # what cannot be written down is refused; go-on: it is done all the same

# [recording]                   # left out: nothing is recorded
# folder = "trace"              # what happened, as Parquet files, written when the node stops

[log]
format = "console"              # console, json
level = "info"                  # debug, info, warning, error
"""
