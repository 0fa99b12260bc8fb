"""What a route looks like to those who must infer it: the routers that told their name, and how far each is.

A simulated network knows all of it; of a measured one, only what was found out is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Hops:
    """The routers from one server to another in order, and the delay to each, one way; None where unknown.

    `status` means what it means in `RouteInferred`; a route that is unavailable has no routers here.
    """

    routers: tuple[str | None, ...] = ()
    delays_ms: tuple[float | None, ...] = ()
    status: Literal["ok", "partial", "unavailable"] = "ok"


UNAVAILABLE = Hops(status="unavailable")
