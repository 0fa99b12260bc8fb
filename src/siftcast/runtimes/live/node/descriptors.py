"""How many files and connections a process may have open, and how many of them connections may take.

Systems start programs with a low soft limit (1,024 is usual) below a much higher hard one, for the sake of programs
that use `select`. A node does not, so it takes what it is allowed to. Some descriptors are kept from whoever connects:
the store, links to other nodes, files that events are spilled to, and the library's own need them, and whoever is one
too many is told so over a connection of its own.
"""

from __future__ import annotations

from contextlib import suppress

try:
    import resource
except ImportError:  # Windows, where there is no such limit.
    resource = None  # type: ignore[assignment]

_RESERVED = 128
REMEDY = "raise the limit of open files (ulimit -n, or LimitNOFILE of its service)"


def raise_limit() -> None:
    """Lets this process have as many descriptors open as its hard limit says."""
    if resource is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # macOS has a lower one beside the hard limit; then it stays as it is
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connections_max() -> int | None:
    """How many connections there is room for, besides all else; None if nothing limits them."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else max(1, soft - min(_RESERVED, soft // 2))
