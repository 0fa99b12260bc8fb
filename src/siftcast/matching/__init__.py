"""Which subscriptions does an event satisfy? One contract, several engines, one oracle.

`Matcher` is what users hold; `contract` is what an engine must do; `conformance` is the suite that every engine
passes; `brute_force` is the truth the others are compared with.
"""

from siftcast.matching.contract import BatchResult, Engine
from siftcast.matching.matcher import RESULT_TYPE, Matcher
from siftcast.matching.preparation import KERNEL_THREAD, prepare, wait_until_prepared
from siftcast.matching.registry import ENGINES, engine_class

__all__ = [
    "ENGINES", "KERNEL_THREAD", "RESULT_TYPE", "BatchResult", "Engine", "Matcher", "engine_class", "prepare",
    "wait_until_prepared",
]  # fmt: skip
