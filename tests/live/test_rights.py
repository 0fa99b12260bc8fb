"""Who may do what: rights are filters, refusals name the principal, and no log holds a token."""

import io
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import siftcast
from siftcast import Event, Filter
from siftcast.runtimes.live.errors import ConfigurationError, Forbidden, LiveError, Unauthorised
from siftcast.runtimes.live.logs import Logger, make_log
from siftcast.runtimes.live.node.access import Access, Caller
from siftcast.runtimes.live.node.audit import Audit
from siftcast.runtimes.live.node.configuration import parse_configuration
from siftcast.runtimes.live.node.node import Node
from siftcast.runtimes.live.node.principals import Principals
from siftcast.runtimes.live.node.rights import Rights, hash_token, new_token
from siftcast.runtimes.live.wire.frames import VERSION, Hello
from siftcast.testing import in_process
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import configured, url_of

DESK, AUDIT, OTHER = (new_token() for _ in range(3))


def principal(name: str, token: str, rights: str = "") -> str:
    return f'[[principal]]\nname = "{name}"\ntoken_hash = "{hash_token(token)}"\n{rights}\n'


def access_of(text: str, log: Logger) -> Access:
    """The door of a node with this configuration."""
    return Access(Principals(parse_configuration(text)), 60, log, Audit(None, None, "node", log))


