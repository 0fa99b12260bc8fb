"""The simulator: a clock, links, faults, traces and the checkers that read them.

simulation.py       the loop: stimuli in, effects out, everything into a trace
queueing.py         nodes that are busy while they work, and what waits for them
agenda.py           what happens next
wire.py             delays, loss, jitter, cuts
measuring.py        what nodes find out about delays and routes, and how well
contacts.py         who hears that a node is lost, found or gone
disks.py            what nodes persisted, and what a power cut leaves of it
clients.py          clients of durable subscriptions
recording.py        how requests are written into a trace, and how a broken run is told
checkers/           what a trace shows
scenario.py         a run described in TOML; scenario_run.py runs it, verdicts.py judges it
scenario_underlay.py  the network that a scenario names
churn.py            servers that come, go and crash at random; advertising.py what publishers say they will publish
conformance.py      every scheme over latencies, loss and reordering
replaying.py        a recorded run once more, also of a live network
parties.py          which server the subscribers and publishers of a workload live on
drawing.py          the network and an event's way as SVG
"""

from siftcast.runtimes.sim.clients import DurableClient
from siftcast.runtimes.sim.errors import ScenarioError, SimulationError
from siftcast.runtimes.sim.measuring import Accuracy
from siftcast.runtimes.sim.queueing import Costs, QueueingSimulation
from siftcast.runtimes.sim.replaying import replay
from siftcast.runtimes.sim.scenario import Scenario, load_scenario, parse_scenario
from siftcast.runtimes.sim.scenario_run import ScenarioRun, execute, prepare
from siftcast.runtimes.sim.simulation import Simulation
from siftcast.runtimes.sim.verdicts import Verdict, judge
from siftcast.runtimes.sim.wire import DelayModel, Faults, UniformNetwork

__all__ = [
    "Accuracy",
    "Costs",
    "DelayModel",
    "DurableClient",
    "Faults",
    "QueueingSimulation",
    "Scenario",
    "ScenarioError",
    "ScenarioRun",
    "Simulation",
    "SimulationError",
    "UniformNetwork",
    "Verdict",
    "execute",
    "judge",
    "load_scenario",
    "parse_scenario",
    "prepare",
    "replay",
]
