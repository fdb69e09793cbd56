"""`make demo`: a node, an actor deployed over gRPC, its timers firing, money counted.

Everything is real: the node is a process of its own with its state in LevelDB, and all
that is shown here was asked over its API. It lives in a temporary folder on free ports;
folder and process are gone when this ends, however it ends. Exit codes: 0 done, 1 the
node failed or the money does not add up, 130 interrupted.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from msgspec import Struct

from node.chain.transaction import DeployActor
from node.client import Api, NodeError, NodeUnreachable, Wallet
from node.config import genesis_folder
from node.primitives.types import Amount
from node.rpc.v1 import types_pb2

ROOT = Path(__file__).resolve().parents[1]
ACTOR_FILE = genesis_folder() / "actors" / "heartbeat.py"
FUNDS = Amount(5 * 10**9)
BLOCKS_DEFAULT = 50
START_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 10.0
POLL_SECONDS = 0.01

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130

FIRE_COLUMNS = "   {:>6}  {:>8}  {:>8}  {:>18}  {}"
TIMER_COLUMNS = "   {:<66}  {:>6}  {:>7}  {}"


class DemoFailed(Exception):  # noqa: N818 - a condition with a sentence, not a defect
    """The demo cannot go on; the message says why."""


class Node(Struct, frozen=True):
    """A node that serves."""

    grpc: str
    chain: str
    folder: str
    seconds: float
    """From the start of its process until it could be asked."""


def say(text: str = "") -> None:
    """Print a line now, also into a pipe."""
    print(text, flush=True)


def cby(base_units: str | int) -> str:
    """An amount in CBY, with all nine decimals so that columns align."""
    whole, fraction = divmod(int(base_units), 10**9)
    return f"{whole:,}.{fraction:09} CBY"


@contextmanager
def running_node(folder: Path) -> Iterator[Node]:
    """A node in `folder` that is stopped at the end.

    It is a process group of its own: Ctrl-C reaches this program, which stops it.
    """
    ready_file, log_file = folder / "ready.json", folder / "node.log"
    command = [
        *(sys.executable, "-m", "node", "start", "--mining", "instant"),
        *("--data-dir", str(folder / "data"), "--grpc-listen", "127.0.0.1:0"),
        *("--http-listen", "off"),
        *("--ready-file", str(ready_file), "--log-format", "json"),
    ]
    with log_file.open("wb") as log:
        begun = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
        try:
            document = wait_until_ready(process, ready_file, log_file)
            yield Node(
                grpc=str(document["grpc"]),
                chain=f"{document['chain']}, id {document['chain_id']}",
                folder=str(document["data_dir"]),
                seconds=time.monotonic() - begun,
            )
        finally:
            stop(process)


def clean_environment() -> dict[str, str]:
    """Without variables that would choose flags of the node."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COWBOY_DEVNET_")
    }


def wait_until_ready(
    process: subprocess.Popen[bytes], ready_file: Path, log_file: Path
) -> dict[str, object]:
    """What the ready file says once it is there."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while not ready_file.exists():
        if process.poll() is not None:
            raise DemoFailed(f"the node ended at once:\n{log_file.read_text()}")
        if time.monotonic() > deadline:
            raise DemoFailed(f"the node is not ready after {START_SECONDS_MAX:g} s")
        time.sleep(POLL_SECONDS)
    document = json.loads(ready_file.read_text())
    assert isinstance(document, dict)
    return document


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the node; what it was told it has on disk already."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def deploy(client: Api) -> types_pb2.Receipt:
    """The heartbeat, deployed by development account 0; its receipt."""
    wallet = Wallet.dev(0)
    instruction = DeployActor(bytes(32), ACTOR_FILE.read_bytes(), b"", FUNDS)
    receipt = client.execute(wallet, instruction).receipt
    if receipt.status != types_pb2.EXECUTION_STATUS_SUCCEEDED:
        raise DemoFailed(f"the deployment failed: {receipt.error.message}")
    say(f"   deployer  0x{wallet.address.hex()}")
    say(f"   actor     0x{receipt.actor.hex()}, with {cby(FUNDS)}")
    say(f"   height    {receipt.height}")
    say(f"   used      {receipt.cycles_used:,} cycles, {receipt.cells_used:,} cells")
    say(f"   fee       {cby(receipt.fee)}, paid by the deployer")
    return receipt


def mine(client: Api, actor: bytes, blocks: int) -> list[types_pb2.Receipt]:
    """Blocks one by one; each fire printed when it has happened."""
    say(FIRE_COLUMNS.format("height", "cycles", "cells", "fee", "paid by"))
    fires: list[types_pb2.Receipt] = []
    for _ in range(blocks):
        height = client.mine().height
        block = client.block(height, view=types_pb2.BLOCK_VIEW_FULL)
        for receipt in block.receipts:
            if receipt.kind == types_pb2.RECEIPT_KIND_FIRE:
                fires.append(receipt)
                say(fire_line(receipt, actor))
    return fires


def fire_line(receipt: types_pb2.Receipt, actor: bytes) -> str:
    """One fire as a row."""
    return FIRE_COLUMNS.format(
        receipt.height,
        f"{receipt.cycles_used:,}",
        f"{receipt.cells_used:,}",
        cby(receipt.fee),
        account_name(receipt.payer, actor),
    )


def account_name(address: bytes, actor: bytes) -> str:
    """Who an address is, if it is not a stranger's."""
    return "the actor" if address == actor else f"0x{address.hex()}"


