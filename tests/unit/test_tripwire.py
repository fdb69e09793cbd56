"""The tripwire: what the virtual machine does for its own sake never trips it.

A hook cannot be taken out again, so each test is a process that stands watch over a
chain of its own. Each is also run without the suspension that it is about: then the
process ends.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from node.runtime.confinement.tripwire import EXIT_TRIPPED

ROOT = Path(__file__).parents[2]
DEADLINE_SECONDS = 60

BEGIN = """
from contextlib import nullcontext
from node.testing import Devnet
import pvm, pvm.codecache, pvm.lazy_exports, pvm.driver.interpreter
import pvm.driver.library_loader, pvm.tools.profile
from node.runtime.confinement.tripwire import stand_watch

CALLEE = "def add(payload):\\n    return 1\\n"
CALLER = '''
def call(payload):
    return pvm_host.call_actor(payload, "add", b"", 100_000)
'''
chain = Devnet().__enter__()
callee, caller = chain.deploy(CALLEE), chain.deploy(CALLER)
caller.call("call", callee.address)
"""
CALL = "caller.call('call', callee.address)\n"
WITHOUT = "import {0}; {0}.suspended = nullcontext\n"

LATE = """
from node.chain.host import ActorHost
take = ActorHost.call_actor
def late(*given):
    pvm.report_on
    return take(*given)
ActorHost.call_actor = late
"""

CASES = {
    "ordinary": ("", CALL, None),
    "a cold callee is compiled": (
        "chain.state.caches.code = pvm.CodeCache()\n",
        CALL,
        "pvm.codecache",
    ),
    "an evicted callee is unpacked": (
        "chain.state.caches.code = pvm.CodeCache(live_bytes_max=1)\n" + CALL,
        CALL,
        "pvm.codecache",
    ),
    "a name is imported when it is first used": (
        LATE,
        CALL,
        "pvm.lazy_exports",
    ),
    "a profile watches": (
        "",
        "with chain.profile() as found:\n    caller.call('call', callee.address)\n",
        None,
    ),
}


def run(program):
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("name", CASES)
def test_the_machines_own_work_does_not_trip_it(name):
    before, then, _ = CASES[name]
    code, said = run(BEGIN + before + "stand_watch()\n" + then)
    assert code == 0, said


@pytest.mark.parametrize(
    ("name", "module"),
    [(name, module) for name, (*_, module) in CASES.items() if module],
)
def test_it_would_without_the_suspension(name, module):
    before, then, _ = CASES[name]
    without = WITHOUT.format(module)
    code, said = run(BEGIN + before + without + "stand_watch()\n" + then)
    assert code == EXIT_TRIPPED, said
    assert "which no actor does: the node ends" in said


def test_a_profile_is_an_execution_of_a_tools_own():
    """Else what it traces, and that it does, would trip it."""
    before, then, _ = CASES["a profile watches"]
    program = (
        "import pvm.tools.profile\n"
        "take = pvm.tools.profile.execute\n"
        "def watched(code, message, host, meter, own):\n"
        "    import pvm.driver.execution_pool\n"
        "    idle = pvm.driver.execution_pool._IDLE\n"
        "    idle.append(own)\n"
        "    return take(code, message, host, meter)\n"
        "pvm.tools.profile.execute = watched\n"
    )
    code, _ = run(BEGIN + before + program + "stand_watch()\n" + then)
    assert code == EXIT_TRIPPED


def test_others_threads_do_what_they_like():
    begin = (
        "import threading, os\n"
        "from node.runtime.confinement.tripwire import stand_watch\n"
        "from pvm.alarm import NOW\n"
        "go, done = threading.Event(), threading.Event()\n"
        "def other():\n"
        "    go.wait(); os.listdir('.'); done.set()\n"
        "threading.Thread(target=other).start()\n"
        "stand_watch()\n"
        "NOW.thread = threading.get_ident()\n"
        "go.set(); done.wait()\n"
    )
    assert run(begin + "NOW.thread = 0\nos.listdir('.')\n")[0] == 0
    assert run(begin + "os.listdir('.')\n")[0] == EXIT_TRIPPED
