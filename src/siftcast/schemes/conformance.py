"""The suite of all schemes for every scheme of the catalogue, with every example of its options.

A scheme gets it for its file alone: it is planned as a runtime would plan it, on random trees, with and without a
forecast, and must deliver each event to exactly the matching subscribers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from siftcast.model import Subscription
from siftcast.overlays.conformance import SPACE, Case, Contacts, SchemeConformance
from siftcast.overlays.contract import NodeId
from siftcast.overlays.loopback import Loopback
from siftcast.schemes.catalogue import schemes
from siftcast.schemes.contract import Factory, Scheme
from siftcast.schemes.ground import Forecast, Ground

_SEED = 1
_WHILE_MS, _BEGINNING_MS = 500.0, 5_000.0
_SAMPLE = pa.table({"value": [*range(10), 3, 3, None], "kind": ["x", "xy", "y", None] * 3 + ["x"]})


class CatalogueConformance(SchemeConformance):
    """One scheme with one choice of options."""

    scheme: Scheme[Any, Any]
    options: Any

    def set_up(self, case: Case) -> tuple[Factory, Contacts]:
        plan = self.scheme.plan(ground_of(case), self.options)
        return self.scheme.nodes(plan, self.options, case.tables), partial(self.scheme.contacts, plan)

    def rest(self, net: Loopback) -> None:
        """Until all have settled; where nodes always have something to do, for a while."""
        if self.scheme.ticks:
            net.run(net.now + (_WHILE_MS if net.now else _BEGINNING_MS))
        else:
            net.rest()

    def check_messages(self, net: Loopback, publisher: NodeId) -> None:
        """A node is sent an event at most once by messages of one kind, where the scheme promises that."""
        carrying = Counter((to, type(message)) for _, to, message in net.sent if message.event_id is not None)
        assert not self.scheme.sends_once or all(count == 1 for count in carrying.values())


def ground_of(case: Case) -> Ground:
    """What a runtime would know of a case."""
    wanted = [(node, Subscription(f"known-{n}", filter_)) for n, (node, filter_) in enumerate(case.interests)]
    return Ground(
        np.array(case.distances),
        np.random.default_rng(_SEED),
        schema=SPACE,
        tree=case.tree,
        forecast=Forecast(wanted, _SAMPLE) if wanted else None,
    )


def suites() -> Mapping[str, type[CatalogueConformance]]:
    """A test class for each scheme and example; put them into a test module's globals."""
    return {
        (title := title_of(scheme.name, example)): type(
            title,
            (CatalogueConformance,),
            {
                "__doc__": f"{scheme.name} with {dict(example) or 'no options'}.",
                "scheme": scheme,
                "options": (options := scheme.configure(example)),
                "advertises": scheme.advertises(options),
            },
        )
        for scheme in schemes().values()
        for example in scheme.examples
    }


def title_of(name: str, example: Mapping[str, object]) -> str:
    """The name of a test class."""
    words = name.replace("-", " ").title().replace(" ", "")
    chosen = "_".join(f"{option}_{value}" for option, value in example.items())
    return f"Test{words}_{chosen}".rstrip("_").replace("-", "_").replace(".", "_")
