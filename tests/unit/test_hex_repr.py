"""What is printed at a prompt or in a test's report is read by people."""

import pytest

from node.chain.transaction import ExecuteActor, Transfer
from node.config import genesis_folder
from node.primitives.hex_repr import foreign
from node.testing import Devnet

HEARTBEAT = (genesis_folder() / "actors" / "heartbeat.py").read_text()


@pytest.fixture
def chain():
    with Devnet() as chain:
        chain.clock = chain.deploy(HEARTBEAT, value="5 CBY")
        yield chain


def test_hashes_addresses_and_kinds_read_as_in_every_sentence(chain):
    (timer,), receipt = chain.timers(), chain.receipts()[0]
    for text in (f"timer_id=0x{timer.timer_id.hex()}", 'payload=b""', "height=11"):
        assert text in repr(timer)
    assert repr(receipt).startswith("Receipt(kind=TRANSACTION, index=0, id=0x")
    assert f"scheduled=[0x{timer.timer_id.hex()}]" in repr(receipt)
    assert f"parent_hash=0x{chain.head.parent_hash.hex()}" in repr(chain.head)
    assert f"emitter=None, topic={chain.events()[0].topic!r}" in repr(chain.events())
    (_, decision) = chain.decisions(timer.timer_id)[0]
    assert "decision=SCHEDULED" in repr(decision)
    assert repr(Transfer(bytes(20), 5)) == f"Transfer(to=0x{'00' * 20}, amount=5)"


def test_a_long_payload_is_cut(chain):
    call = ExecuteActor(chain.clock.address, "f", b"x" * 1_000_000, 0)
    assert f"payload=0x{'78' * 128}… (1,000,000 bytes), " in repr(call)


def test_a_block_is_a_line(chain):
    assert repr(chain.block(1)) == "<block at height 1: 1 receipts, 1 events>"
    chain.advance(blocks=5)
    assert repr(chain.last) == "<blocks 2 to 6, empty>"


# --- what strangers say -----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, Ä, 漢 and 🐎", "plain, Ä, 漢 and 🐎"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("\x9b31m\x7f\x00", "\\x9b31m\\x7f\\x00"),
        ("a\u202eb\u2066c\u200f", "a\\u202eb\\u2066c\\u200f"),
        ("0\u200b1\ufeff2\u2060", "0\\u200b1\\ufeff2\\u2060"),
        ("\u3164\ufe0f\u2028", "\\u3164\\ufe0f\\u2028"),
        ("\U000e0041\ud800\ue000", "\\U000e0041\\ud800\\ue000"),
        ("one\ntwo\r\t", "one\\x0atwo\\x0d\\x09"),
    ],
)
def test_what_cannot_be_seen_is_shown_by_number(text, shown):
    assert foreign(text) == shown
    assert foreign(shown) == shown


def test_lines_are_kept_where_there_may_be_several():
    assert foreign("a\n\tb\r\n", is_multiline=True) == "a\n\tb\\x0d\n"
