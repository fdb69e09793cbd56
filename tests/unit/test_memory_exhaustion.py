"""No memory left: whom it ends, what is noted, when a node makes no block itself."""

import gc
import weakref

import pytest

from node.chain.block import ReceiptKind
from node.chain.messages import MemoryExhausted
from node.primitives.types import Address
from node.runtime.memory_exhaustion import (
    NOTE_FILE,
    Exhausted,
    NoMemory,
    fail,
    find_note,
    for_a_block,
    for_a_read,
    leave_note,
)
from pvm import HostMemoryExhausted

ACTOR = Address(bytes(range(20)))
LIMIT = 1 << 30
FIRE = Exhausted(12, "fire", f"0x{ACTOR.hex()}", "0x0102", LIMIT)


class Large:
    """Something of which there is a frame's worth."""


def taking(error, seen):
    """A function that holds something while it finds no memory."""

    def take():
        held = Large()
        seen.append(weakref.ref(held))
        raise error from MemoryError()

    return take


@pytest.mark.parametrize("error", [MemoryError(), HostMemoryExhausted()])
def test_a_read_is_refused_and_what_it_held_is_free(error):
    seen = []
    with pytest.raises(NoMemory):
        for_a_read(taking(error, seen))
    gc.disable()
    try:
        assert seen[0]() is None
    finally:
        gc.enable()
    assert for_a_read(lambda: 7) == 7


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError(), "the block at height 9"),
        (HostMemoryExhausted(), "the block at height 9"),
        (
            MemoryExhausted(12, ReceiptKind.FIRE, ACTOR, b"\1\2"),
            f"fire 0x0102 of actor 0x{ACTOR.hex()} at height 12",
        ),
        (
            MemoryExhausted(12, ReceiptKind.MAILBOX_MESSAGE, ACTOR, b"\1\2"),
            f"message 0x0102 of actor 0x{ACTOR.hex()} at height 12",
        ),
    ],
)
def test_of_a_block_is_told_what_it_executed(error, told):
    seen = []

    def end(found):
        assert seen[0]() is None, "there is memory again to say so"
        assert found.told() == told
        raise SystemExit

    with pytest.raises(SystemExit):
        for_a_block(taking(error, seen), 9, end)
    with pytest.raises(HostMemoryExhausted, match="height"):
        for_a_block(taking(error, seen), 9, fail)
    assert for_a_block(lambda: 7, 9, fail) == 7


def test_a_transaction_alone_is_gone_with_the_pool():
    kinds = {"transaction": False, "fire": True, "message": True, "agent": True}
    for kind, is_in_state in kinds.items():
        assert Exhausted(1, kind, "", "").is_in_state is is_in_state
    assert Exhausted(1, "block", "", "").is_in_state


def test_twice_at_one_height_holds_the_node(tmp_path):
    assert find_note(tmp_path, 11, LIMIT) is None
    assert leave_note(tmp_path, FIRE).times == 1
    assert find_note(tmp_path, 11, LIMIT) is None, "once may be bad luck"
    assert leave_note(tmp_path, FIRE).times == 2
    held = find_note(tmp_path, 11, LIMIT)
    assert held is not None
    assert held.advice().startswith(
        f"there was no memory for fire 0x0102 of actor 0x{ACTOR.hex()} at height 12, "
        "2 times: this node makes no block by itself. Start it with a larger "
    )


def test_a_larger_limit_is_tried(tmp_path):
    leave_note(tmp_path, FIRE)
    leave_note(tmp_path, FIRE)
    assert find_note(tmp_path, 11, LIMIT - 1) is not None
    assert find_note(tmp_path, 11, LIMIT + 1) is None
    assert find_note(tmp_path, 11, None) is None


def test_below_the_height_the_note_is_kept_and_above_it_forgotten(tmp_path):
    leave_note(tmp_path, FIRE)
    leave_note(tmp_path, FIRE)
    assert find_note(tmp_path, 10, LIMIT) is None
    assert find_note(tmp_path, 11, LIMIT) is not None
    assert find_note(tmp_path, 12, LIMIT) is None
    assert not (tmp_path / NOTE_FILE).exists()


def test_another_height_begins_to_count_anew(tmp_path):
    leave_note(tmp_path, FIRE)
    other = Exhausted(13, "fire", FIRE.actor, FIRE.id)
    assert leave_note(tmp_path, other).times == 1


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'{"height":"x"}', b"\xff"])
def test_a_note_that_is_none_is_none(tmp_path, text):
    (tmp_path / NOTE_FILE).write_bytes(text)
    assert find_note(tmp_path, 11, LIMIT) is None
