"""`pytest --devnet-console`: a prompt on the chain of a test that failed.

It takes pytest's place at the terminal as its `--pdb` does: what is captured is put
aside meanwhile, and the run goes on when the prompt is left.
"""

import sys
from collections.abc import Mapping

import pytest

from node.client._sync.actor import Chain
from node.testing.console.prompt import Prompt

__all__ = ["prompt_on", "refuse_workers"]


def refuse_workers(config: pytest.Config) -> None:
    """Workers have no terminal.

    Raises:
        pytest.UsageError: the run has some.
    """
    if hasattr(config, "workerinput") or config.getoption("numprocesses", None):
        raise pytest.UsageError(
            "--devnet-console needs the terminal, which workers of pytest-xdist do not "
            "have: leave out -n, or the option"
        )


def prompt_on(
    item: pytest.Item, chains: Mapping[str, Chain], error: BaseException
) -> None:
    """Ask for statements on the first chain of a failed test."""
    name, chain = next(iter(chains.items()))
    capture = item.config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)
    try:
        sys.stdout.write(
            f"\n>>> {name} of {item.nodeid}, which failed with {type(error).__name__}\n"
        )
        Prompt(chain, sys.stdin, sys.stdout, sys.stderr).run()
    except Exception as refusal:  # noqa: BLE001 - the test's own failure matters more
        sys.stdout.write(f"this chain cannot be asked: {refusal}\n")
    finally:
        if capture is not None:
            capture.resume_global_capture()
