"""The simulator: a clock, links, faults, traces and the checkers that read them."""

from siftcast.runtimes.sim.errors import ScenarioError, SimulationError
from siftcast.runtimes.sim.simulation import Simulation
from siftcast.runtimes.sim.wire import Faults, Network, UniformNetwork

__all__ = ["Faults", "Network", "ScenarioError", "Simulation", "SimulationError", "UniformNetwork"]
