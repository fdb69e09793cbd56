"""`pvm/library/`: what the other test cannot see (sandbox.md §3, host-api.md §4)."""

import hashlib
from pathlib import Path

import pytest

from pvm import cbor
from pvm.driver import execution_pool, library_loader
from pvm.runtime.freezing import SealedClass, SealedFunction
from pvm.testing import ENVIRONMENT, World, call_once

FOLDER = Path(library_loader.__file__).parents[1] / "library"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def run(source, **options):
    result = call_once(source, **options)
    assert not result.error, result.error
    return cbor.decode(result.value)


@pytest.mark.parametrize("name", NAMES)
def test_every_module_is_made_and_gives_nothing_that_could_be_changed(name):
    """sandbox-internals.md §2: a test tries to set an attribute on every object."""
    vm = execution_pool.new()
    vm.cycles.cell_contents = 10_000  # what a class is asked for is paid
    made = library_loader.module(vm, name)
    names = library_loader.library(name).names
    assert names.exports
    for one in names.exports:
        value = getattr(made, one)
        assert isinstance(value, SealedFunction | SealedClass | str | int)
        for target in (value, made, *members_of(value)):
            with pytest.raises(AttributeError):
                target.note = 1


def members_of(value):
    if isinstance(value, type):
        for name in vars(value):
            if not name.startswith("__"):
                yield getattr(value, name)


def test_random_is_reproducible_and_documented():
    """The stream: sha256(seed ‖ counter), bits from the front."""
    seed = hashlib.sha256(b"int:" + (5).to_bytes(1, "big")).digest()
    stream = b"".join(
        hashlib.sha256(seed + i.to_bytes(8, "big")).digest() for i in range(2)
    )
    source = """
from random import Random
def run():
    r = Random(5)
    return [r.randbytes(3), r.getrandbits(12), r.randbytes(32), r.getrandbits(0)]
"""
    first = int.from_bytes(stream[3:5], "big") >> 4
    assert run(source) == [stream[:3], first, stream[5:37], 0]


def test_random_keeps_its_ranges_and_hits_all_of_them():
    source = """
import random
def run():
    r = random.Random("seed")
    cards = list(range(10))
    r.shuffle(cards)
    drawn = r.sample(range(100), 20)
    return [
        sorted(set([r.randint(1, 6) for _ in range(100)])),
        sorted(set([r.randrange(10, 0, -3) for _ in range(60)])),
        sorted(set([r.choice("abc") for _ in range(40)])),
        sorted(cards), cards == list(range(10)), len(set(drawn)), max(drawn) < 100,
        len(random.randbytes(5)), random.randint(3, 3), random.choice([7]),
        random.getrandbits(1) < 2, random.randrange(1), random.sample([1], 1),
    ]
"""
    ordered = [list(range(10)), False, 20, True, 5, 3, 7, True, 0, [1]]
    expected = [[1, 2, 3, 4, 5, 6], [1, 4, 7, 10], ["a", "b", "c"], *ordered]
    assert run(source) == expected


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("Random(True)", "TypeError"), ("Random(None)", "TypeError"),
        ("Random(b'').randrange(0)", "ValueError"),
        ("Random(1).randrange(1, 2, 0)", "ValueError"),
        ("Random(1).getrandbits(4097)", "ValueError"),
        ("Random(1).randbytes(-1)", "ValueError"),
        ("Random(1).choice([])", "IndexError"),
        ("Random(1).sample([1], 2)", "ValueError"),
    ],
)  # fmt: skip
def test_random_refuses(call, kind):
    source = f"from random import Random\ndef run():\n    {call}"
    assert call_once(source).outcome.failure.kind == kind


def test_random_of_a_module_differs_from_call_to_call():
    """It draws from `pvm_host.randomness`, whose counter goes on (D39)."""
    source = "import random\ndef run():\n    return [random.randbytes(8) for _ in '12']"
    one, other = run(source)
    assert one != other
    assert run(source) == [one, other]


def test_time_is_that_of_the_block():
    source = "import time\ndef run():\n    return [time.time_ns(), time.time_ms()]"
    now = ENVIRONMENT.timestamp_ms
    assert run(source) == [now * 1_000_000, now]


def test_a_loop_of_a_library_halts_like_any_other():
    """sandbox-internals.md §3: metered and bounded without a line of its own."""
    for body in (
        "for x in itertools.count(): pass",
        "list(itertools.repeat(1))",
        "collections.deque(range(10**9))",
        "list(itertools.permutations(range(99)))",
        "heapq.nlargest(1, itertools.cycle([1]))",
    ):
        source = "import itertools, collections, heapq\ndef run():\n"
        for guard in ("{}", "try:\n        {}\n    except Exception:\n        pass"):
            result = call_once(source + "    " + guard.format(body), cycles=200_000)
            assert result.outcome.failure.kind in {"OutOfCycles", "OutOfMemory"}, body


def test_what_a_message_leaves_in_a_library_object_is_gone_in_the_next():
    """Rule: no execution leaves a trace for another."""
    source = """
from functools import cache
from collections import Counter
@cache
def next_one(n):
    return Counter([n])
def run():
    next_one(1).update([1])
    return [next_one(1)[1]]
"""
    world = World()
    actor = world.add(source)
    for _ in range(2):
        assert cbor.decode(world.call(actor, "run").value) == [2]


def test_a_library_object_as_text():
    source = """
from collections import OrderedDict, Counter, deque
from functools import partial
def run():
    return [str(Counter("aab")), f"{deque([1], 2)}", str(OrderedDict()), str(partial),
            str(partial(len)), type(Counter()).__name__]
"""
    assert run(source) == [
        "Counter({'a': 2, 'b': 1})", "deque([1], maxlen=2)", "OrderedDict()",
        "<function>", "<function>", "Counter",
    ]  # fmt: skip
