"""For the tests of those who use Siftcast: a bus with a node of its own, without a network, and distances.

    async with siftcast.testing.in_process() as bus:
        ...
    async with siftcast.testing.SlowLine("127.0.0.1", 7007, delay_ms=80) as line:
        ...  # 127.0.0.1:{line.port} leads to the node, 80 ms later each way

`bus` is what `siftcast.connect` gives, with the same client, node and matcher behind it.
"""

from siftcast.runtimes.live.in_process import InProcessBus, in_process
from siftcast.runtimes.live.slow_line import SlowLine

__all__ = ["InProcessBus", "SlowLine", "in_process"]
