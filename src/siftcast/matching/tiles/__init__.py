"""Tiles: an index that matches events against many conjunctions of intervals, 512 rows at a time.

Read ``index`` for the idea, ``ordering`` for why few tiles are visited, ``packing`` for the memory layout and
``kernels`` for what happens to an event.
"""
