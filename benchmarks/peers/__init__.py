"""Other ways to answer the same events, all of them installable with pip, each in its strongest form.

A peer is built once from a workload, raises `LeftOut` where it cannot or should not take part, and then prepares
events and returns the call that is timed. It may answer with row numbers, which is less than the ids that a matcher
returns, and gets its events in its own form rather than as an Arrow table; both are to its advantage.
"""

from __future__ import annotations

from benchmarks.peers.contract import LeftOut, Peer, PeerClass
from benchmarks.peers.duckdb_join import DuckDBJoin
from benchmarks.peers.numpy_scan import NumPyScan, NumPySparseScan, NumPySymbolScan
from benchmarks.peers.predicate_loop import PredicateLoop
from benchmarks.peers.spatial_index import SpatialIndex
from benchmarks.peers.sqlite_rtree import SQLiteRTree

__all__ = [
    "DuckDBJoin",
    "LeftOut",
    "NumPyScan",
    "NumPySparseScan",
    "NumPySymbolScan",
    "Peer",
    "PeerClass",
    "PredicateLoop",
    "SQLiteRTree",
    "SpatialIndex",
]
