"""The judge can be strict: each way of breaking a promise makes the verdict bad, and what is allowed does not."""

import pytest

from tests.hostile.oracle import Oracle, Published

CONTENT = {"value": 1, "price": 1.0}


def small_values(content: object) -> bool:
    return isinstance(content, dict) and content["value"] < 10


@pytest.fixture
def oracle() -> Oracle:
    """Two durable subscriptions, `here` and `there`, and one that is not, all known."""
    oracle = Oracle(lambda: 0.0)
    oracle.subscribe("here", "n0", small_values, durable=True)
    oracle.subscribe("there", "n1", small_values, durable=True)
    oracle.subscribe("passer-by", "n1", small_values, durable=False)
    oracle.becomes_known(["here", "there", "passer-by"])
    return oracle


def published(oracle: Oracle, publisher: str = "p", **changes: object) -> Published:
    event = oracle.starts(publisher, "n0", {**CONTENT, **changes})
    oracle.acknowledges(event)
    return event


def read(oracle: Oracle, *events: Published, by: tuple[str, ...] = ("here", "there")) -> None:
    for event in events:
        for name in by:
            oracle.reads(name, event.id, dict(event.content))


def wrong(oracle: Oracle) -> set[str]:
    verdict = oracle.verdict()
    kinds = {kind for kind, found in verdict.wrong.items() if found}
    assert verdict.is_good == (not kinds and not verdict.missing and verdict.required > 0)
    return kinds | ({"missing"} if verdict.missing else set())


def test_what_is_read_once_and_in_order_is_good(oracle: Oracle) -> None:
    read(oracle, published(oracle), published(oracle, "q"), published(oracle))
    assert wrong(oracle) == set()
    assert oracle.verdict().required == 6


def test_a_run_in_which_nothing_is_required_is_not_good(oracle: Oracle) -> None:
    assert not oracle.verdict().is_good
    assert "proves nothing" in str(oracle.verdict())


def test_an_acknowledged_event_that_was_not_read_is_missing(oracle: Oracle) -> None:
    event = published(oracle)
    read(oracle, event, by=("here",))
    assert oracle.missing == 1
    assert wrong(oracle) == {"missing"}
    assert f"there (at n1) has not got {event.id}" in str(oracle.verdict())


def test_what_is_read_before_it_is_acknowledged_is_not_missing(oracle: Oracle) -> None:
    event = oracle.starts("p", "n0", CONTENT)
    read(oracle, event)
    oracle.acknowledges(event)
    assert wrong(oracle) == set()


def test_nobody_must_read_what_is_unknown_unwanted_or_older_than_the_subscription(oracle: Oracle) -> None:
    oracle.raises(oracle.starts("p", "n0", CONTENT), OSError("gone"))
    published(oracle, value=10)
    oracle.subscribe("late", "n1", small_values, durable=True)
    read(oracle, published(oracle))
    assert wrong(oracle) == set()
    assert oracle.verdict().unknown == 1


def test_what_is_unknown_may_be_read(oracle: Oracle) -> None:
    event = oracle.starts("p", "n0", CONTENT)
    oracle.raises(event, OSError("gone"))
    read(oracle, event, published(oracle))
    assert wrong(oracle) == set()


@pytest.mark.parametrize("content", [{"value": 2, "price": 1.0}, {"value": 1}, {"value": 1, "price": 1}, {}])
def test_other_content_is_altered(oracle: Oracle, content: dict[str, object]) -> None:
    event = published(oracle)
    read(oracle, event, by=("here",))
    oracle.reads("there", event.id, content)
    assert wrong(oracle) == {"altered"}


def test_what_is_not_wanted_or_was_never_published_is_unwanted(oracle: Oracle) -> None:
    read(oracle, published(oracle, value=10), by=("here",))
    oracle.reads("there", "invented", CONTENT)
    assert wrong(oracle) == {"unwanted"}
    assert len(oracle.verdict().wrong["unwanted"]) == 2


@pytest.mark.parametrize("name", ["here", "there", "passer-by"])
def test_nobody_may_see_an_event_twice(oracle: Oracle, name: str) -> None:
    event = published(oracle)
    read(oracle, event)
    read(oracle, event, event, by=(name,))
    assert wrong(oracle) == {"twice"}


