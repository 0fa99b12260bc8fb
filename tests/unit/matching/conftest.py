"""What tests of threads share."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns after very few steps."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)
