"""Networks of the Internet Topology Zoo, in the JSON form of topohub.

    {"graph": {"name": …}, "nodes": [{"id": "0", "name": "Cork", "pos": [-8.5, 51.9]}, …],
     "edges": [{"source": "0", "target": "8", "dist": 218.89}, …]}

`dist` is kilometres, and a latency is the time light needs for them in fibre, 200 km per millisecond. Some towns have
two nodes at one place: their links take 0 ms. All graphs may lie in one tar archive, from which one is read by name.
"""

from __future__ import annotations

import io
import json
import math
import tarfile
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any

from siftcast.model.errors import TopologyFileError
from siftcast.underlay.network import Network
from siftcast.underlay.topology_files import AnyPath, decode, read_bytes

FIBRE_KM_A_MS = 200.0


def read_topology_zoo(path: AnyPath, name: str | None = None, *, km_a_ms: float = FIBRE_KM_A_MS) -> Network:
    """The network of a JSON file, or the one called `name` in a tar archive; either plain or gzipped."""
    if not (math.isfinite(km_a_ms) and km_a_ms > 0):
        raise TopologyFileError(str(path), f"km_a_ms is {km_a_ms}", remedy="give a speed above 0")
    content = read_bytes(path)
    label = str(path)
    if _is_tar(content):
        content, label = _member(path, content, name)
    elif name is not None:
        raise TopologyFileError(str(path), f"is no tar archive, so it holds no graph '{name}'", remedy="leave name out")
    try:
        data = json.loads(decode(label, content))
    except json.JSONDecodeError as error:
        raise TopologyFileError(
            label,
            f"is no JSON: {error.msg}",
            line=error.lineno,
            remedy="the file may be cut off; fetch or copy it again",
        ) from None
    return _network(label, data, km_a_ms)


def list_topology_zoo(path: AnyPath) -> list[str]:
    """The names of all graphs in a tar archive."""
    content = read_bytes(path)
    if not _is_tar(content):
        raise TopologyFileError(str(path), "is no tar archive", remedy="name the archive of all graphs")
    return sorted(_members(path, content))


def _is_tar(content: bytes) -> bool:
    return content[257:262] == b"ustar"


def _members(path: AnyPath, content: bytes) -> dict[str, bytes]:
    """The JSON files of an archive by the names of their graphs."""
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            files = ((PurePosixPath(each.name), archive.extractfile(each)) for each in archive.getmembers())
            return {name.stem: file.read() for name, file in files if file is not None and name.suffix == ".json"}
    except (tarfile.TarError, EOFError) as error:
        raise TopologyFileError(
            str(path), f"the tar archive is damaged ({error})", remedy="fetch or copy it again"
        ) from None


def _member(path: AnyPath, content: bytes, name: str | None) -> tuple[bytes, str]:
    """One graph of an archive, and what to call it in an error."""
    members = _members(path, content)
    if name is not None and name in members:
        return members[name], f"{path}!{name}"
    near = get_close_matches(name or "", members, 3, 0.5) or sorted(members)[:3]
    problem = "holds many graphs" if name is None else f"holds no graph '{name}'"
    raise TopologyFileError(str(path), problem, remedy=f"name one, such as {', '.join(near)}")


def _network(label: str, data: Any, km_a_ms: float) -> Network:
    if not isinstance(data, dict):
        raise TopologyFileError(label, "is no graph", remedy="a graph is a JSON object with 'nodes' and 'edges'")
    nodes, edges = _entries(label, data, "nodes"), _entries(label, data, "edges")
    if not nodes:
        raise TopologyFileError(label, "the network has no nodes")
    routers: dict[str, int] = {}
    for place, node in enumerate(nodes, 1):
        key = str(_field(label, f"node {place}", node, "id"))
        if key in routers:
            raise TopologyFileError(label, f"node {place}: the id {key!r} is there twice")
        routers[key] = len(routers)
    links = []
    for place, edge in enumerate(edges, 1):
        tail, head = (str(_field(label, f"edge {place}", edge, end)) for end in ("source", "target"))
        for key in (tail, head):
            if key not in routers:
                raise TopologyFileError(
                    label, f"edge {place} names the node {key!r}, which is not there", remedy="list it under 'nodes'"
                )
        if tail == head:
            raise TopologyFileError(label, f"edge {place} joins the node {tail!r} to itself")
        links.append((routers[tail], routers[head], _distance(label, place, edge) / km_a_ms))
    return Network.of(len(routers), links, names=[str(node.get("name", node["id"])) for node in nodes])


def _entries(label: str, data: dict[str, Any], key: str) -> list[Any]:
    entries = data.get(key)
    if not isinstance(entries, list):
        raise TopologyFileError(label, f"has no list '{key}'", remedy="a graph has the lists 'nodes' and 'edges'")
    return entries


def _field(label: str, place: str, entry: Any, key: str) -> Any:
    if not isinstance(entry, dict) or not isinstance(entry.get(key), str | int):
        raise TopologyFileError(label, f"{place} has no '{key}'", remedy="give a text or a whole number")
    return entry[key]


def _distance(label: str, place: int, edge: dict[str, Any]) -> float:
    distance = edge.get("dist")
    if isinstance(distance, bool) or not isinstance(distance, int | float):
        distance = math.nan
    if not (math.isfinite(distance) and distance >= 0):
        raise TopologyFileError(
            label,
            f"edge {place} has the distance {edge.get('dist')!r}",
            remedy="give 'dist' in kilometres, a finite number of at least 0",
        )
    return float(distance)
