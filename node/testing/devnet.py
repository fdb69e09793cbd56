"""Devnet: the same chain as the node's, driven by a test instead of a network.

It runs the core that the engine runs: build a block, commit its writes, take the next
state. Senders are impersonated (D41), so nothing has to be signed; blocks are mined
when the test says so. Everything executes where there is room for the deepest actor, so
results do not depend on the caller's stack: on the main thread, else on one of its own.

Failures are exceptions that show the actor's line. What can be asked of it is in
`reading`; going back, profiles, bundles and closing are in `lifecycle`.
"""

from collections import ChainMap
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from node.chain.accounts import load_account
from node.chain.advance import AdvanceSummary, Target
from node.chain.advance_stop import is_done, stop_height
from node.chain.block import Receipt
from node.chain.errors import InvalidTransaction
from node.chain.params import U128_MAX
from node.chain.simulation import estimate_limits
from node.chain.transaction import (
    DEV_INSTRUCTIONS,
    Body,
    DeployActor,
    Fund,
    Instruction,
    SetBalance,
    Transfer,
    decode_transaction,
    impersonated,
)
from node.chain.transition import (
    BlockResult,
    head_globals,
    next_state,
)
from node.client._sync.actor import Actor
from node.client.checks import check_chain
from node.client.exceptions import (
    FireFailed,
    InvalidArgument,
    Sources,
    TransactionFailed,
    TransactionRefused,
    check_fires,
    failed_fire,
)
from node.client.inputs import (
    Sender,
    address_of,
    amount_of,
    check_bytes,
    check_count,
    check_salt,
    check_target,
    code_of,
    given,
)
from node.primitives.types import NOTHING, Address, Amount, Hash32
from node.testing.explanations import OutlookStory, outlook_story
from node.testing.lifecycle import DevnetKeeper

if TYPE_CHECKING:
    from node.client._sync.actor import Chain
    from node.client._sync.client import Client

FEE_HEADROOM = 16
"""The default max fee is the basefee times this, so that tests need not state fees."""
_BODY_NUMBERS = tuple(name for name in Body.__struct_fields__ if name != "instruction")


