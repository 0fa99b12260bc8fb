"""A node without a data folder is another one each time it starts; whoever called it before tells the protocol so."""

from pathlib import Path

import pytest

from siftcast.overlays.contract import ContactsFound, MessageReceived, PeerGone, PeerLost, SendMessage
from tests.live.asynchronous import on_loop, until
from tests.live.growing import Enter, growing, use_everybody


@pytest.fixture(autouse=True)
def everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    use_everybody(monkeypatch.setattr)


@on_loop
async def test_the_first_node_is_found_again_by_those_it_let_in_though_it_is_another_one_and_knows_nobody(
    tmp_path: Path,
) -> None:
    async with growing(tmp_path) as network:
        first = await network.start("a")
        await network.start("b", "a")
        await until(lambda: network.present("b") == ["a"])
        before = network.identity("a")
        address = first.address
        await first.stop()
        await until(lambda: network.protocol("b").of(PeerLost))
        await network.start("a", listen=address)
        now = network.identity("a")
        assert now != before
        await until(lambda: network.protocol("b").of(ContactsFound))
        assert network.protocol("b").of(ContactsFound) == [ContactsFound((now,))]
        assert network.protocol("b").of(PeerGone) == [PeerGone(before)]
        network.protocol("a").is_talkative = False
        network.nodes["b"].life.carrier.carry_out([SendMessage(Enter(), (now,))])
        await until(lambda: network.protocol("a").of(MessageReceived))
        book = network.nodes["b"].life.peers.name_of
        assert book(now) == book(before) == "a"
        assert network.logged("b").count("peer is another node now") == 1
