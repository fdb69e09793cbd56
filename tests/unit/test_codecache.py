"""`pvm.codecache`: a source is compiled once, and what is kept is bounded by bytes."""

import pytest

from node.testing import Devnet
from pvm import CodeCache, CompileError, compile_actor
from pvm.testing import World


def held(cache, entries):
    return [entry for entry in entries if cache.find(entry) is not None]


def test_a_source_is_compiled_once():
    cache = CodeCache()
    one = cache.get(b"1", b"x = 1")
    assert cache.get(b"1", b"x = 1") is one
    assert cache.find(b"1") is one
    assert cache.find(b"2") is None
    assert cache.compilations == 1


def test_it_compiles_no_source_again_that_left_the_first_level():
    """More actors than are ready to run: each call would compile one, unpaid."""
    cache = CodeCache(live_bytes_max=0)
    for _ in range(3):
        for number in range(20):
            cache.get(bytes([number]), b"x = %d" % number)
    assert cache.compilations == 20
    assert len(cache) == 1


def test_what_was_packed_is_the_actor_that_was_compiled():
    source = b"""
NAMES = (b"a", "\xc3\xa9", 2 ** 200, None, True)
class Actor:
    def init(self):
        self.storage["n"] = {"k": [1]}
    def fail(self):
        return [{}[name] for name in NAMES]
def helper(x, *, y=1):
    return lambda: x + y
"""
    cache = CodeCache(live_bytes_max=0)
    cache.get(b"1", source)
    cache.get(b"2", b"x = 1")
    unpacked = cache.find(b"1")
    assert unpacked == compile_actor(source)
    results = []
    for code in (unpacked, compile_actor(source)):
        world = World()
        results.append(world.call(world.add(code), "fail"))
        world.worker.close()
    assert results[0] == results[1]
    assert results[0].outcome.failure.line == 7


def test_both_levels_are_bounded_by_bytes_and_forget_what_was_used_first():
    cache = CodeCache(live_bytes_max=2_500, kept_bytes_max=2_500)
    names = [bytes([number]) for number in range(20)]
    for name in names:
        cache.get(name, b"x = 1")
        cache.get(names[0], b"x = 1")
    assert len(cache) < 5
    assert held(cache, names)[0] == names[0]
    assert 1 < len(held(cache, names)) < 5


def test_refusals_are_not_remembered():
    cache = CodeCache()
    for _ in range(2):
        with pytest.raises(CompileError):
            cache.get(b"1", b"x = 1.5")
    assert len(cache) == 0
    assert cache.compilations == 2


def test_calls_compile_nothing_and_cost_the_same_whatever_is_held():
    """What a message costs must not depend on which actors were called before."""
    with Devnet() as chain:
        chain.state.caches.code = cache = CodeCache(live_bytes_max=0)
        actors = [
            chain.deploy(f"def run():\n    return {number}") for number in range(8)
        ]
        before = cache.compilations
        assert before == 8
        used = {actor.call("run").cycles_used for _ in range(3) for actor in actors}
        assert len(used) == 1
        assert cache.compilations == before