class Devnet(DevnetKeeper):
    """A whole chain in this process, to be used with `with`.

    If this machine has no memory left for what an actor may allocate, methods that
    execute raise `pvm.HostMemoryExhausted`. The chain is then as before, without the
    transactions that waited.
    """

    # --- acting --------------------------------------------------------------------

    def mine(self, blocks: int = 1) -> BlockResult:
        """Make blocks now, and return the last of them.

        The first block takes the transactions that wait.

        Args:
            blocks: how many, 1 or more.

        Raises:
            InvalidArgument: the number is out of this range.
        """
        check_count("blocks", blocks)
        self._on_worker(lambda: self._mine(blocks))
        return self.last

    def mine_until(self, height: int) -> BlockResult:
        """Make blocks up to a height above the present one, and return the last.

        Raises:
            InvalidArgument: the height is not above the present one.
        """
        return self.mine(check_count("height", height, self.height + 1) - self.height)

    def advance(  # noqa: PLR0913 - a keyword for each target
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
        """Let time pass up to one target, and sum up what happened.

        Exactly one of the first five arguments is given. Empty heights cost almost
        nothing, so that a million of them may pass.

        Args:
            blocks: how many heights pass, 1 or more.
            height: the height to reach, above the present one.
            duration_ms: the milliseconds of virtual time that pass, at least.
            next_timer: True to go to the height at which the next timer is looked at.
            until_idle: go on until nothing waits, for at most so many blocks.
            strict: whether the failure of a fire is raised; by default as the chain's
                `is_strict`.
            expect_failure: whether a fire must fail; it is then not raised.

        Raises:
            InvalidArgument: not exactly one target was given, or one of a wrong type.
            AdvanceRefused: the chain cannot advance to the target; nothing happened.
            FireFailed: a fire failed and the chain is strict; time did pass.
            AssertionError: a failure was expected, and no fire failed.
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
        target = check_target(wanted, self.height)
        begun = len(self.results)
        summary = self._on_worker(lambda: self._advance(target))
        is_strict = self.is_strict if strict is None else strict
        if check_fires(
            summary.fires_failed, is_strict=is_strict, expect_failure=expect_failure
        ):
            raise self._fire_failed(begun, summary.fires_failed)
        return summary

    def _fire_failed(self, begun: int, count: int) -> FireFailed:
        """The first of the failed fires among the results from `begun` on."""
        for result in self.results[begun:]:
            receipt = failed_fire(result.receipts)
            if receipt is not None:
                sources = self._sources_of(receipt.actor)
                return FireFailed(receipt, result.header.height, count, sources)
        raise AssertionError("a failed fire has a receipt")

    def _advance(self, target: Target) -> AdvanceSummary:
        stop, summary = stop_height(self.state, target), AdvanceSummary()
        while not is_done(
            self.state, target, stop, is_anything_waiting=bool(self._queue)
        ):
            summary.note(self._step(stop - self.height))
        return summary

    def _mine(self, blocks: int) -> None:
        last = self.state.head.height + blocks
        while (height := self.state.head.height) < last:
            self._step(last - height)

    def _step(self, heights_max: int) -> BlockResult:
        queue, self._queue = self._queue, []
        result = self._build(self.state, queue, heights_max)
        self._store.commit(result.writes, sync=False)
        self.state = next_state(self.state, result, self._store.snapshot())
        self.results.append(result)
        self._queue = [t for t, error in result.rejected if error.may_wait]
        return result

    def submit(
        self,
        instruction: Instruction,
        *,
        sender: Sender | None = None,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        **fees: int,
    ) -> Hash32:
        """Queue a transaction for the next block, and return its id.

        Args:
            instruction: what the transaction does: `Transfer`, `DeployActor`,
                `ExecuteActor` and so on.
            sender: who sends it, the first account by default; it is impersonated.
            cycles_limit: most cycles that it may use; estimated if not given.
            cells_limit: most cells that it may use; estimated if not given.
            fees: fields of `Body` by name, such as `max_fee_per_cycle` in base units.

        Raises:
            TransactionRefused: executing it to find its limits showed that it cannot be
                included.
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        check_chain(instruction=instruction)
        check_chain.optional(cycles_limit=cycles_limit, cells_limit=cells_limit)
        return self._submit(instruction, sender, cycles_limit, cells_limit, fees)

    def _submit(
        self,
        instruction: Instruction,
        sender: Sender | None,
        cycles_limit: int | None,
        cells_limit: int | None,
        fees: Mapping[str, int],
    ) -> Hash32:
        """Of arguments that were checked, but for the names and sizes of fees."""
        address = address_of(self.accounts[0] if sender is None else sender, "sender")
        for name, fee in fees.items():
            if name not in _BODY_NUMBERS:
                raise InvalidArgument(
                    name, f"{', '.join(_BODY_NUMBERS)} are known", fee
                )
            check_count(name, fee, 0, U128_MAX)
        body = self._body(instruction, address, cycles_limit, cells_limit, fees)
        self.require_open()
        transaction = impersonated(body, address)
        self._queue.append(transaction)
        return transaction.id

    def submit_raw(self, raw: bytes) -> Hash32:
        """Queue a transaction as it would be sent to a node: body ‖ signature.

        Raises:
            InvalidTransaction: it cannot be decoded.
        """
        self.require_open()
        transaction = decode_transaction(check_bytes("raw", raw))
        self._queue.append(transaction)
        return transaction.id

    def _body(
        self,
        instruction: Instruction,
        sender: Address,
        cycles_limit: int | None,
        cells_limit: int | None,
        fees: Mapping[str, int],
    ) -> Body:
        globals_ = head_globals(self.state)
        nonce = load_account(self.state.snapshot, sender).nonce
        headroom = 0 if isinstance(instruction, DEV_INSTRUCTIONS) else FEE_HEADROOM
        draft = Body(
            self.state.params.chain_id,
            nonce,
            0,
            0,
            Amount(headroom * globals_.basefee_cycle),
            NOTHING,
            Amount(headroom * globals_.basefee_cell),
            NOTHING,
            instruction,
        )
        if headroom and (cycles_limit is None or cells_limit is None):
            try:
                estimate = self._on_worker(
                    lambda: estimate_limits(self.state, draft, sender)
                )
            except InvalidTransaction as error:
                raise TransactionRefused(error) from None
            cycles_limit = estimate[0] if cycles_limit is None else cycles_limit
            cells_limit = estimate[1] if cells_limit is None else cells_limit
        if cycles_limit is not None and cells_limit is not None:
            draft = replace(draft, cycles_limit=cycles_limit, cells_limit=cells_limit)
        queued = [t for t in self._queue if t.sender == sender]
        return replace(draft, **{"nonce": nonce + len(queued), **fees})

    def execute(
        self,
        instruction: Instruction,
        *,
        sender: Sender | None = None,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        expect_failure: bool = False,
        **fees: int,
    ) -> Receipt:
        """Submit a transaction, make a block with it, and return its receipt.

        Args:
            instruction: what the transaction does: `Transfer`, `DeployActor`,
                `ExecuteActor` and so on.
            sender: who sends it, the first account by default; it is impersonated.
            cycles_limit: most cycles that it may use; estimated if not given.
            cells_limit: most cells that it may use; estimated if not given.
            expect_failure: whether it must fail; its receipt is then returned.
            fees: fields of `Body` by name, such as `max_fee_per_cycle` in base units.

        Raises:
            TransactionRefused: it cannot be included.
            TransactionFailed: it is in a block and failed, unless `expect_failure`.
            AssertionError: a failure was expected, and it succeeded.
        """
        check_chain(instruction=instruction, expect_failure=expect_failure)
        check_chain.optional(cycles_limit=cycles_limit, cells_limit=cells_limit)

        def submit_and_mine() -> Hash32:
            submitted = self._submit(
                instruction, sender, cycles_limit, cells_limit, fees
            )
            self._mine(1)
            return submitted

        # One hop: what is called in there on the worker finds itself there already.
        transaction_id = self._on_worker(submit_and_mine)
        result = self.results[-1]
        for transaction, error in result.rejected:
            if transaction.id == transaction_id:
                self._queue = [t for t in self._queue if t.id != transaction_id]
                raise TransactionRefused(error)
        receipt = next(r for r in result.receipts if r.id == transaction_id)
        if not receipt.is_success and not expect_failure:
            raise TransactionFailed(receipt, self._sources_told(receipt, instruction))
        assert receipt.is_success != expect_failure, "a failure was expected"
        return receipt

    def _sources_told(self, receipt: Receipt, instruction: Instruction) -> Sources:
        if isinstance(instruction, DeployActor):
            own = instruction.code.decode("utf-8", "replace")
            return ChainMap({b"": own}, self._sources)
        return self._sources_of(receipt.actor)

    def deploy(
        self,
        source: str | bytes,
        payload: bytes = b"",
        *,
        sender: Sender | None = None,
        value: int | str = 0,
        salt: bytes | None = None,
        expect_failure: bool = False,
        **limits: int,
    ) -> Actor:
        """Deploy an actor, make a block with it, and return the actor as an object.

        Its constructor (`deploy`, else `init`) has run then.

        Args:
            source: the actor's source, not a path.
            payload: bytes that the constructor gets.
            sender: who deploys, the first account by default.
            value: base units, or a text such as "5 CBY", that the actor gets.
            salt: 32 bytes that make the address differ; by default a count, so that a
                source can be deployed twice.
            expect_failure: whether the deployment must fail.
            limits: `cycles_limit` and `cells_limit`; estimated if not given.

        Raises:
            TransactionRefused: the transaction cannot be included.
            TransactionFailed: the source was refused or the constructor failed, unless
                `expect_failure`.
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        code = code_of(source)
        number = len(self._sources) if salt is None else 0
        instruction = DeployActor(
            number.to_bytes(32, "big") if salt is None else check_salt(salt),
            code,
            check_bytes("payload", payload),
            amount_of(value, "value"),
        )
        receipt = self.execute(
            instruction, sender=sender, expect_failure=expect_failure, **limits
        )
        text = code.decode("utf-8", "replace")
        self._sources[receipt.actor] = text
        return Actor(self, receipt.actor, text, receipt)

    def transfer(
        self, to: Sender, amount: int | str, *, sender: Sender | None = None
    ) -> Receipt:
        """Send base units, or an amount such as "5 CBY", from one account to another.

        The sender is the first account if none is given.
        """
        return self.execute(
            Transfer(address_of(to, "to"), amount_of(amount)), sender=sender
        )

    def simulate(self, blocks: int) -> OutlookStory:
        """What the next blocks would bring, with the transactions that are queued.

        This is a dry run: nothing of it is kept. Print the answer to read it.

        Raises:
            AdvanceRefused: there are not so many heights.
        """
        check_count("blocks", blocks)
        return self._on_worker(lambda: outlook_story(self.state, blocks, self._queue))

    def fund(self, to: Sender, amount: int | str) -> Receipt:
        """Mint base units, or an amount such as "5 CBY", to an account (D41).

        Only a development chain admits this.
        """
        return self.execute(Fund(address_of(to, "to"), amount_of(amount)))

    def set_balance(self, who: Sender, amount: int | str) -> Receipt:
        """Set the balance of an account by minting or taking the difference (D41).

        The amount is in base units, or a text such as "5 CBY". Only a development chain
        admits this.
        """
        return self.execute(SetBalance(address_of(who, "who"), amount_of(amount)))

    def actor(self, address: Sender) -> Actor:
        """An actor that was deployed earlier, as an object.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        found = self._actor_at(address, "address")
        return Actor(self, found, self._code_of(found))


if TYPE_CHECKING:
    # One Protocol, one suite of behaviour: mypy compares both chains with it here.
    _CHAINS: tuple[type[Chain], ...] = (Devnet, Client)
