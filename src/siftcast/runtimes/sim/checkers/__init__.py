"""Checkers: functions that read a trace and say what it shows. None of them knows a protocol.

exactly_once.py     was each event delivered to exactly the matching subscribers, once?
durable_delivery.py was each durable subscription offered what it was promised, in order?
progress.py         does anything wait at a durable node that will never go on?
outcomes.py         passed, failed, or vacuous: nothing was there to be judged
disturbances.py     when servers were down and the network was cut
stress.py           load of servers and links, normalised resource usage
notification.py     traffic for each subscription notified, false positives
work.py             routing state, matching load, delays
kept_bounds.py      whose bounds on delay are kept, and where they are not, what the slowest hop was
story.py            one event, hop by hop
membership.py       do the views of peers hold together, and what is in them?
detection.py        how soon crashes are noticed, and who was accused wrongly
"""

from siftcast.runtimes.sim.checkers.detection import Detection, detection
from siftcast.runtimes.sim.checkers.disturbances import Disturbance, disturbances
from siftcast.runtimes.sim.checkers.durable_delivery import DurableDelivery, durable_delivery, offer_delays_ms
from siftcast.runtimes.sim.checkers.exactly_once import ExactlyOnce, Violation, exactly_once
from siftcast.runtimes.sim.checkers.kept_bounds import KeptBound, kept_bounds
from siftcast.runtimes.sim.checkers.membership import Membership, membership
from siftcast.runtimes.sim.checkers.notification import NotificationCost, notification_cost, notification_costs
from siftcast.runtimes.sim.checkers.outcomes import Outcome
from siftcast.runtimes.sim.checkers.progress import Progress, Waiting, progress
from siftcast.runtimes.sim.checkers.story import Hop, hops_of, publisher_of, receivers_of, tell_event
from siftcast.runtimes.sim.checkers.stress import Spread, arc_stress, link_stress, node_stress, resource_usage
from siftcast.runtimes.sim.checkers.work import DelayBounds, delay_bounds, delays_ms, matching_load, routing_state

__all__ = [
    "DelayBounds",
    "Detection",
    "Disturbance",
    "DurableDelivery",
    "ExactlyOnce",
    "Hop",
    "KeptBound",
    "Membership",
    "NotificationCost",
    "Outcome",
    "Progress",
    "Spread",
    "Violation",
    "Waiting",
    "arc_stress",
    "delay_bounds",
    "delays_ms",
    "detection",
    "disturbances",
    "durable_delivery",
    "exactly_once",
    "hops_of",
    "kept_bounds",
    "link_stress",
    "matching_load",
    "membership",
    "node_stress",
    "notification_cost",
    "notification_costs",
    "offer_delays_ms",
    "progress",
    "publisher_of",
    "receivers_of",
    "resource_usage",
    "routing_state",
    "tell_event",
]
