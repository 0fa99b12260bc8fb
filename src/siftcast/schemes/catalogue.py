"""Schemes by name. A scheme is found by its file: `filter-based` is `SCHEME` in filter_based.py.

Only the file of the scheme that is asked for is imported, so a node does not load planners it has no use for.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any

from siftcast.schemes.contract import Scheme, SchemeError

DEFAULT_SCHEME = "filter-based"
"""What a network runs that names none: it suits most, and needs neither schema nor forecast."""
_PACKAGE = "siftcast.schemes"
_NO_SCHEMES = {
    "catalogue", "circle_remarks", "circles", "conformance", "content_cells", "contract", "delivery_plan", "ground",
    "matching_plan", "planned_node", "tree_plan",
}  # fmt: skip


@cache
def scheme_names() -> tuple[str, ...]:
    """The names of all schemes, in the order of the alphabet."""
    folder = import_module(_PACKAGE).__path__
    return tuple(sorted(each.name.replace("_", "-") for each in iter_modules(folder) if each.name not in _NO_SCHEMES))


def scheme(name: str) -> Scheme[Any, Any]:
    """The scheme of this name; raises `SchemeError` with the nearest one."""
    names = scheme_names()
    if name not in names:
        nearest = get_close_matches(name, names, 1)
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"there are {', '.join(names)}"
        raise SchemeError(f"there is no scheme '{name}'; {hint}")
    found: Scheme[Any, Any] = import_module(f"{_PACKAGE}.{name.replace('-', '_')}").SCHEME
    return found


@cache
def schemes() -> Mapping[str, Scheme[Any, Any]]:
    """All schemes by name."""
    return MappingProxyType({name: scheme(name) for name in scheme_names()})
