"""How long compiling an actor takes, and a short message to one."""

import ast
import gc
import time
from collections.abc import Callable
from pathlib import Path

from benches import searching_sources
from node.chain.accounts import Account, save_account
from node.chain.block import Price, ReceiptKind
from node.chain.context import ExecutionScope
from node.chain.messages import Call, process_message
from node.chain.transition import begin_block
from node.primitives.types import ZERO_HASH, Address, Amount
from node.state import keys
from node.testing import Devnet
from pvm import Meter, compile_actor, keccak256, language

ACTORS = Path(__file__).resolve().parents[2] / "genesis" / "actors"
_JOINED = ("token", "escrow", "vesting", "counter")
LINES = 360
ROUNDS = 50
MESSAGES = 60
_LIMIT = 10_000_000
_ADDRESS = Address(b"\x0a" * 20)

_DENSE = "        a[b] = a[b] + c.d * (e - f) if g < h else i // j % k\n"
_DENSE_HEAD = """class C:
    def __init__(self):
        self.d = 1

def f(a, b, c, e, f, g, h, i, j, k):
    for _ in range(3):
"""

_ACTOR = """{head}
LIMIT = 1000

class Ledger:
    def deploy(self, payload):
        self.storage["total"] = 0

    def _amount(self, payload):
        amount = int(payload.decode())
        if amount < 1 or amount > LIMIT:
            raise ValueError("an amount is from 1 to 1000")
        return amount

    def add(self, payload):
        amount = self._amount(payload)
        total = self.storage.get("total", 0) + amount
        self.storage["total"] = total
        return str(total)

    def take(self, payload):
        amount = self._amount(payload)
        total = self.storage.get("total", 0)
        if amount > total:
            raise ValueError("not that much")
        self.storage["total"] = total - amount

    def total(self):
        return str(self.storage.get("total", 0))
"""

_ENUM = """from enum import Enum

class Kind(Enum):
    OPEN = 1
    CLOSED = 2
    GONE = 3
"""

PLAIN = "a 30-line actor"
MESSAGES_OF = {
    PLAIN: _ACTOR.format(head="import pvm_host"),
    "with an Enum of three": _ACTOR.format(head=_ENUM),
    "with an import of the SDK": _ACTOR.format(
        head="from cowboy_sdk import CowboyModel, runtime"
    ),
}


def ordinary() -> bytes:
    """Example actors in one, as many lines as are asked for at most."""
    imports: dict[str, None] = {}
    rest: list[str] = []
    for name in _JOINED:
        for line in (ACTORS / f"{name}.py").read_text("utf-8").splitlines():
            if line.startswith(("import ", "from ")):
                imports[line] = None
            else:
                rest.append(line.replace("(Actor)", ""))  # of which there may be one
    return "\n".join([*imports, *rest][:LINES]).encode() + b"\n"


def dense(bytes_max: int = language.SOURCE_BYTES_MAX, lines_max: int = 10_000) -> bytes:
    """Lines that are all operators."""
    head = _DENSE_HEAD.count("\n")
    lines = min((bytes_max - len(_DENSE_HEAD)) // len(_DENSE), lines_max - head)
    return (_DENSE_HEAD + _DENSE * lines).encode()


ORDINARY = "ordinary, example actors in one"
SOURCES: dict[str, Callable[[], bytes]] = {
    ORDINARY: ordinary,
    "dense, all operators": lambda: dense(lines_max=LINES),
    "dense, 64 KiB": dense,
    **searching_sources.WORST,
}


def compiling() -> dict[str, dict[str, float]]:
    """Source → lines, milliseconds, those of `ast.parse` and `compile` alone."""
    found = {}
    for name, make in SOURCES.items():
        source = make()
        rounds = 2 if len(source) > language.SOURCE_BYTES_MAX // 2 else ROUNDS
        spent = _least(lambda source=source: compile_actor(source), rounds)
        deployment = searching_sources.paid(source)
        found[name] = {
            "lines": source.count(b"\n"),
            "ms": spent * 1e3,
            "plain": _least(lambda source=source: _plain(source), rounds) * 1e3,
            "ns": spent * 1e9 / deployment,
        }
    return found


def _plain(source: bytes) -> object:
    return compile(ast.parse(source), "plain", "exec")


def _least(task: Callable[[], object], rounds: int) -> float:
    """Seconds of the thread, of the quickest round."""
    best = float("inf")
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        began = time.thread_time()
        task()
        best = min(best, time.thread_time() - began)
    gc.enable()
    return best


def messages() -> dict[str, dict[str, float]]:
    """Actor → microseconds of one message, through the host, without commit.

    Beside them those of the same module and method in plain Python, on a dictionary.
    """
    plain = _plain_message()
    with Devnet() as chain:
        return {
            name: {
                "us": chain._on_worker(  # noqa: SLF001 - the node's own thread
                    lambda source=source: _message(chain, source)
                ),
                "plain": plain,
            }
            for name, source in MESSAGES_OF.items()
        }


def _plain_message() -> float:
    code = compile(_ACTOR.format(head=""), "plain", "exec")

    def batch() -> None:
        for _ in range(MESSAGES):
            namespace: dict[str, type] = {}
            exec(code, namespace)  # noqa: S102 - the bench's own source
            ledger = namespace["Ledger"]()
            ledger.storage = {"total": 5}
            ledger.add(b"7")

    return _least(batch, ROUNDS) / MESSAGES * 1e6


def _message(chain: Devnet, source: str) -> float:
    execution = _execution(chain, source.encode())
    call = Call(_ADDRESS, _ADDRESS, ("add",), b"7")

    def send() -> None:
        meter = Meter(_LIMIT, _LIMIT)
        outcome = process_message(execution, call, meter)
        assert outcome.is_success, outcome.failure

    def batch() -> None:
        for _ in range(MESSAGES):
            send()

    return _least(batch, ROUNDS) / MESSAGES * 1e6


def _execution(chain: Devnet, source: bytes) -> ExecutionScope:
    """A message's surroundings in a block of a real chain, with the actor in it."""
    block = begin_block(chain.state)
    digest = keccak256(source)
    block.journal.put(keys.code(digest), source)
    account = Account(Amount(10**30), code_hash=digest, deployer=bytes(20))
    save_account(block.journal, _ADDRESS, account)
    block.code_cache.get(digest, source)
    nothing = Amount(0)
    return ExecutionScope(
        block=block,
        kind=ReceiptKind.TRANSACTION,
        origin=ZERO_HASH,
        payer=_ADDRESS,
        price=Price(nothing, nothing, nothing, nothing),
        signer=_ADDRESS,
    )
