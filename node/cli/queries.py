"""Commands that ask the chain something and change nothing."""

from collections.abc import Iterator, Sequence

import click

from node.chain.accounts import EMPTY_ACCOUNT, decode_account
from node.cli import arguments
from node.cli.connection import Connection, client_command
from node.cli.formatting import (
    EVENT_COLUMNS,
    RECEIPT_COLUMNS,
    dropped_text,
    event_row,
    failure_text,
    header_fields,
    printed_text,
    receipt_row,
)
from node.cli.lane import tell_lane
from node.cli.outcome import print_committed
from node.cli.output import amount, bytes_text, cbor_text, hexadecimal, returned_text
from node.cli.proofs import Prover, prove_option, receipt_record
from node.cli.storage_history import tell_past
from node.cli.traces import (
    TraceOptions,
    changes_option,
    read_text,
    tell_block,
    tell_transaction,
    trace_option,
)
from node.client.proofs import AccountProof, StorageProof, TransactionProof
from node.primitives.crypto import dev_private_key, public_key_address
from node.rpc.v1 import queries_pb2 as messages
from node.rpc.v1 import timers_pb2, types_pb2
from node.rpc.v1.queries_pb2_grpc import QueryServiceStub
from node.rpc.v1.timers_pb2_grpc import TimerServiceStub

__all__ = ["accounts", "actor", "block", "read", "status", "storage", "tx"]

_PAGE_ENTRIES = 1_000


