"""What can go wrong in a simulation: the run itself, or the file that describes it."""

from __future__ import annotations

from siftcast.model.errors import SiftcastError


class SimulationError(SiftcastError):
    """A simulation cannot go on; the message ends with what happened last."""

    code = "simulation"


class ScenarioError(SiftcastError):
    """A scenario file cannot be used; names the file, the line, the key, and what would be accepted."""

    code = "scenario"

    def __init__(self, path: str, problem: str, *, key: str = "", line: int | None = None, remedy: str = "") -> None:
        self.path = path
        self.problem = problem
        self.key = key
        self.line = line
        self.remedy = remedy
        place = path if line is None else f"{path}, line {line}"
        name = f"{key}: " if key else ""
        super().__init__(f"{place}: {name}{problem}" + (f"; {remedy}" if remedy else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.path, self.problem, self.key, self.line, self.remedy)


def _rebuild(
    kind: type[ScenarioError], path: str, problem: str, key: str, line: int | None, remedy: str
) -> ScenarioError:
    return kind(path, problem, key=key, line=line, remedy=remedy)
