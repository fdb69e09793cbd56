"""AsyncClient: a node's chain, for programs with an event loop.

It satisfies `AsyncChain`: what `node.testing.Devnet` does in this process, it does over
gRPC, with the same names, values and exceptions, so that a test of an actor runs on
both. `api` is the connection below it, one method a call of the node's API.

Rules: a sender with a key signs, any other is impersonated, which a development node
admits. Senders may share a client, in tasks and threads: a nonce is taken and used up
under a lock, and taken anew when another program was faster. What is repeated by
itself is safe to repeat; who loses the connection while a transaction is on its way
gets `OutcomeUnknown` with its id.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace
from typing_extensions import override

from node.chain.advance import AdvanceSummary
from node.chain.block import Header, Receipt
from node.chain.params import U64_MAX
from node.chain.transaction import (
    DeployActor,
    Fund,
    Instruction,
    SetBalance,
    Transfer,
    impersonate,
)
from node.client._async.actor import AsyncActor
from node.client._async.api import AsyncApi
from node.client._async.reader import AsyncReader
from node.client.checks import check_chain
from node.client.decoding import (
    add_progress,
    header_from_proto,
    maps_unknown_id,
    receipt_from_proto,
    refusal_of_node,
)
from node.client.exceptions import (
    FireFailed,
    NodeError,
    NodeUnreachable,
    OutcomeUnknown,
    TransactionFailed,
    check_fires,
    failed_fire,
)
from node.client.grpc_errors import require_open
from node.client.inputs import (
    DevAccount,
    Mined,
    Sender,
    Terms,
    address_of,
    amount_of,
    check_bytes,
    check_count,
    check_id,
    check_path,
    check_salt,
    check_target,
    code_of,
    dev_account,
    given,
)
from node.client.messages import (
    CALL_SECONDS,
    checked_body,
    committed_of,
    draft,
)
from node.client.wallet import Wallet
from node.primitives.crypto import keccak256
from node.primitives.types import Hash32

if TYPE_CHECKING:
    from node.client._async.profiler import AsyncProfiler
    from node.client.profiles import Profile

__all__ = ["AsyncClient"]

_LOCKS = 64
"""Senders are spread over so many locks: a fixed number, whoever sends."""
_NONCE_ATTEMPTS = 32
_NONCE_TAKEN = ("NONCE_USED", "REPLACEMENT_UNDERPRICED")
_UNHEARD = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED")
_MINED_MAX = 10_000


class AsyncClient(AsyncReader):
    """A connection to a node; close it, or leave it to `async with`."""

    def __init__(
        self,
        url: str = "127.0.0.1:50051",
        *,
        timeout: float = CALL_SECONDS,
        tls_ca: bytes | None = None,
        token: str | None = None,
        accounts: int = 10,
        strict: bool = False,
    ) -> None:
        """Connect lazily: nothing is sent before the first call.

        Args:
            url: `host:port`; `https://…` means TLS, and so do authorities to trust.
            timeout: seconds that a call may take, unless it is given others.
            tls_ca: authorities to trust, as PEM.
            token: of the node, if it wants one.
            accounts: how many development accounts the chain has.
            strict: whether `advance` raises the failure of a fire, unless told.

        Raises:
            InvalidArgument: no text, or no number.
        """
        api = AsyncApi(url, timeout=timeout, tls_ca=tls_ca, token=token)
        super().__init__(api)
        self._account_count = check_count("accounts", accounts, 0)
        self.is_strict = strict
        self._accounts: tuple[DevAccount, ...] | None = None
        self._locks = tuple(asyncio.Lock() for _ in range(_LOCKS))
        self._profilers: tuple[AsyncProfiler, ...] = ()

    @property
    def accounts(self) -> Sequence[DevAccount]:
        """Accounts with funds on a development chain, whose keys everybody knows."""
        if self._accounts is None:
            self._accounts = tuple(map(dev_account, range(self._account_count)))
        return self._accounts

    async def actor(self, address: Sender) -> AsyncActor:
        """An actor that is there already.

        Raises:
            UnknownId: nothing was deployed at the address.
        """
        with maps_unknown_id("address", address):
            found = await self.api.actor(address_of(address))
        source = found.source.decode("utf-8", "replace")
        return AsyncActor(self, address_of(address), source)

    # --- profiles ------------------------------------------------------------------

    @asynccontextmanager
    async def profile(self) -> AsyncIterator["Profile"]:
        """Count cycles and cells by line of every execution in blocks made inside.

        The node executes these blocks again: it is told all after each act of this
        client and at the end, whoever sent the transactions.

        Raises:
            NodeError: HISTORY_NOT_KEPT, an act passed more heights than the node keeps
                states of: advance in smaller steps. INVALID_ARGUMENT, a block used too
                many cycles, or the chain is no development one. The acts are done.
        """
        from node.client._async.profiler import AsyncProfiler  # noqa: PLC0415 - heavy

        profiler = AsyncProfiler(self.api, await self.height)
        self._profilers += (profiler,)
        try:
            yield profiler.profile
        finally:
            self._profilers = tuple(p for p in self._profilers if p is not profiler)
            await profiler.finish()

    async def _count(self) -> None:
        """Let open profiles look at what was made."""
        for profiler in self._profilers:
            await profiler.look()

    # --- acting --------------------------------------------------------------------

    async def mine(self, blocks: int = 1) -> Mined:
        """Make blocks; the first takes what was submitted. The last."""
        head = await self.api.mine(check_count("blocks", blocks, 1, _MINED_MAX))
        await self._count()
        return await self.block(head.height)

    async def advance(  # noqa: PLR0913 - a keyword for each target
        self,
        *,
        blocks: int | None = None,
        height: int | None = None,
        duration_ms: int | None = None,
        next_timer: bool | None = None,
        until_idle: int | None = None,
        strict: bool | None = None,
        expect_failure: bool = False,
    ) -> AdvanceSummary:
        """Let time pass, at the cost of what happens; says what happened.

        Exactly one target is given.

        Args:
            blocks: how many heights are to pass.
            height: up to which height, above the present one.
            duration_ms: until so much virtual time has passed.
            next_timer: True, for the height at which the next timer is looked at.
            until_idle: until nothing waits, for at most so many blocks.
            strict: whether a fire that fails is raised; `is_strict` if not given.
            expect_failure: a fire must fail, and is not raised.

        Raises:
            InvalidArgument: not exactly one target.
            AdvanceRefused: the chain cannot advance to it; nothing happened.
            FireFailed: a fire failed and the chain is strict; time did pass.
                An AssertionError if none failed although a failure was expected.
        """
        check_chain(expect_failure=expect_failure)
        check_chain.optional(strict=strict)
        wanted = given(
            blocks=blocks,
            height=height,
            duration_ms=duration_ms,
            next_timer=next_timer,
            until_idle=until_idle,
        )
        check_target(wanted)
        # What the wire cannot carry is refused by the node like the next that it can.
        sent = {name: min(max(value, 0), U64_MAX) for name, value in wanted.items()}
        summary = AdvanceSummary()
        try:
            async for message in self.api.advance(**sent):
                add_progress(summary, message)
        except NodeError as error:
            raise refusal_of_node(error) from None
        await self._count()
        is_strict = self.is_strict if strict is None else strict
        if check_fires(
            summary.fires_failed, is_strict=is_strict, expect_failure=expect_failure
        ):
            raise await self._fire_failed(summary)
        return summary

    async def _fire_failed(self, summary: AdvanceSummary) -> FireFailed:
        """The first of the fires that failed while time passed."""
        for height in summary.heights:
            block = await self.block(height)
            receipt = failed_fire(block.receipts)
            if receipt is not None:
                assert receipt.failure is not None
                sources = await self._sources_of(receipt.actor, receipt.failure)
                return FireFailed(receipt, height, summary.fires_failed, sources)
        raise AssertionError("a failed fire has a receipt")

    async def submit(
        self,
        instruction: Instruction,
        *,
        sender: Sender | None = None,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        **fees: int,
    ) -> Hash32:
        """Send a transaction without waiting for it; its id, for `wait_for`.

        Limits are estimated when not given. `fees` are fields of `Body`.

        Raises:
            TransactionRefused: the node does not admit it.
            OutcomeUnknown: the connection was lost on the way.
        """
        check_chain(instruction=instruction)
        terms = Terms(self._sender(sender), cycles_limit, cells_limit, fees)
        _, raw = await self._send(instruction, terms)
        return Hash32(keccak256(raw))

    async def execute(
        self,
        instruction: Instruction,
        *,
        sender: Sender | None = None,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        expect_failure: bool = False,
        timeout: float | None = None,
        **fees: int,
    ) -> Receipt:
        """Send a transaction and wait until it is in a block.

        Raises:
            TransactionRefused: the node does not admit it.
            TransactionDropped: it left the pool without a block.
            TransactionFailed: it failed, unless `expect_failure`; and an
                AssertionError if it succeeded although a failure was expected.
            OutcomeUnknown: the connection was lost, or the deadline passed.
        """
        check_chain(instruction=instruction, expect_failure=expect_failure)
        check_chain.optional(timeout=timeout)
        terms = Terms(self._sender(sender), cycles_limit, cells_limit, fees)
        instruction, raw = await self._send(instruction, terms)
        receipt = await self._wait(raw, timeout)
        if not receipt.is_success and not expect_failure:
            assert receipt.failure is not None
            sources = await self._sources_of(receipt.actor, receipt.failure)
            if isinstance(instruction, DeployActor):
                own = instruction.code.decode("utf-8", "replace")
                sources = {**sources, b"": own}
            raise TransactionFailed(receipt, sources)
        assert receipt.is_success != expect_failure, "a failure was expected"
        return receipt

    async def wait_for(
        self, transaction_id: bytes, *, timeout: float | None = None
    ) -> Receipt:
        """Wait until a transaction that the node knows is in a block.

        Raises:
            UnknownId: the node does not know it.
            TransactionDropped: it left the pool, or was undone by a rewind.
            OutcomeUnknown: the connection was lost, or the deadline passed.
        """
        check_id("transaction_id", transaction_id)
        check_chain.optional(timeout=timeout)
        try:
            with maps_unknown_id("transaction_id", transaction_id):
                found = await self.api.transaction(transaction_id)
        except NodeUnreachable as error:
            raise OutcomeUnknown(transaction_id, error) from None
        if found.WhichOneof("outcome") == "pending":
            return await self._wait(found.pending.raw, timeout)
        return receipt_from_proto(committed_of(found).receipt)

    async def _wait(self, raw: bytes, timeout: float | None) -> Receipt:
        try:
            answer = await self.api.submit_and_wait(raw, timeout=timeout)
        except NodeUnreachable as error:
            raise OutcomeUnknown(keccak256(raw), error) from None
        except NodeError as error:
            if error.code in _UNHEARD:
                raise OutcomeUnknown(keccak256(raw), error) from None
            raise refusal_of_node(error) from None
        await self._count()
        return receipt_from_proto(committed_of(answer).receipt)

    async def _send(
        self, instruction: Instruction, terms: Terms
    ) -> tuple[Instruction, bytes]:
        """Have a transaction admitted; what was asked, and its bytes."""
        terms.check()
        sender = address_of(terms.sender, "sender")
        async with self._locks[sender[-1] % _LOCKS]:
            for _ in range(_NONCE_ATTEMPTS):
                asked, raw = await self._sign(instruction, terms)
                try:
                    answer = await self.api.submit(raw)
                except NodeUnreachable as error:
                    raise OutcomeUnknown(keccak256(raw), error) from None
                except NodeError as error:
                    if error.reason in _NONCE_TAKEN:
                        continue
                    if error.code in _UNHEARD:
                        raise OutcomeUnknown(keccak256(raw), error) from None
                    raise refusal_of_node(error) from None
                if not answer.is_known:
                    return asked, raw
                # Another program sent the very same with the same key and nonce.
        raise NodeError(
            "NONCE_TAKEN",
            f"{_NONCE_ATTEMPTS} times another program used the nonce first: let one "
            "client send for this key",
            {},
            "ABORTED",
        )

    async def _sign(
        self, instruction: Instruction, terms: Terms
    ) -> tuple[Instruction, bytes]:
        """A transaction with the sender's next nonce."""
        sender = address_of(terms.sender, "sender")
        if isinstance(instruction, DeployActor) and not instruction.salt:
            # The nonce as salt: a sender may deploy equal sources again and again.
            account = await self.api.account(sender)
            salt = account.next_nonce.to_bytes(32, "big")
            instruction = replace(instruction, salt=salt)
        wanted = draft(sender, instruction, terms)
        try:
            prepared = await self.api.prepare(wanted)
        except NodeError as error:
            raise refusal_of_node(error) from None
        body = checked_body(prepared, instruction)
        key = getattr(terms.sender, "private_key", None)
        if isinstance(key, bytes):
            return instruction, Wallet(key).sign_encoded(body)
        return instruction, impersonate(body, sender)

    def _sender(self, sender: Sender | None) -> Sender:
        return self.accounts[0] if sender is None else sender

    async def deploy(
        self,
        source: str | bytes,
        payload: bytes = b"",
        *,
        sender: Sender | None = None,
        value: int | str = 0,
        salt: bytes | None = None,
        expect_failure: bool = False,
        **limits: int,
    ) -> AsyncActor:
        """Deploy an actor and wait until it is there; its constructor ran.

        The salt is the sender's nonce when not given, so equal sources can be deployed
        twice.
        """
        code = code_of(source)
        instruction = DeployActor(
            b"" if salt is None else check_salt(salt),
            code,
            check_bytes("payload", payload),
            amount_of(value, "value"),
        )
        receipt = await self.execute(
            instruction, sender=sender, expect_failure=expect_failure, **limits
        )
        return AsyncActor(self, receipt.actor, code.decode("utf-8", "replace"), receipt)

    async def transfer(
        self, to: Sender, amount: int | str, *, sender: Sender | None = None
    ) -> Receipt:
        """Move base units, or an amount such as "5 CBY"."""
        instruction = Transfer(address_of(to, "to"), amount_of(amount))
        return await self.execute(instruction, sender=sender)

    async def fund(self, to: Sender, amount: int | str) -> Receipt:
        """Mint to an account (D41)."""
        return await self.execute(Fund(address_of(to, "to"), amount_of(amount)))

    async def set_balance(self, who: Sender, amount: int | str) -> Receipt:
        """Mint, or take, what is missing to a balance (D41)."""
        return await self.execute(SetBalance(address_of(who, "who"), amount_of(amount)))

    async def export_bundle(self, file: str | PathLike[str]) -> Path:
        """Write the chain into a new file, for `import_bundle` or `bundle check`.

        Equal chains give equal bytes. What waits in the pool is in no block, and not
        in it.

        Raises:
            BundleRefused: there is a file already, or it cannot be written.
            NodeError: HISTORY_NOT_KEPT, blocks were pruned.
        """
        from node.archive.bundle import new_bundle  # noqa: PLC0415 - few want one

        path = check_path("file", file)
        require_open(self.api)
        with new_bundle(path) as write:
            async for part in self.api.export_bundle():
                write(part)
        return path

    async def import_bundle(self, file: str | PathLike[str]) -> Header:
        """Execute a bundle's blocks, each of which must be what it says; the head.

        Raises:
            BundleRefused: the file is no whole bundle of the chain's genesis, or more
                than time passed there: nothing happened. Or executing it gives
                something else: the chain stands at genesis.
        """
        from node.archive.bundle import open_parts  # noqa: PLC0415

        path = check_path("file", file)
        require_open(self.api)
        try:
            with open_parts(path) as parts:
                head = await self.api.import_bundle(parts)
        except NodeError as error:
            raise refusal_of_node(error) from None
        await self._count()
        return header_from_proto(head)

    async def snapshot(self) -> "_Snapshot":
        """The present, to return to; leaving it as a context manager returns."""
        name = f"client-{uuid.uuid4().hex}"
        named = await self.api.create_snapshot(name)
        header = await self.api.block(named.block.height)
        return _Snapshot(self.api, name, header_from_proto(header.header), self._count)


class _Snapshot:
    """A named snapshot of the node's that is forgotten when its `with` ends."""

    def __init__(
        self,
        api: AsyncApi,
        name: str,
        head: Header,
        count: Callable[[], Awaitable[None]],
    ) -> None:
        self._api = api
        self._count = count
        self.name = name
        self.head = head
        """The block to which the chain returns."""

    @override
    def __repr__(self) -> str:
        return f"<snapshot of height {self.head.height}>"

    async def revert(self) -> None:
        """Return to it: height, clock, pool, timers and fees."""
        await self._count()
        await self._api.revert_to_snapshot(self.name)
        await self._count()

    async def __aenter__(self) -> Self:
        """The snapshot itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Return to it, and forget it."""
        await self.revert()
        await self._api.delete_snapshot(self.name)
