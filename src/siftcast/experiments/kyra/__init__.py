"""Kyra (seed 000): what cliques, subscription movement and many small trees do to state, work and traffic.

setup.py      the topology, the data models and the configurations
measure.py    one configuration: a scheme on a topology in the simulator, and what the checkers say
example.py    the eight servers of Figures 2 and 4
judge.py      rows K1 to K13 (judge_stress.py: K10)
figures.py    the figures, and the account of how it was set up
"""

from siftcast.experiments.kyra.figures import ACCOUNT, draw
from siftcast.experiments.kyra.judge import judge
from siftcast.experiments.kyra.setup import configurations
from siftcast.experiments.study import Study

STUDY = Study(
    name="kyra",
    title="Kyra",
    function="siftcast.experiments.kyra.measure:run",
    version="3",
    figures=tuple(f"K{number}" for number in range(1, 14)),
    configurations=configurations,
    judge=judge,
    draw=draw,
    account=ACCOUNT,
)
