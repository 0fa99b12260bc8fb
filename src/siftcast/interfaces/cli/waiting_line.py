"""What a command shows while a network does what was asked for: how far it is, and whom it waits for.

`siftcast leave`, `forget` and `network apply` ask a node for something that takes as long as it takes. It goes on when
the command is interrupted, which is said then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.text import Text

from siftcast.interfaces.cli.terminal import err

Facts = Mapping[str, Any]
"""What a node says about itself; nothing at first."""
_SAY_S = 2.0


class WaitingLine:
    """Says what is new, and not too often; the first call is when the node has taken the request."""

    def __init__(self, doing: str, words: Callable[[Facts], str]) -> None:
        self.is_taken = False
        self._doing = doing
        self._words = words
        self._begun = self._said = time.monotonic()
        self._shown = ""

    def __call__(self, facts: Facts) -> None:
        self.is_taken = True
        now, words = time.monotonic(), "; ".join((self._words(facts), *facts["waits_for"])) if facts else ""
        if words in ("", self._shown) or (self._shown and now - self._said < _SAY_S):
            return
        self._shown, self._said = words, now
        err().print(Text(f"{self._doing} for {now - self._begun:.0f} s: {words}", "dim"), soft_wrap=True)


@contextmanager
def waiting_line(doing: str, url: str, words: Callable[[Facts], str]) -> Iterator[WaitingLine]:
    """The line of a command, which `doing` names; `words` says how far that is."""
    line = WaitingLine(doing, words)
    try:
        yield line
    except KeyboardInterrupt:
        if line.is_taken:
            look = f"siftcast members --at {url}"
            err().print(Text(f"{doing} goes on without this command; to see how far it is: {look}"), soft_wrap=True)
        raise
