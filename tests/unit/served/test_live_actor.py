"""Actors of `cowboy-devnet dev` on a node: state kept, fresh, lost, and found again."""

import asyncio
import io

import pytest

from node.cli.loop.dev_loop import DevLoop
from node.cli.loop.live_actor import DeploymentTerms, LiveActor
from node.cli.loop.node_link import NodeLink
from node.cli.loop.suite import Suite
from node.cli.loop.telling import Teller
from node.client import Client, TransactionFailed
from node.client.channels import Endpoint
from node.client.inputs import FileSource
from node.primitives.crypto import keccak256
from pvm import report_on

KEEPING = """
import pvm_host

class Keeping:
    def deploy(self, payload):
        self.storage["kept"] = payload
        height = pvm_host.block_height() + 50
        pvm_host.schedule_timer(height, b'{"_handler": "sweep", "_payload": ""}')
    def sweep(self, payload):
        pass
"""
RENAMED = KEEPING.replace("def sweep", "def clean")
UPGRADING = (
    RENAMED
    + """
    def upgrade(self, payload):
        self.storage["upgraded"] = True
"""
)


def serve(run_node, use, **settings):
    async def main():
        async with run_node(**settings) as node:
            await asyncio.to_thread(use, node.url)

    asyncio.run(main())


@pytest.fixture
def save(tmp_path):
    path = tmp_path / "keeping.py"

    def save(actor, client, source):
        path.write_text(source)
        return actor.take(client, source.encode(), report_on(source.encode()))

    save.path = path
    return save


def test_a_save_keeps_what_the_actor_stored(run_node, save):
    def use(url):
        with Client(url) as client:
            actor = LiveActor(save.path, "heart", DeploymentTerms(b"yes", 5))
            assert not actor.is_deployed
            first = save(actor, client, KEEPING)
            assert first.is_new
            assert first.code_hash == keccak256(KEEPING.encode())
            assert client.labels[first.address] == "heart"
            assert client.balance(first.address) == 5
            second = save(actor, client, RENAMED)
            assert not second.is_new
            assert second.address == first.address
            assert client.actor(first.address).source == RENAMED
            assert client.storage(first.address) == {"kept": b"yes"}
            assert second.what == f"new code at 0x{first.address.hex()}, storage kept"
            due = client.timers()[0].height
            (line,) = second.lines
            waits = "1 timer waits for `sweep`, which is gone"
            assert line == f"{waits}: the next is due at height {due}"
            again = save(actor, client, RENAMED)
            assert again.what == f"at 0x{first.address.hex()}, with this code"
            third = save(actor, client, UPGRADING)
            assert third.lines == (
                "`upgrade` did not run: `cowboy-devnet upgrade` runs it",
            )
            assert "upgraded" not in client.storage(first.address)

    serve(run_node, use)


def test_timers_that_name_no_handler_wait_for_the_usual_two(run_node, save):
    """D12: `handle_timer`, and `on_timer` only where that is absent."""
    beating = KEEPING.replace(
        """b'{"_handler": "sweep", "_payload": ""}'""", "b''"
    ).replace("sweep", "handle_timer")
    other = beating.replace("def handle_timer", "def on_timer")

    def use(url):
        with Client(url) as client:
            actor = LiveActor(save.path, "heart", DeploymentTerms())
            save(actor, client, beating)
            due = client.timers()[0].height
            assert save(actor, client, other).lines == ()
            (line,) = save(actor, client, RENAMED).lines
            waits = "1 timer waits for `on_timer`, which is gone"
            assert line == f"{waits}: the next is due at height {due}"

    serve(run_node, use)


def test_without_development_the_owner_upgrades(run_node, save):
    def use(url):
        with Client(url) as client:
            actor = LiveActor(save.path, "heart", DeploymentTerms())
            first = save(actor, client, KEEPING)
            second = save(actor, client, UPGRADING)
            assert second.address == first.address
            assert client.storage(first.address) == {"kept": b"", "upgraded": True}

    serve(run_node, use, is_dev=False)


@pytest.mark.parametrize("is_dev", [True, False])
def test_what_was_checked_is_sent_though_the_file_was_saved_again(
    run_node, save, is_dev
):
    """A save in the midst of a save: it is the next one, and not part of this."""

    def use(url):
        with Client(url) as client:
            actor = LiveActor(save.path, "heart", DeploymentTerms())
            save.path.write_text("import os\n")
            for source in (KEEPING, UPGRADING):
                code = source.encode()
                taken = actor.take(client, code, report_on(code))
                assert client.actor(taken.address).source == source
                assert taken.code_hash == keccak256(code)
            failing = KEEPING.replace("= payload", "= [][1]").encode()
            with pytest.raises(TransactionFailed, match=r"keeping\.py"):
                client.deploy(FileSource(save.path, failing))

    serve(run_node, use, is_dev=is_dev)


