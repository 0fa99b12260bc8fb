"""Overlays: how events find their way between nodes. Protocols without I/O, one scheme a file.

`contract` says what a protocol is; `conformance` is the suite that every scheme passes; `protocols/` holds the
schemes. Matching inside them goes through `tables`, delivery to known destinations through `delivery`; filter-based
schemes share `content_router`. `trace` is the record of a run that both runtimes write.
"""
