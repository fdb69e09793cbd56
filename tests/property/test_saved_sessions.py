"""Whatever is typed at a prompt, what `.save` writes is a test that passes."""

import io
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from node.config import genesis_folder
from node.testing import Devnet
from node.testing.console.prompt import Prompt

COUNTER = genesis_folder() / "actors" / "counter.py"
DEPLOYED = f'counter = chain.deploy(Path("{COUNTER}"))'

STATEMENTS = [
    DEPLOYED,
    "counter.increment()",
    "counter.reset(sender=accounts[1])",  # fails, in a block
    "counter.reset(sender=accounts[1], expect_failure=True)",
    "counter.storage",
    "counter.increment().changes",
    "chain.advance(blocks=5)",
    "chain.height",
    "chain.timers()",
    "for i in range(2):\n    counter.increment()\n",
    "with chain.block():\n    counter.increment()\n    counter.increment()\n",
    "if True:\n    chain.mine()\n    raise KeyError(1)\n",
    'def text(a):\n    """A text\n  of lines."""\n    return a.increment().result\n',
    "text(counter)",
    'chain.label(accounts[2], "treasury")',
    "chain.balance(treasury)",
    'chain.transfer(treasury, "5 CBY")',
    "chain.transfer(accounts[3], 10**30)",
    "_",
    "x = counter.increment()",
    "x",
    'x = """a\nb"""',
    "x == 1",
    "not x",
    "(1 +\n 2)",
    "{1, 2}",
    "object()",
    "del counter",
    "counter.increment(); counter.increment()",
    "here = chain.snapshot()",
    "here.revert()",
    "import time",
    "time.time()",
    "from collections import *",
    'Counter("aab")',
    "return",
    "lambda: 1",
    ".undo",
    ".undo",
    ".help",
]


@settings(max_examples=max(5, settings.default.max_examples // 2))
@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=12), st.booleans())
def test_a_saved_session_passes(typed, is_new):
    """What is said of `.save`: the session becomes a test that passes."""
    with TemporaryDirectory() as folder, chdir(folder), Devnet(strict=True) as chain:
        if not is_new:
            chain.deploy(COUNTER).increment()
        out, err = io.StringIO(), io.StringIO()
        prompt = Prompt(chain, io.StringIO(), out, err)
        prompt._is_terminal = True  # goes on after failures
        for text in (DEPLOYED, *typed):
            try:
                prompt._all([text])
            except SyntaxError:
                continue
        prompt._all([".save test_it.py"])
        file = Path(folder) / "test_it.py"
        assert file.exists() or "nothing was done yet" in err.getvalue()
        if file.exists():
            passes(file)


def passes(file):
    names = {"__name__": "test_it", "__file__": str(file)}
    exec(compile(file.read_text(), str(file), "exec"), names)
    test = names["test_it"]
    if not test.__code__.co_argcount:
        test()  # it brings its chain
        return
    with Devnet(strict=True) as chain:
        test(chain)
