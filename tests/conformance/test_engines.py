"""Every engine passes the suite of its contract."""

from siftcast.matching.conformance import EngineConformance


class TestBruteForce(EngineConformance):
    engine = "brute_force"


class TestTiles(EngineConformance):
    engine = "tiles"


class TestCounting(EngineConformance):
    engine = "counting"


class TestKdTree(EngineConformance):
    engine = "kd_tree"
