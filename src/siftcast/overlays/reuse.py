"""Lookup reuse: whether an event carries the keys of subscriptions it was found to match, and how many.

- `never`: each router matches again; on interfaces to others the first match is enough (lookup reuse, 2).
- `always`: the source finds all matches and everyone further on only looks keys up (2.1). With covering or merging the
  list is not complete, and subscribers are missed; that combination must be asked for (`unsafe`).
- `partial(n)`: at most n keys an interface; where they are all, the next router only looks up, and where not, it
  matches on the interfaces that no key speaks for, and on its own subscribers (2.2).
"""

from __future__ import annotations

from dataclasses import dataclass

from siftcast.model.errors import SiftcastError


class ReuseUnsafeError(SiftcastError):
    """A combination of options that loses events was not asked for by name."""

    code = "reuse-unsafe"


@dataclass(frozen=True, slots=True)
class Reuse:
    """How lookups are reused; `limit` is None for all."""

    strategy: str = "never"
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.strategy not in ("never", "always", "partial"):
            raise ValueError(f"lookup reuse is never, always or partial, not {self.strategy!r}")
        if (self.strategy == "partial") != (self.limit is not None) or (self.limit is not None and self.limit < 1):
            raise ValueError("partial reuse, and only that, needs a limit of at least one key")

    @classmethod
    def parse(cls, text: str) -> Reuse:
        """`never`, `always` or `partial-60`."""
        name, _, limit = text.partition("-")
        if name == "partial" and limit.isdigit():
            return cls(name, int(limit))
        return cls(text)

    def __str__(self) -> str:
        return self.strategy if self.limit is None else f"{self.strategy}-{self.limit}"


NEVER = Reuse()
