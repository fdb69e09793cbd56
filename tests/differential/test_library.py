"""The library against CPython's own modules: the same source gives the same value.

Each program has `run(data)`; `data` is drawn by Hypothesis, the answer is JSON.
"""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pvm.testing import World

NUMBERS = st.lists(st.integers(-20, 20), max_size=12)
WORDS = st.lists(st.text("abc", max_size=2), max_size=12)
PAIRS = st.tuples(NUMBERS, st.integers(0, 6))
BOUNDS = st.tuples(
    NUMBERS, st.integers(0, 8), st.none() | st.integers(0, 8), st.integers(1, 3)
)
CALLS = st.lists(st.tuples(st.integers(0, 15), st.integers(-3, 6)), max_size=30)

PROGRAMS = {
    "heapq": (
        NUMBERS,
        """
from heapq import heapify, heappush, heappop, heapreplace, heappushpop
from heapq import nlargest, nsmallest
def run(data):
    heap, seen = list(data), []
    heapify(heap)
    seen.append(list(heap))
    for one in data[:4]:
        heappush(heap, one)
        seen.append(list(heap))
        seen.append(heappushpop(heap, -one))
        seen.append(heapreplace(heap, one // 2))
    while heap:
        seen.append(heappop(heap))
        seen.append(list(heap))
    return [seen, nsmallest(3, data), nlargest(3, data, key=lambda n: n * n)]
""",
    ),
    "bisect": (
        PAIRS,
        """
from bisect import bisect, bisect_left, bisect_right, insort, insort_left
def run(data):
    items, x = sorted(data[0]), data[1]
    found = [bisect(items, x), bisect_left(items, x), bisect_right(items, x, 0, 3)
             if len(items) > 3 else 0, bisect_left(items, -x, key=lambda n: n)]
    insort(items, x)
    insort_left(items, x, key=lambda n: n)
    return [found, items]
""",
    ),
    "functools": (
        NUMBERS,
        """
from functools import cache, partial, reduce, wraps
def shout(function):
    @wraps(function)
    def call(*args, **named):
        return [function(*args, **named)]
    return call
@shout
def pair(a, b=2, *, c=3):
    return a, b, c
def run(data):
    calls = []
    @cache
    def square(n):
        calls.append(n)
        return n * n
    try:
        total = reduce(lambda a, b: 3 * a + b, data)
    except TypeError:
        total = "empty"
    made = partial(pair, 1, c=4)
    return [total, reduce(max, data, 5), made(7), made(b=8, c=9),
            [square(n) for n in data], len(calls) == len(set(data))]
""",
    ),
    "itertools of numbers": (
        BOUNDS,
        """
import itertools
from itertools import accumulate, chain, compress, count, cycle, dropwhile
from itertools import filterfalse, groupby, islice, pairwise, repeat, starmap
from itertools import takewhile, zip_longest
def run(data):
    items, start, stop, step = data
    return [
        list(accumulate(items)), list(accumulate(items, max, initial=3)),
        list(chain(items, items[:2], [])), list(compress(items, [1, 0, 1, 1])),
        list(islice(count(start, step), 5)), list(islice(cycle(items), 7)),
        list(dropwhile(lambda n: n < 3, items)), list(filterfalse(None, items)),
        [[key, list(group)] for key, group in groupby(items, lambda n: n // 4)],
        list(islice(items, start)), list(islice(items, start, stop, step)),
        list(pairwise(items)), list(repeat(start, 3)),
        list(starmap(pow, [(2, start), (3, 2)])),
        list(takewhile(lambda n: n < 3, items)),
        list(zip_longest(items, items[:start], fillvalue=step)),
        list(itertools.chain()),
    ]
""",
    ),
    "itertools of choices": (
        st.tuples(st.lists(st.integers(0, 9), max_size=5), st.integers(0, 4)),
        """
from itertools import combinations, combinations_with_replacement
from itertools import permutations, product
def run(data):
    items, r = data
    return [
        list(combinations(items, r)), list(combinations_with_replacement(items, r)),
        list(permutations(items, r)), list(permutations(items[:3])),
        list(product(items, repeat=2)), list(product(items, "ab", [r])),
        list(product()),
    ]
""",
    ),
    "operator": (
        st.tuples(st.integers(-99, 99), st.integers(1, 9)),
        """
import operator
from operator import itemgetter
NAMES = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod,
         operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor,
         operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
         operator.pow)
def run(data):
    a, b = data
    row = [a, b, a]
    operator.setitem(row, 1, 7)
    operator.delitem(row, 0)
    return [[f(a, b) for f in NAMES], operator.neg(a), operator.pos(a),
            operator.inv(a), operator.invert(b), operator.not_(a - b),
            operator.truth(a), operator.concat([a], [b]), operator.contains([a], b),
            operator.countOf([a, b, a], a), operator.indexOf([b, a], b), row,
            operator.getitem(row, 0), itemgetter(1)([a, b]), itemgetter(1, 0)("xy")]
""",
    ),
    "string": (
        st.text("ab c.", max_size=9),
        """
import string
def run(data):
    return [string.ascii_letters, string.ascii_lowercase, string.ascii_uppercase,
            string.digits, string.hexdigits, string.octdigits, string.punctuation,
            string.printable, string.whitespace, string.capwords(data),
            string.capwords(data, ".")]
""",
    ),
    "Counter": (
        st.tuples(WORDS, WORDS),
        """
from collections import Counter
def run(data):
    one, other = Counter(data[0]), Counter(data[1])
    twice = one.copy()
    twice.update(data[0])
    twice.update({"a": 5}, b=1)
    less = Counter(one)
    less.subtract(other)
    del less["a"], less["nothing"]
    return [repr(one), one == other, one == one.copy(), list((one + other).items()),
            list((one - other).items()), one.most_common(), one.most_common(1),
            one.total(), list(one.elements()), list(twice.items()), one["nothing"],
            list(less.items()), len(one), sorted(one), "a" in one, bool(one)]
""",
    ),
    "defaultdict and OrderedDict": (
        st.tuples(WORDS, NUMBERS),
        """
from collections import OrderedDict, defaultdict
def run(data):
    found = defaultdict(list)
    sizes = defaultdict(int, {"z": 1}, y=2)
    for word, number in zip(data[0], data[1]):
        found[word].append(number)
        sizes[word] += number
    ordered = OrderedDict(zip(data[0], data[1]))
    before = len(repr(ordered)) > 13, str(OrderedDict())  # 3.12 prints another form
    other = OrderedDict(reversed(list(ordered.items())))
    same = [ordered == other, dict(ordered.items()) == ordered, ordered != other]
    for word in data[0][:2]:
        ordered.move_to_end(word, last=False) if word in ordered else None
    popped = [ordered.popitem(last=False)] if ordered else []
    try:
        defaultdict(None)["x"]
    except KeyError as error:
        popped.append(str(error))
    return [list(found.items()), list(sizes.items()), before, same, popped,
            list(ordered), ordered.get("a", 0), ordered.pop("b", 1),
            ordered.setdefault("c", 2), len(ordered), list(ordered.copy().values()),
            "a" in found, found.get("zz"), list(found.keys())]
""",
    ),
    "deque": (
        st.tuples(NUMBERS, st.none() | st.integers(0, 5), CALLS),
        """
from collections import deque
def change(q, which, n):
    if which == 0: q.append(n)
    elif which == 1: q.appendleft(n)
    elif which == 2: return q.pop()
    elif which == 3: return q.popleft()
    elif which == 4: q.extend([n, n + 1])
    elif which == 5: q.extendleft([n, n + 1])
    elif which == 6: q.rotate(n)
    elif which == 7: q.reverse()
    elif which == 8: q.insert(n, 7)
    elif which == 9: q.remove(n)
    elif which == 10: q[n] = 9
    elif which == 11: del q[n]
    elif which == 12: return q[n]
    elif which == 13: return [q.count(n), n in q, len(q), bool(q)]
    elif which == 14: return q.index(n)
    elif n == 0: q.clear()
def run(data):
    items, maxlen, calls = data
    q = deque(items, maxlen)
    seen = [repr(q), q == q.copy(), q == items]
    for which, n in calls:
        try:
            seen.append(change(q, which, n))
        except (IndexError, ValueError) as error:
            seen.append(type(error).__name__)
        seen.append(list(q))
    return [seen, list(q + q), q.maxlen]
""",
    ),
}  # fmt: skip

WRAPPED = (
    "\nimport json\ndef main(payload):\n    return json.dumps(run(json.loads(payload)))"
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_library_does_what_the_standard_library_does(name):
    strategy, source = PROGRAMS[name]
    namespace = {}
    exec(source, namespace)
    world = World()
    actor = world.add(source + WRAPPED)

    @settings(max_examples=20)
    @given(strategy)
    def check(data):
        payload = json.dumps(data)
        result = world.call(actor, "main", payload.encode())
        assert not result.error, result.error
        expected = json.loads(json.dumps(namespace["run"](json.loads(payload))))
        assert json.loads(result.value) == expected

    check()