PRINCIPALS = principal("desk", DESK, 'publish = "symbol = \'IBM\'"\nsubscribe = "price < 100"') + principal(
    "audit", AUDIT, 'subscribe = "TRUE"\nsee = true'
)
MISTAKES = {
    "two of a name": (principal("a", DESK) + principal("a", AUDIT), 6, "its own name"),
    "two of a token": (principal("a", DESK) + principal("b", DESK), 7, "its own token"),
    "a token, not its hash": (f'[[principal]]\nname = "a"\ntoken_hash = "{DESK}"\n', 3, "siftcast token new"),
    "no filter": (principal("a", DESK, 'publish = "price <"'), 4, "TRUE"),
    "a node with rights": (principal("a", DESK, "node = true\nsee = true"), 4, "principal of their own"),
    "no file with the token": ('[node]\ntoken_file = "none"\n', 2, "siftcast token new"),
}
NODES = (
    '[[overlay.nodes]]\nname = "a"\naddress = "127.0.0.1:1"\n[[overlay.nodes]]\nname = "b"\naddress = "10.0.0.2:1"\n'
)
UNSAFE = {
    "no consent": ('[node]\nlisten = "0.0.0.0:7007"\n', 2, "allow_remote = true"),
    "no principals": ('[node]\nlisten = "0.0.0.0:7007"\nallow_remote = true\n', 2, "[[principal]]"),
    "not encrypted": ('[node]\nlisten = "[::]:7007"\nallow_remote = true\n' + PRINCIPALS, 2, "[tls]"),
    "a node that is nobody": ('[node]\nname = "a"\n' + NODES + PRINCIPALS, 1, "token_file"),
    "a node nobody knows": ('[node]\nname = "a"\ntoken_file = "t"\n' + NODES + PRINCIPALS, 8, "node = true"),
    "a token for all to read": (
        '[node]\nname = "a"\ntoken_file = "t"\n' + NODES + principal("b", OTHER, "node = true"), 9, "[tls]"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line", "remedy"), UNSAFE.values(), ids=UNSAFE)
def test_a_node_that_strangers_could_use_is_refused_with_line_and_remedy(text: str, line: int, remedy: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text, "node.toml")
    assert str(caught.value).startswith(f"node.toml, line {line}: ")
    assert remedy in str(caught.value)


@pytest.mark.parametrize(("text", "line", "remedy"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_about_principals_is_told_with_line_and_remedy(text: str, line: int, remedy: str) -> None:
    file = parse_configuration(text, "node.toml")
    with pytest.raises(ConfigurationError) as caught:
        Principals(file)
    assert str(caught.value).startswith(f"node.toml, line {line}: ")
    assert remedy in str(caught.value)
    assert DESK not in str(caught.value)


@on_loop
async def test_a_socket_that_others_reach_is_refused_too() -> None:
    with socket.create_server(("0.0.0.0", 0)) as listener:
        node = Node(configured())
        try:
            with pytest.raises(ConfigurationError, match="can be reached from other machines"):
                await node.start(listener)
        finally:
            await node.stop()


@on_loop
async def test_a_principal_publishes_and_subscribes_within_its_rights_only() -> None:
    async with in_process(PRINCIPALS, token=DESK) as bus, bus.subscribe("price < 50") as stream:
        await bus.publish({"symbol": "IBM", "price": 10})
        assert (await anext(stream))["price"] == 10
        with pytest.raises(Forbidden, match=r"'desk' may publish only what matches: symbol = 'IBM'"):
            await bus.publish({"symbol": "SAP", "price": 10})
        with pytest.raises(Forbidden, match=r"'desk' may subscribe only within: price < 100"):
            await bus.subscribe("price < 200").ready()
        with pytest.raises(Forbidden):
            await stream.replace("symbol = 'IBM'")
        await stream.replace("symbol = 'IBM' AND price < 100")
        with pytest.raises(Forbidden, match="see = true"):
            await bus.describe()
        with pytest.raises(Forbidden, match="see = true"):
            await bus.dry_run({"symbol": "IBM", "price": 10})
        with pytest.raises(Forbidden, match="see = true"):
            await bus.trace("any")
        async with bus.connect(token=AUDIT) as audit:
            assert [row["filter"] for row in (await audit.describe())["subscriptions"]] == [
                "symbol = 'IBM' AND price < 100"
            ]
            with pytest.raises(Forbidden, match="'audit' may not publish"):
                await audit.publish({"symbol": "IBM", "price": 10})


@pytest.mark.parametrize(
    "token", [None, OTHER, DESK[:-1], hash_token(DESK)], ids=["none", "another", "cut short", "its hash"]
)
@on_loop
async def test_whoever_shows_no_token_that_is_known_is_not_let_in(token: str | None) -> None:
    async with in_process(PRINCIPALS, token=DESK) as bus:
        stranger = bus.connect(token=token)
        with pytest.raises(Unauthorised):
            await stranger.__aenter__()


@pytest.mark.parametrize(
    ("role", "name", "token", "is_let_in"),
    [
        ("node", "b", OTHER, True),
        ("node", "c", OTHER, False),
        ("node", "desk", DESK, False),
        ("node", "b", "", False),
        ("client", "b", OTHER, False),
        ("client", "", DESK, True),
    ],
    ids=["its name", "another name", "a client's token", "no token", "a node's token", "a client"],
)
def test_a_node_is_let_in_under_its_own_name_only(role: str, name: str, token: str, is_let_in: bool) -> None:
    said = io.StringIO()
    text = PRINCIPALS + principal("b", OTHER, "node = true")
    access = access_of(text, make_log("json", stream=said))
    hello = Hello(VERSION, role, name, token)  # type: ignore[arg-type]
    if is_let_in:
        assert access.admit(Caller.of(hello, "here")).rights.principal in ("b", "desk")
    else:
        with pytest.raises(Unauthorised):
            access.admit(Caller.of(hello, "here"))
        assert '"refused"' in said.getvalue()
        assert not token or token not in said.getvalue()


@on_loop
async def test_refusals_are_logged_with_the_principal_and_tokens_never() -> None:
    said = io.StringIO()
    node = Node(configured(PRINCIPALS), log=make_log("json", "debug", stream=said))
    await node.start()
    try:
        async with siftcast.connect(url_of(node), token=DESK, name="a client") as bus:
            for _ in range(100):
                with pytest.raises(Forbidden):
                    await bus.publish({"symbol": "SAP"})
            with pytest.raises(Unauthorised):
                await siftcast.connect(url_of(node), token=OTHER).__aenter__()
        await until(lambda: "client left" in said.getvalue())
    finally:
        await node.stop()
    lines = [line for line in said.getvalue().splitlines() if '"refused"' in line]
    about_desk = [line for line in lines if '"principal": "desk"' in line]
    assert 1 <= len(about_desk) <= 10, "a client that is refused again and again does not fill the log"
    assert len(lines) > len(about_desk), "the stranger was logged as well"
    for token in (DESK, AUDIT, OTHER):
        assert token not in said.getvalue()


def test_a_hello_does_not_show_its_token() -> None:
    assert DESK not in repr(Hello(VERSION, "client", "name", DESK))
    assert DESK not in str([Hello(VERSION, "client", "name", DESK)])


def test_a_token_is_not_sent_readable_to_another_machine() -> None:
    with pytest.raises(LiveError, match="siftcasts://"):
        siftcast.connect("siftcast://192.0.2.1:7007", token=DESK)


comparisons = st.builds(
    "{} {} {}".format, st.sampled_from("ab"), st.sampled_from(["<", "<=", "=", ">", ">="]), st.integers(0, 4)
)
filters = st.lists(comparisons, min_size=1, max_size=3).map(" AND ".join)
events = st.fixed_dictionaries({"a": st.integers(-1, 5), "b": st.integers(-1, 5)})


@given(filters, filters, st.lists(events, min_size=1, max_size=20))
def test_what_is_let_through_brings_nothing_from_outside_the_right(
    right: str, wanted: str, seen: list[dict[str, int]]
) -> None:
    rights = Rights("p", subscribe=Filter.parse(right))
    filter_ = Filter.parse(wanted)
    try:
        rights.check_subscribe(filter_)
    except Forbidden:
        pass
    else:
        assert all(Filter.parse(right).matches(event) for event in seen if filter_.matches(event))
    rights.check_subscribe(filter_ & Filter.parse(right))


@given(filters, events)
def test_what_may_be_published_is_what_matches(right: str, attributes: dict[str, int]) -> None:
    allowed = Filter.parse(right)
    try:
        Rights("p", publish=allowed).check_publish(Event(attributes))
    except Forbidden:
        assert not allowed.matches(attributes)
    else:
        assert allowed.matches(attributes)


def test_the_token_of_a_node_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "node.token").write_text(f"{OTHER}\n")
    file = parse_configuration('[node]\ntoken_file = "node.token"\n', str(tmp_path / "node.toml"))
    assert Principals(file).own_token == OTHER
    (tmp_path / "node.token").write_text("two words")
    with pytest.raises(ConfigurationError, match="does not hold one token"):
        Principals(file)
