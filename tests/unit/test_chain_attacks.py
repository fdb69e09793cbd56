"""Attacks on the chain through host calls: work that was not paid for."""

import json
from functools import partial
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from node.chain.globals import load_governed
from node.chain.host_arguments import expect_text
from node.chain.timers import host_calls, timer
from node.chain.timers.globalbox import matching, watches
from node.chain.timers.timer import Timer
from node.state.journal import Journal
from node.state.memory import MemoryStore
from node.state.store import WriteSet
from node.testing import Devnet
from pvm import HostError, cbor, costs
from pvm.runtime.storage import storage_key


class Unencodable(str):
    """A text that must not be encoded."""

    __slots__ = ()

    def encode(self, *_):
        """Fail: the length was enough to refuse."""
        raise AssertionError


def test_a_long_text_is_refused_before_it_is_encoded():
    """A topic of two million characters cost 500 cycles and milliseconds (D16)."""
    with pytest.raises(HostError, match="at most 64 bytes"):
        expect_text("\u20ac" * 65, "topic", 64)
    with pytest.raises(HostError, match="at most 200 bytes"):
        storage_key(Unencodable("a" * 201))


TOO_LONG = """
def too_long(length=300):
    name = "a" * length
    return f'{{"_handler":"{name}","_payload":""}}'.encode()
"""


def test_a_refused_payload_is_parsed_once():
    """A loop over a refused payload parsed it for 200 cycles each time (CIP-5 §6.1)."""
    source = (
        TOO_LONG
        + """
def run():
    data = too_long()
    for i in range(50):
        try:
            pvm_host.schedule_timer(pvm_host.block_height() + 5, data)
        except pvm_host.HostError:
            pass

def nested():
    pvm_host.call_actor(pvm_host.self_address(), "run", b"", 100_000)
    run()
"""
    )
    with Devnet() as chain:
        actor = chain.deploy(source)
        with pytest.MonkeyPatch.context() as patch:
            parsed = []
            route = host_calls.route_payload
            patch.setattr(
                host_calls, "route_payload", lambda p: parsed.append(p) or route(p)
            )
            actor.call("nested", cycles_limit=300_000, cells_limit=5_000)
        assert len(parsed) == 1


def test_what_nests_is_not_parsed():
    """64 KB of nested JSON took milliseconds, refused then for want of cells."""
    deep = b'{"_handler":"a","_payload":' + b"[" * 500_000 + b"]" * 500_000 + b"}"
    with pytest.MonkeyPatch.context() as patch:
        decoder = json.JSONDecoder()
        read = []

        class Reading(json.JSONDecoder):
            def raw_decode(self, text, place=0):
                found = decoder.raw_decode(text, place)
                read.append(found[1] - place)
                return found

        patch.setattr(timer, "_DECODER", Reading())
        assert timer.route_payload(deep) == ("", deep)
    assert sum(read) < 50


def test_a_refused_payload_costs_no_cells():
    """D16: "charge their base first, then validate, then charge for size"."""
    source = (
        TOO_LONG
        + """
def routed(payload):
    try:
        data = too_long(pvm_host.cbor_decode(payload))
        pvm_host.schedule_timer(pvm_host.block_height() + 5, data)
    except pvm_host.HostError as error:
        return str(error)
"""
    )
    with Devnet() as chain:
        actor = chain.deploy(source)
        short, long = (
            actor.call("routed", cbor.encode(length), cells_limit=1_000)
            for length in (300, 3_000)
        )
        assert b"_handler has at most" in short.value
        assert long.value == short.value  # nor is it refused for want of cells
        assert long.cells_used == short.cells_used


def test_a_scan_pays_for_each_key_that_the_block_has_removed():
    """Scans over 3,900 removed keys kept a node busy for two minutes a block."""
    source = """
def scan():
    before = pvm_host.gas_left()
    found = pvm_host.state_scan_prefix(b"", 1)
    return [before - pvm_host.gas_left(), len(found)]

def fill():
    for i in range(60):
        pvm_host.set_state(bytes([i]), b"x")

def remove():
    for i in range(50):
        pvm_host.delete_state(bytes([i]))
    return scan()

def remove_all():
    for i in range(60):
        pvm_host.delete_state(bytes([i]))
    return scan()
"""
    with Devnet() as chain:
        actor = chain.deploy(source)
        actor.call("fill")
        (plain, found), (dear, dear_found), (dearest, none) = (
            cbor.decode(actor.call(name).value)
            for name in ("scan", "remove", "remove_all")
        )
    assert (found, dear_found, none) == (1, 1, 0)
    assert dear - plain == 50 * costs.SCAN_STATE_PER_REMOVED
    entry = costs.SCAN_STATE_PER_ENTRY
    assert dearest - plain == 60 * costs.SCAN_STATE_PER_REMOVED - entry