def test_fresh_each_save_is_a_new_actor(run_node, save):
    def use(url):
        with Client(url) as client:
            actor = LiveActor(save.path, "heart", DeploymentTerms(is_fresh=True))
            first = save(actor, client, KEEPING)
            second = save(actor, client, RENAMED)
            assert second.is_new
            assert second.address != first.address
            assert second.difference.added == ("clean",)

    serve(run_node, use)


def test_an_actor_that_the_chain_no_longer_has_is_deployed_again(run_node, save):
    def use(url):
        with Client(url) as client:
            actor = LiveActor(save.path, "heart", DeploymentTerms())
            save(actor, client, KEEPING)
            client.api.reset()
            taken = save(actor, client, RENAMED)
            assert taken.is_new
            assert taken.what.startswith("the chain no longer has it; deployed at 0x")
            assert client.actor(taken.address).source == RENAMED

    serve(run_node, use)


def test_what_the_chain_refuses_leaves_the_actor_as_it_was(run_node, save):
    def use(url):
        with Client(url) as client:
            actor = LiveActor(save.path, "heart", DeploymentTerms())
            failing = KEEPING.replace("= payload", "= [][1]")
            with pytest.raises(TransactionFailed, match=r"keeping\.py"):
                save(actor, client, failing)
            assert not actor.is_deployed
            assert save(actor, client, KEEPING).is_new

    serve(run_node, use)


# --- turns of the loop ---------------------------------------------------------------


class Said:
    """What a loop says, line by line, and the time that it goes by."""

    is_json = False

    def __init__(self):
        self.lines = []
        self.now = 0.0

    def line(self, text):
        self.lines.append(text)

    def monotonic(self):
        self.now += 0.02
        return self.now

    def take(self):
        lines, self.lines = self.lines, []
        return lines


def turns(loop, said, count=9):
    for _ in range(count):
        loop.turn(said.monotonic(), said)
    return said.take()


def test_turns_of_the_loop_tell_of_saves_and_go_on_after_refusals(run_node, save):
    def use(url):
        said = Said()
        link = NodeLink(Teller(said), Endpoint(url))
        link.open()
        actor = LiveActor(save.path, "heart", DeploymentTerms())
        loop = DevLoop(link, [actor], Suite(None), Teller(said))
        assert turns(loop, said) == []
        save.path.write_text("import os\n")
        (line,) = turns(loop, said)
        assert line.startswith(f"heart is refused\n  {save.path}:1:0: ")
        save.path.write_text(KEEPING.replace("= payload", "= [][1]"))
        (line,) = turns(loop, said)
        assert line.startswith("heart is not deployed: IndexError")
        save.path.write_text(KEEPING)
        (line,) = turns(loop, said)
        assert line.startswith("heart: deployed at 0x")
        save.path.write_text("import os\n")
        (line,) = turns(loop, said)
        assert line.startswith("heart is refused; the old code stays\n")
        save.path.unlink()
        (line,) = turns(loop, said, 40)
        assert line == (
            f"{save.path} cannot be read: No such file or directory; the old code stays"
        )
        save.path.write_text(RENAMED)
        (line,) = turns(loop, said)
        assert line.splitlines()[1] == "  handlers: +clean -sweep"
        link.close()

    serve(run_node, use)


def test_a_node_that_goes_away_is_waited_for(run_node, save):
    said = Said()
    save.path.write_text(KEEPING)
    loops = []

    def begin(url):
        link = NodeLink(Teller(said), Endpoint(url))
        link.open()
        actor = LiveActor(save.path, "heart", DeploymentTerms())
        loops.append((DevLoop(link, [actor], Suite(None), Teller(said)), link))
        (line,) = turns(loops[0][0], said)
        assert line.startswith("heart: deployed at ")

    def wait():
        loop, link = loops[0]
        assert link.is_up
        assert turns(loop, said, 100) == ["the node went away: waiting for it"]
        assert not link.is_up

    def find(url):
        loop, link = loops[0]
        link._home = Endpoint(url)  # a port of its own; at home it has the same
        back, deployed = turns(loop, said, 200)
        assert back == f"the node is back at {url}, at height 0"
        assert deployed.startswith("heart: the chain no longer has it; deployed at 0x")
        link.close()

    async def main():
        async with run_node() as node:
            await asyncio.to_thread(begin, node.url)
        await asyncio.to_thread(wait)
        async with run_node() as node:
            await asyncio.to_thread(find, node.url)

    asyncio.run(main())


def test_programs_are_told_in_json():
    class Lines:
        is_json = True
        out = io.StringIO()

        def line(self, text):
            self.out.write(text)

    Teller(Lines()).say("deployed", "a\nb", milliseconds=5)
    assert Lines.out.getvalue() == (
        '{"event": "deployed", "text": "a\\nb", "milliseconds": 5}'
    )
