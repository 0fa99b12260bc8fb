"""The topology of a run, and one event's way through it, as an SVG picture.

Servers stand where classical multidimensional scaling of their latencies puts them, a little apart: what is near on
paper is near in the network. Thin lines are the overlay's links; an event's hops are drawn over them in the order in
which they were taken, and numbered. The publisher is a square, servers that delivered the event are filled.

Cost: O(servers³) for the places; meant for networks of up to two thousand servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.checkers import Hop, hops_of, publisher_of, receivers_of

Floats = npt.NDArray[np.float64]
_WIDTH, _HEIGHT, _MARGIN = 1_000.0, 720.0, 50.0
_ROOM = np.array([_WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN])
_GAP, _PUSHES = 34.0, 100
_STYLE = (
    "text{font:11px sans-serif;fill:#334}.title{font-size:15px}.link{stroke:#c9ced6;stroke-width:1}"
    ".hop{stroke:#d1495b;stroke-width:2;fill:none}.lost{stroke-dasharray:4 3}"
    ".server{fill:#fff;stroke:#5b6675;stroke-width:1.5}.got{fill:#2e86ab}.publisher{fill:#edae49}"
    ".number{font-size:10px;fill:#8c1c2d;font-weight:bold}"
)


def draw(
    latencies_ms: Floats,
    links: Iterable[tuple[int, int]],
    *,
    title: str,
    trace: Trace | None = None,
    event: str = "",
    names: Sequence[str] = (),
) -> str:
    """The picture as text; with a trace and an event, the event's way too. Servers without names have their numbers."""
    places = place_servers(latencies_ms)
    hops = hops_of(trace, event) if trace is not None and event else ()
    publisher = publisher_of(trace, event) if trace is not None and event else None
    receivers = receivers_of(trace, event) if trace is not None and event else ()
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#d1495b"/></marker></defs>',
        f'<rect width="{_WIDTH:g}" height="{_HEIGHT:g}" fill="#fff"/>',
        f'<text class="title" x="20" y="26">{escape(title)}</text>',
    ]
    for a, b in links:
        (x1, y1), (x2, y2) = places[a], places[b]
        parts.append(f'<line class="link" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
    parts += [_hop(number, hop, places) for number, hop in enumerate(hops, 1)]
    labels = names or [str(node) for node in range(len(places))]
    parts += [_server(label, places[node], node == publisher, node in receivers) for node, label in enumerate(labels)]
    parts += [_number(number, hop, places) for number, hop in enumerate(hops, 1)]
    return "\n".join([*parts, "</svg>", ""])


def place_servers(latencies_ms: Floats) -> Floats:
    """Places in the picture, one row a server, from classical multidimensional scaling."""
    count = len(latencies_ms)
    squares = np.minimum(latencies_ms, latencies_ms.T) ** 2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    raw = np.zeros((count, 2))
    for axis in range(min(2, count)):
        vector = vectors[:, -1 - axis] * np.sqrt(max(values[-1 - axis], 0.0))
        # An eigenvector may point either way; the same network must give the same picture.
        raw[:, axis] = vector if vector[np.argmax(np.abs(vector))] >= 0 else -vector
    low, span = raw.min(axis=0), np.ptp(raw, axis=0)
    unit = np.where(span > 0, (raw - low) / np.where(span > 0, span, 1.0), 0.5)
    return _apart(_MARGIN + unit * _ROOM)


def _apart(places: Floats) -> Floats:
    """Pushes servers apart that would lie on each other, as those at one router do; the others stay about there."""
    count = len(places)
    gap = min(_GAP, 0.7 * float(np.sqrt(_ROOM.prod() / max(count, 1))))
    turns = np.arange(count) * 2.4  # servers at one place, or in one corner, leave it in different directions
    nudges = 0.1 * np.column_stack([np.cos(turns), np.sin(turns)])
    moved = places
    for _ in range(_PUSHES):
        moved = moved + nudges
        between = moved[:, None] - moved[None]
        far = np.maximum(np.hypot(between[..., 0], between[..., 1]), 0.01)
        push = np.maximum(gap / far - 1.0, 0.0) / 2
        np.fill_diagonal(push, 0.0)
        if not push.any():
            break
        moved = np.clip(moved + (push[..., None] * between).sum(axis=1), _MARGIN, _MARGIN + _ROOM)
    return moved


def _hop(number: int, hop: Hop, places: Floats) -> str:
    (x1, y1), (x2, y2) = _shortened(places[hop.sender], places[hop.receiver])
    kind = "hop" if hop.received_ms is not None else "hop lost"
    end = "did not arrive" if hop.received_ms is None else f"arrived {hop.received_ms:.1f} ms"
    tip = f"hop {number}: {hop.sender} → {hop.receiver}, sent {hop.sent_ms:.1f} ms, {end}"
    return (
        f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" marker-end="url(#tip)">'
        f"<title>{escape(tip)}</title></line>"
    )


def _number(number: int, hop: Hop, places: Floats) -> str:
    x, y = places[hop.sender] * 0.45 + places[hop.receiver] * 0.55
    return f'<text class="number" x="{x + 3:.1f}" y="{y - 3:.1f}">{number}</text>'


def _server(name: str, place: Sequence[float] | Floats, publishes: bool, got: bool) -> str:
    x, y = place
    kind = "server" + (" publisher" if publishes else "") + (" got" if got and not publishes else "")
    label = f'<text x="{x + 9:.1f}" y="{y + 4:.1f}">{escape(name)}</text>'
    if publishes:
        return f'<rect class="{kind}" x="{x - 7:.1f}" y="{y - 7:.1f}" width="14" height="14"/>{label}'
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="6"/>{label}'


def _shortened(start: Floats, end: Floats, by: float = 8.0) -> tuple[Floats, Floats]:
    """The line between two servers, without what lies under them."""
    way = end - start
    length = float(np.hypot(*way))
    return (start, end) if length <= 2 * by else (start + way * by / length, end - way * by / length)
