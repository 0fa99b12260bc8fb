"""Tests that are coroutines, each on a loop of its own and with an end if it hangs."""

import asyncio
import functools
import os
from collections.abc import Callable, Coroutine
from typing import Any

from siftcast.runtimes.live.node.node import run

HANGS_AFTER_S = 1_200.0 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 300.0


def on_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs a test that is a coroutine."""

    @functools.wraps(test)
    def wrapped(*arguments: Any, **named: Any) -> None:
        async def limited() -> None:
            await asyncio.wait_for(test(*arguments, **named), HANGS_AFTER_S)

        run(limited())

    return wrapped


async def until(condition: Callable[[], object]) -> None:
    """Waits for a condition; the test's own limit ends it if it never holds."""
    while not condition():
        await asyncio.sleep(0.002)
