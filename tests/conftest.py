"""Hypothesis profiles: `HYPOTHESIS_PROFILE` chooses one, `dev` is the default.

No profile has a deadline: a loaded machine is no bug.
"""

import os
import signal
import sys

from hypothesis import settings

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci", max_examples=500, deadline=None, derandomize=True, print_blob=True
)
settings.register_profile("nightly", max_examples=10_000, deadline=None)
# Nodes of tests run side by side: none takes the port of another unless it is asked to.
os.environ.setdefault("COWBOY_DEVNET_HTTP_LISTEN", "off")
# A shell has what it starts in the background ignore SIGINT, and so would all processes
# that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_sessionfinish():
    """Count what a worker ran, even if a test made a `Coverage` of its own.

    coverage.py takes such a process for one that measures itself, and would not save
    what it measured of it.
    """
    startup = getattr(sys.modules.get("coverage"), "process_startup", None)
    measured = getattr(startup, "coverage", None)
    if measured is not None:
        measured._auto_save = True