def test_a_scan_looks_no_further_than_its_limit():
    """One that gave the first of 3,900 written keys listed them all before."""
    journal = Journal(MemoryStore().snapshot())
    for number in range(100):
        journal.put(bytes([number]), b"x")
    journal.delete(b"\x00")
    scan = journal.scan(b"", b"\xff")
    assert [next(scan), next(scan)] == [(b"\x00", None), (b"\x01", b"x")]
    assert list(scan) == list(journal.range(b"\x02", b"\xff"))


class Counting(MemoryStore):
    """A store whose snapshots count how often they are asked for a range."""

    def __init__(self, pairs):
        super().__init__()
        self.commit(WriteSet(pairs))
        self.asked = 0

    def snapshot(self):
        """Frozen, and counting."""
        frozen = super().snapshot()
        return SimpleNamespace(get=frozen.get, range=partial(self._range, frozen))

    def _range(self, frozen, start, stop):
        self.asked += 1
        return frozen.range(start, stop)


def test_a_scan_that_is_repeated_steps_over_nothing_again():
    """120,000 keys that LevelDB had removed cost a scan of 100 cycles 11 ms."""
    store = Counting({bytes([number]): b"x" for number in range(3)})
    journal = Journal(store.snapshot())
    for _ in range(3):
        assert next(journal.scan(b"\x00", b"\xff")) == (b"\x00", b"x")
    assert store.asked == 1
    for _ in range(3):
        assert len(list(journal.scan(b"\x00", b"\xff"))) == 3
    assert store.asked == 2
    journal.put(b"\x01", b"y")
    journal.delete(b"\x02")
    assert list(journal.scan(b"\x00", b"\xff")) == [
        (b"\x00", b"x"),
        (b"\x01", b"y"),
        (b"\x02", None),
    ]
    assert store.asked == 2
    assert list(journal.scan(b"\x03", b"\xff")) == []


CHANGES = """
def schedule():
    pvm_host.schedule_timer(pvm_host.block_height() + 50, b"x" * 100_000)

def change(name):
    timer = pvm_host.list_timers()[0]
    for n in range(100):
        if name == b"extend":
            pvm_host.extend_timer(timer, 1_000 + n)
        else:
            pvm_host.update_timer(timer, bid_fp=n)

def change_and_cancel():
    change(b"extend")
    change(b"update")
    pvm_host.cancel_timer(pvm_host.list_timers()[0])
"""


@pytest.mark.parametrize("call", ["extend", "update"])
def test_a_timer_that_is_changed_many_times_is_written_once(call):
    """1,500 changes of a payload of 1 MB kept 1.4 GB, for 330,000 cycles in all."""
    with Devnet(activations=[{"height": 0, "rules": "globalbox"}]) as chain:
        actor = chain.deploy(CHANGES, value="10 CBY")
        actor.call("schedule", cells_limit=200_000)
        with pytest.MonkeyPatch.context() as patch:
            written = []
            encode = Timer.encode
            patch.setattr(Timer, "encode", lambda t: written.append(t) or encode(t))
            limits = {"cycles_limit": 200_000, "cells_limit": 5_000}
            actor.call("change", call.encode(), **limits)  # so nothing is estimated
        assert len(written) == 1
        (changed,) = actor.timers
        assert (changed.expires_at, changed.bid_fp) == (
            (1_099, 0) if call == "extend" else (written[0].expires_at, 99)
        )


@pytest.mark.parametrize("kind", ["height", "watch"])
def test_a_timer_that_is_changed_and_cancelled_is_gone(kind):
    """A watch lies at its expiry, so what was extended lies elsewhere (D51)."""
    source = (
        CHANGES
        + """
def watch():
    pvm_host.set_state_watch(pvm_host.self_address(), [b"k"], b"")
"""
    )
    with Devnet(activations=[{"height": 0, "rules": "globalbox"}]) as chain:
        actor = chain.deploy(source, value="10 CBY")
        actor.call("watch" if kind == "watch" else "schedule", cells_limit=200_000)
        actor.call("change_and_cancel", cycles_limit=500_000)
        assert actor.timers == []
        actor.call("schedule", cells_limit=200_000)
        assert len(actor.timers) == 1


