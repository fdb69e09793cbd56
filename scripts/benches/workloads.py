"""Programs whose metered speed is compared with plain Python's (docs/performance.md).

Each runs as an actor, in plain `exec` and under RestrictedPython's own guards alike:
they use what all three allow, and nothing of a host.
"""

from collections.abc import Mapping

from msgspec import Struct


class Workload(Struct, frozen=True):
    """Source with a function `run`, and the ratio to plain Python to reach."""

    target: float
    source: str


WORKLOADS: Mapping[str, Workload] = {
    "integer loop": Workload(
        3.2,
        """
def run():
    total = 0
    for i in range(20000):
        total = (total * 31 + i) % 1000003
    return total
""",
    ),
    "while loop": Workload(
        2.6,
        """
def run():
    total = 0
    i = 0
    n = 20000
    while i < n:
        if i % 3 == 0:
            total = total + i
        else:
            total = total - 1
        i = i + 1
    return total
""",
    ),
    "recursive calls": Workload(
        3.2,
        """
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)

def run():
    return fib(18)
""",
    ),
    "dict-heavy": Workload(
        2.4,
        """
def run():
    counts = {}
    for i in range(6000):
        k = "k" + str(i % 97)
        counts[k] = counts.get(k, 0) + i
    total = 0
    for k in counts:
        total = total + counts[k]
    return total
""",
    ),
    "strings": Workload(
        2.0,
        """
def run():
    parts = []
    for i in range(6000):
        parts.append("item-" + str(i))
    text = ",".join(parts)
    found = 0
    for part in text.split(","):
        if part.startswith("item-9"):
            found = found + 1
    return found + len(text)
""",
    ),
    "comprehension and sort": Workload(
        2.0,
        """
def run():
    numbers = [(i * 7919) % 10007 for i in range(12000)]
    even = sorted([n for n in numbers if n % 2 == 0])
    return len(even) + even[10]
""",
    ),
    "attributes and methods": Workload(
        2.2,
        """
class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def step(self, by):
        self.x = self.x + by
        self.y = self.y - 1
        return self.x

def run():
    point = Point(0, 0)
    total = 0
    for i in range(9000):
        total = total + point.step(i)
    return total + point.y
""",
    ),
    "token transfer handler": Workload(
        1.8,
        """
class State:
    def __init__(self):
        self.values = {"bal:alice": 10 ** 18, "bal:bob": 5}

    def fetch(self, name, default):
        return self.values.get(name, default)

    def store(self, name, value):
        self.values[name] = value

class Token:
    def __init__(self, state):
        self.state = state

    def transfer(self, sender, to, amount):
        if amount <= 0:
            raise ValueError("amount")
        source = self.state.fetch("bal:" + sender, 0)
        if source < amount:
            raise ValueError("balance")
        target = self.state.fetch("bal:" + to, 0)
        self.state.store("bal:" + sender, source - amount)
        self.state.store("bal:" + to, target + amount)
        return True

def handler(state, payload):
    token = Token(state)
    return token.transfer(payload["from"], payload["to"], payload["amount"])

def run():
    done = 0
    state = State()
    for i in range(1000):
        if handler(state, {"from": "alice", "to": "bob", "amount": 1}):
            done = done + 1
    return done
""",
    ),
}
