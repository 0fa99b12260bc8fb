"""For the tests of those who use Siftcast: a bus with a node of its own, without a network.

    async with siftcast.testing.in_process() as bus:
        ...

`bus` is what `siftcast.connect` gives, with the same client, node and matcher behind it.
"""

from siftcast.runtimes.live.in_process import InProcessBus, in_process

__all__ = ["InProcessBus", "in_process"]