def show_timers(client: Api, actor: bytes) -> None:
    """What is pending."""
    say(TIMER_COLUMNS.format("id", "due at", "limit", "paid by"))
    for timer in client.timers():
        limit = f"{timer.record.gas_limit:,}"
        payer = account_name(timer.fee_payer, actor)
        say(TIMER_COLUMNS.format(f"0x{timer.id.hex()}", timer.height, limit, payer))


def check_money(client: Api, actor: bytes, fires: list[types_pb2.Receipt]) -> None:
    """The actor's balance and the supply equation (D10); raises if one is wrong."""
    paid = sum(int(receipt.fee) for receipt in fires)
    balance = int(client.account(actor).balance)
    say(f"   the actor      {cby(FUNDS)} - {cby(paid)} of fees = {cby(balance)}")
    supply = client.status(include_supply=True).supply
    width = len(cby(supply.minted))
    say(f"   minted         {cby(supply.minted):>{width}}")
    say(f"     = balances   {cby(supply.balances):>{width}}")
    say(f"     + burned     {cby(supply.burned):>{width}}")
    say(f"     + held       {cby(supply.held):>{width}}")
    parts = int(supply.balances) + int(supply.burned) + int(supply.held)
    if balance != FUNDS - paid or int(supply.minted) != parts:
        raise DemoFailed("the money does not add up")


def show(node: Node, blocks: int) -> None:
    """Everything that there is to see of a node that has just started."""
    say(f"   gRPC      {node.grpc}")
    say(f"   chain     {node.chain}")
    say(f"   state     LevelDB in {node.folder}")
    say(f"   ready     after {node.seconds:.2f} s")
    with Api(node.grpc) as client:
        say("\n2. The actor genesis/actors/heartbeat.py is deployed over gRPC.")
        actor = deploy(client).actor
        say(f"\n3. {blocks} blocks are mined; every tenth, the actor's timer fires.")
        fires = mine(client, actor, blocks)
        if not fires:
            raise DemoFailed("no timer fired")
        say("\n4. Each fire scheduled the next; this timer waits.")
        show_timers(client, actor)
        say("\n5. Every unit is accounted for.")
        check_money(client, actor, fires)


def run(blocks: int) -> int:
    """Make the folder, start the node, show, clean up; the exit code."""
    begun = time.monotonic()
    try:
        say("cowboy-devnet demo")
        say("\n1. A node starts in a temporary folder, on a free port.")
        with (
            tempfile.TemporaryDirectory(prefix="cowboy-devnet-demo-") as folder,
            running_node(Path(folder)) as node,
        ):
            show(node, blocks)
    except KeyboardInterrupt:
        say("\nInterrupted; node and folder are gone.")
        return EXIT_INTERRUPTED
    except (DemoFailed, NodeError, NodeUnreachable, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return EXIT_FAILED
    say(f"\nDone in {time.monotonic() - begun:.1f} s; node and folder are gone.")
    return 0


def interrupt(number: int, frame: FrameType | None) -> None:
    """Clean up after SIGTERM as after Ctrl-C, whoever started us ignored it or not."""
    del number, frame
    raise KeyboardInterrupt


def main() -> int:
    """Read the command line and run; the exit code."""
    parser = argparse.ArgumentParser(description="A node, an actor, its timers firing.")
    parser.add_argument(
        "--blocks",
        type=int,
        default=BLOCKS_DEFAULT,
        help="how many to mine, at least 10 (%(default)s)",
    )
    blocks: int = parser.parse_args().blocks
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    return run(blocks)


if __name__ == "__main__":
    sys.exit(main())