@click.command()
@client_command
def status(connection: Connection) -> None:
    """Show the chain's head, fees, supply and pool."""
    answer = QueryServiceStub(connection.channel).GetStatus(
        messages.GetStatusRequest(include_supply=True), timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
        return
    supply = answer.supply
    connection.output.fields(
        "",
        {
            "chain": f"{answer.chain_name}, id {answer.chain_id}",
            "node": answer.node_version,
            "height": str(answer.head.height),
            "head": hexadecimal(answer.head.hash),
            "mining": _mining(answer),
            "pool": f"{answer.pool_transactions}, {answer.pool_queued} of them queued",
            "walls": ", ".join(answer.walls) or "none",
            "rules": answer.rules,
            "next basefee per cycle": amount(answer.next_basefee_cycle),
            "next basefee per cell": amount(answer.next_basefee_cell),
            "minted": amount(supply.minted),
            "= balances": amount(supply.balances),
            "+ burned": amount(supply.burned),
            "+ held": amount(supply.held),
        },
    )


def _mining(answer: messages.GetStatusResponse) -> str:
    mode = messages.MiningMode.Name(answer.mining_mode).removeprefix("MINING_MODE_")
    text = f"{mode.lower()}, pace {answer.pace_ms} ms"
    if answer.auto_timers:
        text += ", then to the next timer"
    if answer.time_holds:
        text += f"; time is held by {answer.time_holds}"
    return text


@click.command()
@click.option("--count", type=click.IntRange(1, 1_000), default=10)
@click.option("--keys", "are_keys_shown", is_flag=True, help="Show private keys, too.")
@arguments.at_option
@prove_option
@client_command
def accounts(
    connection: Connection,
    count: int,
    are_keys_shown: bool,  # noqa: FBT001 - a flag
    is_proven: bool,  # noqa: FBT001 - a flag
    at_height: int | None,
) -> None:
    """List the development accounts; everybody has their keys."""
    prover = Prover(connection, at_height)
    rows = []
    for index in range(count):
        key = dev_private_key(index)
        address = public_key_address(key)
        if is_proven:
            record = prover.prove(AccountProof(address)).record
            account = EMPTY_ACCOUNT if record is None else decode_account(record)
            balance, nonce = str(account.balance), account.nonce
        else:
            balance, nonce = _balance_and_nonce(connection, address, at_height)
        row = [str(index), hexadecimal(address), amount(balance), str(nonce)]
        rows.append([*row, hexadecimal(key)] if are_keys_shown else row)
    if not connection.output.is_json:
        columns = ["number", "address", "balance", "nonce"]
        connection.output.table(
            "", [*columns, "key (UNSAFE)"] if are_keys_shown else columns, rows
        )
    prover.tell("balances and nonces")


def _balance_and_nonce(
    connection: Connection, address: bytes, at_height: int | None
) -> tuple[str, int]:
    answer = QueryServiceStub(connection.channel).GetAccount(
        messages.GetAccountRequest(address=address, at_height=at_height),
        timeout=connection.timeout,
    )
    if connection.output.is_json:
        connection.output.message(answer)
    return answer.balance, answer.nonce


@click.command()
@click.argument("actor", type=arguments.address)
@click.argument("handler")
@click.argument("payload", type=arguments.payload, default="")
@click.option("--as", "sender", type=arguments.address, help="Whom get_sender() names.")
@trace_option
@arguments.at_option
@client_command
def read(  # noqa: PLR0913, PLR0917 - an argument each
    connection: Connection,
    actor: bytes,
    handler: str,
    payload: bytes,
    sender: bytes | None,
    is_traced: bool,  # noqa: FBT001 - a flag
    at_height: int | None,
) -> None:
    """Call HANDLER of ACTOR with PAYLOAD, and keep nothing of it.

    What the actor prints goes to standard error.
    """
    answer = QueryServiceStub(connection.channel).CallReadOnly(
        messages.CallReadOnlyRequest(
            actor=actor,
            handler=handler,
            payload=payload,
            sender=sender or b"",
            at_height=at_height,
            trace=is_traced,
        ),
        timeout=connection.timeout,
    )
    if connection.output.is_json:
        connection.output.message(answer)
    elif is_traced:
        connection.output.line(read_text(answer, connection.output.labels))
    elif answer.HasField("output"):
        connection.output.aside(printed_text(answer.output))
    if answer.status != types_pb2.EXECUTION_STATUS_SUCCEEDED:
        connection.refuse(failure_text(answer.error))
    if not (connection.output.is_json or is_traced):
        connection.output.line(returned_text(answer.value))


@click.command()
@click.argument("address", type=arguments.address)
@click.option("--source", "is_source", is_flag=True, help="Print the source alone.")
@arguments.at_option
@client_command
def actor(
    connection: Connection,
    address: bytes,
    is_source: bool,  # noqa: FBT001 - a flag
    at_height: int | None,
) -> None:
    """Show what the actor at ADDRESS is and has."""
    answer = QueryServiceStub(connection.channel).GetActor(
        messages.GetActorRequest(address=address, at_height=at_height),
        timeout=connection.timeout,
    )
    if connection.output.is_json:
        connection.output.message(answer)
    elif is_source:
        connection.output.source(answer.source.decode().rstrip("\n"))
    else:
        connection.output.fields(
            "",
            {
                "address": hexadecimal(answer.address),
                "balance": amount(answer.balance),
                "deployer": hexadecimal(answer.deployer),
                "code hash": hexadecimal(answer.code_hash),
                "code since": _versions_text(answer.versions),
                "source": f"{len(answer.source):,} bytes",
                "handlers": ", ".join(answer.handlers),
                "live timers": str(answer.live_timers),
                "mailbox": str(answer.mailbox_length),
            },
        )


def _versions_text(versions: Sequence[messages.CodeVersion]) -> str:
    """The heights at which an actor got its code, with the hashes of older code."""
    if not versions:
        return "unknown: before this node's history"
    *older, last = versions
    text = f"height {last.height:,}"
    before = [f"{hexadecimal(one.code_hash)} ({one.height:,})" for one in older]
    return text + (f"; before: {', '.join(before)}" if before else "")


@click.command()
@click.argument("actor", type=arguments.address)
@click.argument("key", type=arguments.payload, required=False)
@click.option(
    "--prefix", type=arguments.payload, default="", help="Of the raw keys to list."
)
@click.option("--past", "is_past_told", is_flag=True, help="What changed it, and when.")
@arguments.at_option
@prove_option
@client_command
def storage(  # noqa: PLR0913, PLR0917 - an argument each
    connection: Connection,
    actor: bytes,
    key: bytes | None,
    prefix: bytes,
    is_past_told: bool,  # noqa: FBT001 - a flag
    is_proven: bool,  # noqa: FBT001 - a flag
    at_height: int | None,
) -> None:
    """Show what ACTOR has stored: all of it, or what is under the raw KEY.

    The entry n of `self.storage` has the key `storage:n`.

    With --prove each entry is proven, but not that there are no others. With --past
    each change is shown, the latest first, of all keys that begin with KEY.
    """
    if is_past_told and (is_proven or at_height is not None):
        raise click.UsageError("--past goes with neither --prove nor --at")
    if is_past_told:
        tell_past(connection, actor, key or prefix)
        return
    service = QueryServiceStub(connection.channel)
    prover = Prover(connection, at_height)
    if key is None:
        request = messages.ListStorageRequest(
            actor=actor, prefix=prefix, page_size=_PAGE_ENTRIES, at_height=at_height
        )
        entries = _stored(connection, request)
    elif is_proven:
        entries = iter([messages.StorageEntry(key=key)])
    else:
        answer = service.GetStorage(
            messages.GetStorageRequest(actor=actor, raw=key, at_height=at_height),
            timeout=connection.timeout,
        )
        entries = iter([answer.entry])
    if is_proven:
        entries = _proven_entries(prover, actor, list(entries))
    _show_entries(connection, prover, entries, is_told=not is_proven)


def _show_entries(
    connection: Connection,
    prover: Prover,
    entries: Iterator[messages.StorageEntry],
    *,
    is_told: bool,
) -> None:
    """As a table; as JSON, unless the proofs of them were."""
    if connection.output.is_json:
        for entry in entries:
            if is_told:
                connection.output.message(entry)
        return
    rows = [
        (entry.name, cbor_text(entry.value))
        if entry.HasField("name")
        else (bytes_text(entry.key), bytes_text(entry.value))
        for entry in entries
    ]
    connection.output.table("", ("key", "value"), rows)
    names = ", ".join(name for name, _ in rows)
    prover.tell(f"what is stored under {names}" if rows else "nothing is stored there")


def _proven_entries(
    prover: Prover, actor: bytes, entries: list[messages.StorageEntry]
) -> Iterator[messages.StorageEntry]:
    """The entries as they are proven; what is proven to be absent is left out."""
    for entry in entries:
        record = prover.prove(StorageProof(actor, entry.key)).record
        if record is not None:
            entry.value = record
            yield entry


def _stored(
    connection: Connection, request: messages.ListStorageRequest
) -> Iterator[messages.StorageEntry]:
    service = QueryServiceStub(connection.channel)
    for page in connection.pages(service.ListStorage, request):
        yield from page.entries


@click.command()
@click.argument("which", default="latest", metavar="[HEIGHT|HASH|latest]")
@click.option("--timers", "are_timers_told", is_flag=True, help="Why each timer went.")
@click.option("--lane", "is_lane_told", is_flag=True, help="Who got the lane, drawn.")
@trace_option
@changes_option
@client_command
def block(
    connection: Connection,
    which: str,
    are_timers_told: bool,  # noqa: FBT001 - a flag
    is_lane_told: bool,  # noqa: FBT001 - a flag
    is_traced: bool,  # noqa: FBT001 - a flag
    are_changes_told: bool,  # noqa: FBT001 - a flag
) -> None:
    """Show a block and what came of it."""
    request = messages.GetBlockRequest(view=types_pb2.BLOCK_VIEW_FULL)
    if which == "latest":
        request.latest = True
    elif which.isascii() and which.isdecimal():
        request.height = arguments.HEIGHT(which)
    else:
        request.hash = arguments.hash32(which)
    answer = QueryServiceStub(connection.channel).GetBlock(
        request, timeout=connection.timeout
    )
    if are_timers_told:
        _tell_timers(connection, answer.block.header.height)
    if is_lane_told:
        tell_lane(connection, answer.block.header.height)
    if is_traced or are_changes_told:
        options = TraceOptions(is_traced=is_traced, are_changes_told=are_changes_told)
        tell_block(connection, answer.block.header.height, options)
    if not (are_timers_told or is_lane_told or is_traced or are_changes_told):
        _show_block(connection, answer)


def _show_block(connection: Connection, answer: messages.GetBlockResponse) -> None:
    """Its header, receipts and events."""
    output = connection.output
    if output.is_json:
        output.message(answer)
        return
    output.fields("", header_fields(answer.block.header))
    if answer.block.receipts:
        rows = [receipt_row(receipt) for receipt in answer.block.receipts]
        output.table("\nreceipts", RECEIPT_COLUMNS, rows)
    if answer.block.events:
        rows = [event_row(event) for event in answer.block.events]
        output.table("\nevents", EVENT_COLUMNS, rows)


def _tell_timers(connection: Connection, height: int) -> None:
    """Every timer that a block looked at, in that order, then what was changed."""
    request = timers_pb2.ExplainBlockRequest(height=height, page_size=_PAGE_ENTRIES)
    service = TimerServiceStub(connection.channel)
    for page in connection.pages(service.ExplainBlock, request):
        if connection.output.is_json:
            connection.output.message(page)
        else:
            connection.output.line(page.text)


@click.command()
@click.argument("transaction_id", type=arguments.hash32, metavar="ID")
@trace_option
@changes_option
@prove_option
@client_command
def tx(
    connection: Connection,
    transaction_id: bytes,
    is_traced: bool,  # noqa: FBT001 - a flag
    are_changes_told: bool,  # noqa: FBT001 - a flag
    is_proven: bool,  # noqa: FBT001 - a flag
) -> None:
    """Show what became of the transaction ID; exit code 1 unless it succeeded.

    With --prove the receipt is proven, but for texts of failures, and not the events.
    With --trace or --changes it is executed again, which only recent ones are.
    """
    if is_traced or are_changes_told:
        options = TraceOptions(is_traced=is_traced, are_changes_told=are_changes_told)
        tell_transaction(connection, transaction_id, options)
        return
    answer = QueryServiceStub(connection.channel).GetTransaction(
        messages.GetTransactionRequest(id=transaction_id), timeout=connection.timeout
    )
    output = connection.output
    if output.is_json:
        output.message(answer)
    match answer.WhichOneof("outcome"):
        case "committed":
            if is_proven:
                _prove_receipt(connection, answer.committed.receipt)
            body = answer.committed.transaction.body
            print_committed(connection, answer.committed, body.instruction)
        case "pending":
            if not output.is_json:
                output.line("it waits in the pool")
        case "dropped":
            connection.refuse(dropped_text(answer.dropped))
        case _:
            connection.refuse("the chain was rewound before the block it was in")


def _prove_receipt(connection: Connection, receipt: types_pb2.Receipt) -> None:
    prover = Prover(connection)
    proven = prover.prove(TransactionProof(receipt.id))
    if proven.record != receipt_record(receipt):
        connection.refuse("the receipt that the node shows is not the proven one")
    prover.tell("this receipt")
