"""The simulator: a clock, links, faults, traces and the checkers that read them."""

from siftcast.runtimes.sim.simulation import Faults, Network, Simulation, SimulationError, UniformNetwork

__all__ = ["Faults", "Network", "Simulation", "SimulationError", "UniformNetwork"]
