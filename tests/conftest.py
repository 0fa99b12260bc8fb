"""What every test shares: how hard Hypothesis tries, and where the shared data lies.

The default profile is derandomised, so that a red run is the same red on every machine; `make soak` looks
for new counterexamples at random. Neither sets a deadline: timings belong in the benchmarks. Kernels are there before
the first test, so that none sees another engine on a machine that compiles them than on one that has them.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from siftcast.matching import wait_until_prepared

settings.register_profile("default", max_examples=60, deadline=None, derandomize=True, print_blob=True)
settings.register_profile(
    "soak",
    max_examples=5_000,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session", autouse=True)
def kernels() -> None:
    wait_until_prepared()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of shared data; unset skips, set but missing fails, so that CI cannot skip by mistake."""
    value = os.environ.get("SIFTCAST_SHARED")
    if not value:
        pytest.skip("needs the shared data: SIFTCAST_SHARED=/path/to/shared make test")
    folder = Path(value).resolve()
    if not folder.is_dir():
        pytest.fail(f"SIFTCAST_SHARED names {folder}, which is no folder")
    return folder
