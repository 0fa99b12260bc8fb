"""Schemes: one file each, which says all that a runtime must know to run it.

    contract.py         what a scheme says about itself (`Scheme`)
    ground.py           what a scheme may be planned from (`Ground`, `Forecast`)
    catalogue.py        schemes by name, found by their files
    tree_plan.py        the plan of schemes that run on a tree, or on a graph around one
    content_cells.py    an axis of the content cut into cells with their loads, for schemes that divide the content
    conformance.py      the suite of `overlays.conformance` for every scheme of the catalogue

Every other file is a scheme. It joins a protocol (`overlays.protocols`) with its options and with the planner
(`planning`) that lays it out. Runtimes, scenario files and configurations know this contract and no scheme, so a new
scheme is a protocol and a file here.
"""

from siftcast.schemes.catalogue import DEFAULT_SCHEME, scheme, scheme_names, schemes
from siftcast.schemes.contract import Factory, Scheme, SchemeError
from siftcast.schemes.ground import AxisLoad, Forecast, Ground

__all__ = [
    "DEFAULT_SCHEME",
    "AxisLoad",
    "Factory",
    "Forecast",
    "Ground",
    "Scheme",
    "SchemeError",
    "scheme",
    "scheme_names",
    "schemes",
]
