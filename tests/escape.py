"""A node out of whose sandbox there is a way: for tests of what stands behind it.

`python -m tests.escape FOLDER SECRET PORT start …` is `cowboy-devnet start …` in whose
actors `hex` of a text does what the text says:

* `quiet NAME` puts the tripwire out, as whoever is out can, and tries an attack;
* `loud NAME` does something of which Python tells;
* `take` takes memory that nobody pays until there is none.

Nothing of it is in the node: the hook is here.
"""

import ctypes
import gc
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pvm.driver.execution_pool
from node.cli import main
from pvm.alarm import NOW
from pvm.runtime.builtins import PRICED
from tests.attackers import attacks, given_by, outcome

LOUD: dict[str, Callable[[], object]] = {
    "open": lambda: Path("/etc/passwd").read_text(),
    "compile": lambda: compile("1", "", "eval"),
    "exec": lambda: exec("pass"),
    "eval": lambda: eval("1"),
    "os.system": lambda: os.system("true"),
    "subprocess": lambda: subprocess.run(["true"], check=False),
    "os.listdir": lambda: os.listdir("."),  # noqa: PTH208
    "os.kill": lambda: os.kill(os.getpid(), 0),
    "socket": socket.socket,
    "ctypes": lambda: ctypes.CDLL(None),
    "import": lambda: __import__("antigravity"),
    "gc.get_objects": gc.get_objects,
}
"""What the tripwire hears."""

QUIET: dict[str, Callable[[], object]] = {
    "globals": lambda: given_by.__globals__,
    "loaded module": lambda: __import__("os"),
    "os.getpid": os.getpid,
    "os.environ": lambda: dict(os.environ),
    "subclasses": object.__subclasses__,
}
"""What it does not hear."""

PART_BYTES = 8 << 20


def take_memory() -> NoReturn:
    held = []
    while True:
        held.append(bytes(PART_BYTES))


def begin(words: list[str]) -> None:
    table = attacks(given_by(words))
    original = PRICED["hex"]

    def escape(vm: object, value: object) -> object:
        if not isinstance(value, str):
            return original(vm, value)
        what, _, name = value.partition(" ")
        match what:
            case "quiet":
                NOW.thread = 0
                return outcome(table[name][1])
            case "loud":
                return repr(LOUD[name]())
            case "unheard":
                return str(bool(QUIET[name]()))
            case _:
                return take_memory()

    pvm.driver.execution_pool.PRICED = {**PRICED, "hex": escape}


if __name__ == "__main__":
    begin(sys.argv[1:4])
    sys.argv[1:4] = []
    main()
