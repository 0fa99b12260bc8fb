"""Every scheme of the catalogue in the simulator: over latencies, and through loss and reordering."""

from siftcast.runtimes.sim.conformance import suites

globals().update(suites())
