"""The simulator: a clock, links, faults, traces and the checkers that read them.

simulation.py       the loop: stimuli in, effects out, everything into a trace
wire.py             delays, loss, jitter, cuts
contacts.py         who must be told when a node is gone or back
disks.py            what nodes persisted, and what a power cut leaves of it
clients.py          clients of durable subscriptions
recording.py        how requests are written into a trace, and how a broken run is told
checkers/           what a trace shows
scenario.py         a run described in TOML; scenario_run.py runs it, verdicts.py judges it
replaying.py        a recorded run once more, also of a live network
parties.py          which server the subscribers and publishers of a workload live on
drawing.py          the network and an event's way as SVG
"""

from siftcast.runtimes.sim.clients import DurableClient
from siftcast.runtimes.sim.errors import ScenarioError, SimulationError
from siftcast.runtimes.sim.replaying import replay
from siftcast.runtimes.sim.scenario import Scenario, load_scenario, parse_scenario
from siftcast.runtimes.sim.scenario_run import ScenarioRun, execute, prepare
from siftcast.runtimes.sim.simulation import Simulation
from siftcast.runtimes.sim.verdicts import Verdict, judge
from siftcast.runtimes.sim.wire import DelayModel, Faults, UniformNetwork

__all__ = [
    "DelayModel",
    "DurableClient",
    "Faults",
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
