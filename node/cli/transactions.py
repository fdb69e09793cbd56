"""Commands that send transactions: `transfer`, `deploy`, `upgrade`, `call`.

The node completes the body (nonce, limits by execution, fees by the basefee); it is
signed here, and the key goes nowhere.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec

import click
from msgspec import Struct

from node.cli import arguments
from node.cli.arguments import Sender
from node.cli.connection import Command, Connection, client_command
from node.cli.formatting import (
    dropped_text,
    failure_text,
    is_success,
    printed_text,
)
from node.cli.outcome import print_committed
from node.cli.output import hexadecimal
from node.cli.traces import TRACED, tell_executions, tell_transaction
from node.primitives.crypto import keccak256, sign
from node.rpc.v1 import transactions_pb2 as messages
from node.rpc.v1 import types_pb2
from node.rpc.v1.transactions_pb2_grpc import TransactionServiceStub
from pvm.language import SOURCE_BYTES_MAX

__all__ = [
    "Sending",
    "call",
    "deploy",
    "send",
    "sending_command",
    "transfer",
    "upgrade",
]

Parameters = ParamSpec("Parameters")

_SALT_BYTES = 32


class Sending(Struct, frozen=True):
    """Who sends, and how."""

    sender: Sender
    tip: int
    is_waited_for: bool


def sending_command(
    function: Callable[Concatenate[Connection, Sending, Parameters], None],
) -> Command:
    """The flags of a command that sends a transaction."""

    def sending(
        connection: Connection,
        /,
        sender: Sender,
        tip: int,
        no_wait: bool,  # noqa: FBT001 - a flag
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> None:
        how = Sending(sender, tip, is_waited_for=not no_wait)
        function(connection, how, *args, **kwargs)

    sending.__doc__ = function.__doc__
    sending.__name__ = function.__name__
    decorated = client_command(sending)
    for option in (
        click.option(
            "--no-wait",
            is_flag=True,
            help="Do not wait for the block: answer with the id.",
        ),
        click.option(
            "--tip",
            type=arguments.amount,
            default="0",
            help="Priority fee per cycle, in base units.",
        ),
        click.option(
            "--from",
            "sender",
            type=arguments.sender,
            default="0",
            metavar="SENDER",
            help="Number of a development account, a private key, or an address to "
            "be impersonated.",
        ),
    ):
        decorated = option(decorated)
    return decorated


@click.command()
@click.argument("to", type=arguments.address)
@click.argument("amount", type=arguments.amount)
@sending_command
def transfer(connection: Connection, how: Sending, to: bytes, amount: int) -> None:
    """Send AMOUNT (`5 CBY`, or base units) to the address TO."""
    wish = types_pb2.Instruction(transfer=types_pb2.Transfer(to=to, amount=str(amount)))
    send(connection, how, wish)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("payload", type=arguments.payload, default="")
@click.option(
    "--value", type=arguments.amount, default="0", help="What moves to the actor."
)
@click.option(
    "--salt",
    type=arguments.payload,
    default="",
    help="At most 32 bytes: for another address.",
)
@sending_command
def deploy(
    connection: Connection,
    how: Sending,
    file: Path,
    payload: bytes,
    value: int,
    salt: bytes,
) -> None:
    """Create an actor from the source in FILE; its `deploy` or `init` gets PAYLOAD."""
    if len(salt) > _SALT_BYTES:
        raise click.UsageError(f"--salt has at most {_SALT_BYTES} bytes")
    wish = types_pb2.Instruction(
        deploy_actor=types_pb2.DeployActor(
            salt=salt.ljust(_SALT_BYTES, b"\0"),
            code=arguments.file_bytes(file, SOURCE_BYTES_MAX),
            payload=payload,
            value=str(value),
        )
    )
    send(connection, how, wish)


@click.command()
@click.argument("actor", type=arguments.address)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("payload", type=arguments.payload, default="")
@sending_command
def upgrade(
    connection: Connection, how: Sending, actor: bytes, file: Path, payload: bytes
) -> None:
    """Give ACTOR the code in FILE; `upgrade` of that code gets PAYLOAD.

    The sender is the actor's owner, or a system deployer. Storage, balance and timers
    stay; `rehearse-upgrade` shows before what would differ.
    """
    wish = types_pb2.Instruction(
        upgrade_actor=types_pb2.UpgradeActor(
            actor=actor,
            code=arguments.file_bytes(file, SOURCE_BYTES_MAX),
            payload=payload,
        )
    )
    send(connection, how, wish)


@click.command()
@click.argument("actor", type=arguments.address)
@click.argument("handler")
@click.argument("payload", type=arguments.payload, default="")
@click.option(
    "--value", type=arguments.amount, default="0", help="What moves to the actor."
)
@click.option(
    "--profile",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Send nothing: show where its cycles would go, line by line, and write that "
    "for https://www.speedscope.app.",
)
@click.option(
    "--trace",
    "is_traced",
    is_flag=True,
    help="Show which calls it made and what each did; of what would fail, and is not "
    "sent, which it would have made.",
)
@click.option(
    "--force",
    "is_forced",
    is_flag=True,
    help="Send it even if it would fail at the head, and pay for that.",
)
@sending_command
def call(  # noqa: PLR0913, PLR0917 - an argument each
    connection: Connection,
    how: Sending,
    actor: bytes,
    handler: str,
    payload: bytes,
    value: int,
    profile: Path | None,
    is_traced: bool,  # noqa: FBT001 - a flag
    is_forced: bool,  # noqa: FBT001 - a flag
) -> None:
    """Call HANDLER of ACTOR with PAYLOAD: text, 0x…, @file or json:{…}.

    What fails at the head is not sent: a failed transaction costs its fee.
    """
    wish = types_pb2.Instruction(
        execute_actor=types_pb2.ExecuteActor(
            actor=actor, handler=handler, payload=payload, value=str(value)
        )
    )
    if profile is not None:
        _profile(connection, _draft(how, wish), profile)
        return
    if not is_forced:
        _require_success(connection, _draft(how, wish), is_traced=is_traced)
    send(connection, how, wish, is_traced=is_traced)


def _require_success(
    connection: Connection, draft: types_pb2.Draft, *, is_traced: bool
) -> None:
    """Refuse what would fail; what the pool refuses says so itself, and is free."""
    answer = TransactionServiceStub(connection.channel).Simulate(
        messages.SimulateRequest(draft=draft, trace=is_traced),
        timeout=connection.timeout,
    )
    if answer.HasField("receipt") and not is_success(answer.receipt):
        if is_traced:
            _tell_trace(connection, answer)
        elif answer.receipt.HasField("output") and not connection.output.is_json:
            connection.output.line(printed_text(answer.receipt.output))
        ways = "--force sends it" + ("" if is_traced else ", --trace tells its calls")
        connection.refuse(
            f"{failure_text(answer.receipt.error)}; nothing was sent: {ways}"
        )


def _tell_trace(connection: Connection, answer: messages.SimulateResponse) -> None:
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        tell_executions(connection, [answer.trace], TRACED)


def _profile(connection: Connection, draft: types_pb2.Draft, file: Path) -> None:
    """Simulate at the head, tell the report and write the file."""
    answer = TransactionServiceStub(connection.channel).Simulate(
        messages.SimulateRequest(draft=draft, profile=True), timeout=connection.timeout
    )
    if answer.HasField("refused"):
        connection.refuse(dropped_text(answer.refused))
    file.write_text(answer.profile.speedscope, encoding="utf-8")
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        connection.output.line(answer.profile.report)


def _draft(how: Sending, instruction: types_pb2.Instruction) -> types_pb2.Draft:
    return types_pb2.Draft(
        sender=how.sender.address,
        instruction=instruction,
        max_priority_fee_per_cycle=str(how.tip),
        max_priority_fee_per_cell=str(how.tip),
    )


def send(
    connection: Connection,
    how: Sending,
    instruction: types_pb2.Instruction,
    *,
    is_traced: bool = False,
) -> None:
    """Complete, sign, submit, and tell what became of it; its trace, if wanted."""
    service = TransactionServiceStub(connection.channel)
    draft = _draft(how, instruction)
    prepared = service.Prepare(
        messages.PrepareRequest(draft=draft), timeout=connection.timeout
    )
    raw, name = _authorize(prepared.body, how.sender)
    if not how.is_waited_for:
        submitted = service.Submit(
            messages.SubmitRequest(transaction=raw, as_sender=name),
            timeout=connection.timeout,
        )
        if connection.output.is_json:
            connection.output.message(submitted)
        else:
            connection.output.line(hexadecimal(submitted.id))
        return
    answer = service.SubmitAndWait(
        messages.SubmitAndWaitRequest(transaction=raw, as_sender=name),
        timeout=connection.timeout,
    )
    if is_traced and answer.HasField("committed"):
        id_ = answer.committed.transaction.id
        tell_transaction(connection, id_, TRACED)
        return
    _tell(connection, answer, instruction)


def _authorize(body: bytes, sender: Sender) -> tuple[bytes, bytes]:
    """What is transmitted, and whose name the node is asked to take."""
    if sender.private_key is None:
        return body, sender.address
    return body + sign(keccak256(body), sender.private_key), b""


def _tell(
    connection: Connection,
    answer: messages.SubmitAndWaitResponse,
    instruction: types_pb2.Instruction,
) -> None:
    output = connection.output
    if output.is_json:
        output.message(answer)
    if answer.HasField("dropped"):
        connection.refuse(dropped_text(answer.dropped))
    if not answer.HasField("committed"):
        connection.refuse("the chain was rewound while the transaction waited")
    print_committed(connection, answer.committed, instruction)
