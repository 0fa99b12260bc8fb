"""What can go wrong in a simulation: the run itself, or the file that describes it."""

from __future__ import annotations

from siftcast.model.errors import SiftcastError
from siftcast.model.toml_files import TomlFileError


class SimulationError(SiftcastError):
    """A simulation cannot go on; the message ends with what happened last."""

    code = "simulation"


class ScenarioError(TomlFileError):
    """A scenario file cannot be used."""

    code = "scenario"
