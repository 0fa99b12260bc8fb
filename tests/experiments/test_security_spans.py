"""What follows from what in the generic group model, for the scheme in use; controls show that the checks bite."""

import numpy as np
import pytest

from siftcast.experiments.security.generic_group import Scene, are_told_apart, is_forgeable
from siftcast.experiments.security.linear import is_in_span, rank

pytestmark = pytest.mark.full
LABELS = ("A0", "A00", "A1", "B0", "B01", "B1")
EVENT = {"A": ("A0", "A00"), "B": ("B0", "B01")}


@pytest.mark.parametrize(
    ("subscribers", "publishers", "opened"),
    [
        ({"s": ("A0", "B01")}, {}, True),
        ({"s": ("A0", "B1")}, {}, False),
        ({"s": ("A0", "B1"), "t": ("A1", "B01")}, {}, False),
        ({"s": ("A0", "B1"), "t": ("A1", "B01"), "u": ("A00", "B1")}, {}, False),
        ({}, {"P": ("A0", "B0"), "Q": ("A1", "B01")}, False),
        ({"s": ("A0", "B1"), "t": ("A1", "B01")}, {"P": ("A0", "B01")}, False),
    ],
)
def test_keys_open_what_one_conjunction_of_them_matches_and_nothing_else(
    subscribers: dict[str, tuple[str, ...]], publishers: dict[str, tuple[str, ...]], opened: bool
) -> None:
    assert Scene(EVENT, LABELS, subscribers, publishers).opens() is opened


@pytest.mark.parametrize("twin", [False, True])
def test_values_are_told_apart_only_with_the_twin_of_the_hash(twin: bool) -> None:
    labels = ("A0", "A00", "A1", "A10", "A2", "B0", "B01")
    keys = {"s": ("A2", "B01"), "t": ("A2", "B0")}
    one, other = (
        Scene({"A": levels, "B": ("B0", "B01")}, labels, keys, {"P": ("A0",)}, signature=False, twin=twin)
        for levels in (("A0", "A00"), ("A1", "A10"))
    )
    assert are_told_apart(one.view, other.view) is twin


@pytest.mark.parametrize(
    ("shared_phi", "event", "opened"),
    [(True, {"A": ("A0",)}, True), (False, {"A": ("A0",)}, False), (False, EVENT, False)],
)
def test_tags_are_opened_without_their_key_only_where_searching_and_binding_share_a_secret(
    shared_phi: bool, event: dict[str, tuple[str, ...]], opened: bool
) -> None:
    scene = Scene(event, LABELS, {"s": ("A1", "B1")}, {"P": ("A0",)}, signature=False, shared_phi=shared_phi)
    assert scene.opens_tag("A", "A0") is opened


@pytest.mark.parametrize(
    ("name", "claimed", "message", "forged"),
    [
        ("S", ("A0", "B0"), "m*", True),  # its own credentials
        ("P", ("A0", "B0"), "m*", False),  # it has A0 and A1
        ("Q", ("A0", "B0"), "m*", False),  # it has B0
        ("H", ("A0", "B0"), "m*", False),  # an honest one, for a new message
        ("H", ("A0", "B0"), "m1", True),  # what it did sign
        ("H", ("A1", "B0"), "m1", False),  # with other credentials
    ],
)
def test_signatures_are_made_with_all_keys_for_what_is_claimed_and_not_otherwise(
    name: str, claimed: tuple[str, ...], message: str, forged: bool
) -> None:
    keys = {"P": ("A0", "A1"), "Q": ("B0",), "S": ("A0", "B0")}
    assert is_forgeable(claimed, keys, name, message) is forged


def test_ranks_are_ranks() -> None:
    matrix = np.array([[1, 2, 3], [2, 4, 6], [0, 1, 1]], dtype=np.int64)
    assert rank(matrix) == 2
    assert is_in_span(matrix[:, :2], matrix[:, 2:])
    assert not is_in_span(matrix[:, :1], matrix[:, 1:2])
