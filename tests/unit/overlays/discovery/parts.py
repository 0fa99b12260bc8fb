"""Parts of one peer, put together by hand, and what they want done."""

from random import Random

from siftcast.overlays.contract import InferRoute, MeasureDelay, RouteInferred, SendMessage
from siftcast.overlays.discovery import DiscoveryOptions
from siftcast.overlays.discovery.links import Links
from siftcast.overlays.discovery.messages import Place
from siftcast.overlays.discovery.placing import Placing
from siftcast.overlays.discovery.questions import Questions
from siftcast.overlays.discovery.walking import Walking
from siftcast.overlays.discovery.whereabouts import Whereabouts

NOWHERE = (0.0, 0.0, 0.001, 1.0)
AT, NEW = 0, 9


def sent(effects):
    return [(effect.message, *effect.destinations) for effect in effects if isinstance(effect, SendMessage)]


class Peer:
    """Node 0 with near neighbours: {peer: (delay, route)}."""

    def __init__(self, near, **options):
        self.options = DiscoveryOptions(**options)
        self.links = Links(AT, self.options.degree)
        for peer, (delay_ms, route) in near.items():
            self.links.add_near(peer, delay_ms, None if route is None else tuple(route))
        self.questions = Questions()
        self.placing = Placing(AT, self.options, self.links, self.questions)
        random = Random(1)
        self.here = Whereabouts(random)
        self.walking = Walking(
            AT, self.options, links=self.links, questions=self.questions, here=self.here, random=random
        )

    def place(self, route=None, delay_ms=None, *, status="ok", **kinds):
        """Has the newcomer placed; returns where it is handed on to, or what it takes over."""
        effects = self.placing.begin(Place(NEW, NOWHERE, **kinds), 0.0)
        while effects:
            (effect,) = effects
            match effect:
                case InferRoute():
                    effects = self.placing.handle_route(RouteInferred(NEW, tuple(route or ()), status), 0.0)
                case MeasureDelay():
                    self.questions.answer(NEW, delay_ms, 0.0)
                    effects = self.placing.handle_delay(NEW, delay_ms, 0.0)
                case SendMessage(Place(), (peer,)):
                    return "handed on", peer, effect.message
                case _:
                    return "asks", effect.destinations, effect.message
        if not self.placing.placed:
            return "dropped", None, None
        (placed,) = self.placing.placed
        return "stays", dict(placed.adopted), placed
