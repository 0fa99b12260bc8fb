"""The engines by name. An engine is imported when it is first used, since some take long to import."""

from __future__ import annotations

from importlib import import_module

from siftcast.matching.contract import Engine
from siftcast.matching.serial_engine import SerialEngine
from siftcast.model import EngineError
from siftcast.model.showing import shown

ENGINES = {
    "tiles": "siftcast.matching.tiles.engine:Tiles",
    "brute_force": "siftcast.matching.brute_force:BruteForce",
    "counting": "siftcast.matching.counting:Counting",
    "kd_tree": "siftcast.matching.kd_tree:KdTree",
}
AUTO = "tiles"


def made_safe(engine: Engine) -> Engine:
    """The engine as several threads may use it."""
    return engine if engine.is_concurrent else SerialEngine(engine)


def engine_class(name: str) -> type[Engine]:
    """The class of an engine; "auto" is the fastest that fits every workload."""
    place = ENGINES.get(AUTO if name == "auto" else name) if isinstance(name, str) else None
    if place is None:
        raise EngineError(f"unknown engine {shown(name)}; known: auto, {', '.join(ENGINES)}")
    module, _, attribute = place.partition(":")
    found: type[Engine] = getattr(import_module(module), attribute)
    return found
