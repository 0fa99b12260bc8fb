"""Lookup reuse (seed 001): what it saves when routers pass on which subscriptions an event matched.

setup.py      the network, the workload and the configurations
measure.py    one configuration: all strategies on one network, timed
judge.py      rows L1 to L8
figures.py    the figures, and the account of how it was set up
"""

from siftcast.experiments.lookup_reuse.figures import ACCOUNT, draw
from siftcast.experiments.lookup_reuse.judge import judge
from siftcast.experiments.lookup_reuse.setup import configurations
from siftcast.experiments.study import Study

STUDY = Study(
    name="lookup-reuse",
    title="Lookup reuse",
    function="siftcast.experiments.lookup_reuse.measure:run",
    version="1",
    figures=("L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8"),
    configurations=configurations,
    judge=judge,
    draw=draw,
    account=ACCOUNT,
)
