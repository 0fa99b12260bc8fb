"""Every engine passes the suite of its contract."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pyarrow as pa
import pytest

from siftcast.matching import Matcher, wait_until_prepared
from siftcast.matching.conformance import EngineConformance, check_event, check_table
from siftcast.matching.tiles import engine as tiles_engine
from siftcast.model import Filter


class TestBruteForce(EngineConformance):
    engine = "brute_force"


class TestTiles(EngineConformance):
    engine = "tiles"


class TestCounting(EngineConformance):
    engine = "counting"


class TestKdTree(EngineConformance):
    engine = "kd_tree"


class TestTilesWithoutKernels(EngineConformance):
    """As on a machine where they are still being compiled: rows wait, and get their index late."""

    engine = "tiles"

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def late_kernels(cls) -> Iterator[None]:
        def ignore(call: Callable[[], None]) -> None:
            pass

        late = SimpleNamespace(begin=lambda: False, wait=wait_until_prepared, when_ready=ignore)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tiles_engine, "KERNELS", late)
            yield

    def check_together(self, chosen: list[Filter], happened: list[dict[str, object]], table: pa.Table) -> None:
        ours, oracle = self.make(), Matcher("brute_force")
        for matcher in (ours, oracle):
            matcher.add_many((f"s{number}", filter_) for number, filter_ in enumerate(chosen))
        kinds = {part["kind"] for part in ours.stats()["segments"]}  # type: ignore[attr-defined]
        assert kinds <= {"waiting"}
        for place, event in enumerate(happened):
            check_event(ours, oracle, event)
            if f"s{place}" in ours:
                for matcher in (ours, oracle):
                    matcher.remove(f"s{place}")
        check_table(ours, oracle, table)  # which waits for the index
        for event in happened:
            check_event(ours, oracle, event)