def test_an_extended_watch_is_not_counted_anew():
    """For 200 cycles each of its keys left its index and entered it: 10 µs a key."""
    source = """
def watch():
    pvm_host.set_state_watch(pvm_host.self_address(), [b"k", b"l"], b"")

def extend():
    pvm_host.extend_timer(pvm_host.list_timers()[0], 9)

def write():
    pvm_host.set_state(b"k1", b"")
"""
    with Devnet(activations=[{"height": 0, "rules": "globalbox"}]) as chain:
        actor = chain.deploy(source, value="10 CBY")
        actor.call("watch")
        with pytest.MonkeyPatch.context() as patch:
            for name in ("add", "forget"):
                patch.setattr(watches, name, None)
            actor.call("extend")
        assert [one.expires_at for one in actor.timers] == [9]
        actor.call("write")
        assert len(chain.last.receipts) == 2  # it is found where it lies now
        chain.mine_until(10)
        assert actor.timers == []


def test_the_changed_keys_of_a_block_are_listed_once_for_all_hits():
    """Each hit listed all of them again: a thousand times twelve thousand keys."""
    source = """
def watch():
    for n in range(5):
        pvm_host.set_state_watch(pvm_host.self_address(), [b"k"], b"")

def write():
    pvm_host.set_state(b"k1", b"")
    pvm_host.set_state(b"k2", b"")
"""
    with Devnet(activations=[{"height": 0, "rules": "globalbox"}]) as chain:
        actor = chain.deploy(source, value="10 CBY")
        actor.call("watch")
        with pytest.MonkeyPatch.context() as patch:
            listed = []
            find = matching.matched_keys
            patch.setattr(
                matching,
                "matched_keys",
                lambda timer, changed: listed.append(changed) or find(timer, changed),
            )
            actor.call("write")
    assert len(listed) == 5
    assert len({id(changed) for changed in listed}) == 1


ESCAPE = """
class A:
    names = func = system = 0
    def m(self):
        return super().__repr__

def run(payload):
    f = A().m()
    look = f.args[0].names["_getattr"]
    os = look(f.func, "__globals__")["__builtins__"]["__import__"]("os")
    return os.system("exit 7")
"""


def test_a_method_of_the_class_above_shows_nothing_of_the_machine():
    """Thirteen lines ran shell commands as the node's user, in any block."""
    with Devnet() as chain:
        receipt = chain.deploy(ESCAPE).call("run", b"", expect_failure=True)
    assert receipt.failure.kind == "AttributeError"
    assert receipt.failure.line == 9


def test_a_method_of_the_class_above_is_no_way_to_the_meter():
    source = ESCAPE.replace("look =", "f.args[0].charge(-50_000)\n    look =")
    source = source.replace("system = 0", "system = charge = 0")
    with Devnet() as chain:
        receipt = chain.deploy(source).call("run", b"", expect_failure=True)
    assert receipt.failure.kind == "AttributeError"


class Activations:
    """Counts how many of them are looked at; nobody can walk through all."""

    __slots__ = ("_items", "looked_at")
    __iter__ = None

    def __init__(self, items):
        self._items, self.looked_at = items, 0

    def __len__(self):
        """How many there are."""
        return len(self._items)

    def __getitem__(self, index):
        """One item."""
        self.looked_at += 1
        return self._items[index]


def test_activations_to_come_cost_a_block_next_to_nothing():
    """Each block walked through all that governance had scheduled, whatever heights."""
    to_come = [(10**9 + n, "auction") for n in range(100_000)]
    activations = Activations([(0, "fifo"), (3, "bidding"), (9, "bidding"), *to_come])
    with Devnet() as chain:
        governed = load_governed(chain.state.snapshot, chain.params)
    governed = replace(governed, activations=activations)
    names = [governed.rules_at(height) for height in (0, 2, 3, 50, 10**9)]
    assert names == ["fifo", "fifo", "bidding", "bidding", "auction"]
    assert [governed.in_force_since(height) for height in (2, 8, 50)] == [0, 3, 3]
    assert activations.looked_at < 200