def test_one_publishers_events_may_not_change_places_and_those_of_two_may(oracle: Oracle) -> None:
    first, other, second = published(oracle), published(oracle, "q"), published(oracle)
    read(oracle, other, first, second)
    assert wrong(oracle) == set()
    third, fourth = published(oracle), published(oracle)
    read(oracle, fourth, third)
    assert wrong(oracle) == {"out of order"}


def test_a_reader_that_follows_another_may_be_shown_the_same_once_and_must_not_miss_anything(oracle: Oracle) -> None:
    first, second = published(oracle), published(oracle)
    read(oracle, first, second)
    oracle.follows("here")
    read(oracle, first, second, by=("here",))
    assert wrong(oracle) == set()
    read(oracle, second, by=("here",))
    assert wrong(oracle) == {"twice"}
    published(oracle)
    assert wrong(oracle) == {"twice", "missing"}


def test_a_subscription_that_is_replaced_may_get_what_it_wanted_until_the_new_filter_is_known(oracle: Oracle) -> None:
    read(oracle, published(oracle))
    published(oracle)
    oracle.replaces("here", lambda content: content["value"] == 99)
    read(oracle, published(oracle), by=("here", "there"))
    oracle.becomes_known(["here"])
    assert {each.split()[0] for each in oracle.verdict().missing} == {"there"}
    assert oracle.verdict().wrong["unwanted"] == ()
    read(oracle, published(oracle))
    assert len(oracle.verdict().wrong["unwanted"]) == 1
    published(oracle, value=99)
    assert {each.split()[0] for each in oracle.verdict().missing} == {"here", "there"}


def test_a_stream_that_ends_by_itself_is_wrong(oracle: Oracle) -> None:
    read(oracle, published(oracle))
    oracle.fails("here", OSError("gone"))
    assert wrong(oracle) == {"reader failed"}


def test_what_an_older_disk_forgot_may_be_missing_and_what_follows_may_not(oracle: Oracle) -> None:
    read(oracle, published(oracle))
    published(oracle)
    oracle.goes_back("n0")
    oracle.forgive(known=True)
    assert wrong(oracle) == set()
    published(oracle)
    assert wrong(oracle) == {"missing"}


def test_after_a_lost_disk_nothing_is_required_until_subscriptions_are_known_again(oracle: Oracle) -> None:
    read(oracle, published(oracle))
    oracle.goes_back("n0")
    oracle.forgive(known=False)
    published(oracle)
    assert wrong(oracle) == set()
    oracle.becomes_known(["here", "there"])
    published(oracle)
    assert wrong(oracle) == {"missing"}


def test_only_a_node_that_went_back_may_show_events_again_and_only_older_ones(oracle: Oracle) -> None:
    event = published(oracle)
    read(oracle, event)
    oracle.goes_back("n0")
    read(oracle, event, by=("here",))
    assert wrong(oracle) == set()
    read(oracle, event, by=("there",))
    assert wrong(oracle) == {"twice"}
    later = published(oracle)
    read(oracle, later)
    read(oracle, later, by=("here",))
    assert len(oracle.verdict().wrong["twice"]) == 2


def test_an_ephemeral_subscription_may_see_again_what_was_published_before_all_was_mended(oracle: Oracle) -> None:
    oracle.goes_back("n0")
    event = published(oracle)
    read(oracle, event)
    read(oracle, event, event, by=("passer-by",))
    oracle.is_mended()
    assert wrong(oracle) == set()
    later = published(oracle)
    read(oracle, later)
    read(oracle, later, later, by=("passer-by",))
    assert wrong(oracle) == {"twice"}


def test_order_counts_again_once_all_is_mended(oracle: Oracle) -> None:
    oracle.goes_back("n0")
    first, second = published(oracle), published(oracle)
    read(oracle, second, first)
    oracle.is_mended()
    assert wrong(oracle) == set()
    third, fourth = published(oracle), published(oracle)
    read(oracle, fourth, third)
    assert wrong(oracle) == {"out of order"}


def test_what_ephemeral_subscriptions_must_get_is_counted_by_who_proves_it(oracle: Oracle) -> None:
    oracle.proves(3)
    assert oracle.verdict().required == 3
    assert oracle.verdict().is_good
