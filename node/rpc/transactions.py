"""TransactionService: from a wish to a committed receipt."""

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from node.chain.errors import InvalidTransaction, TransactionFault
from node.chain.simulation import Simulated, simulate_transaction, unsigned
from node.chain.transaction import (
    Transaction,
    decode_transaction,
    impersonate,
    signing_hash,
)
from node.chain.transition import State
from node.chain.validation import max_cost
from node.query import committed_height, warnings_of
from node.rpc import convert, explanations, instructions, requests
from node.rpc.answers import Answers
from node.rpc.draft_completion import MARGIN_PERMILLE, complete_draft
from node.rpc.requests import InvalidRequest
from node.rpc.service import Context, at_height, state_at
from node.rpc.v1 import transactions_pb2 as pb
from node.rpc.v1.transactions_pb2_grpc import TransactionServiceServicer
from node.runtime.dry_run import look_ahead
from node.runtime.types import (
    Backend,
    Committed,
    DroppedTransaction,
    Pending,
    RevertedTransaction,
)

__all__ = ["Transactions"]

_SENT_AGAIN = (TransactionFault.ALREADY_KNOWN, TransactionFault.NONCE_USED)
"""How the pool refuses what it, or the chain, has already."""


EVENTS_SHOWN_AT_ONCE = 256
"""Of a simulation: a millisecond. More are put into messages beside the event loop."""


class Transactions(TransactionServiceServicer):
    """Serves `TransactionService` from a backend."""

    def __init__(
        self, backend: Backend, answers: Answers | None = None, *, is_dev: bool
    ) -> None:
        self._backend = backend
        self._answers = answers or Answers()
        self._is_dev = is_dev

    @override
    async def Prepare(
        self,
        request: pb.PrepareRequest,
        context: Context[pb.PrepareRequest, pb.PrepareResponse],
    ) -> pb.PrepareResponse:
        """Fields in, body and signing hash out."""
        draft = requests.draft_from_proto(request.draft)
        completed = await self._backend.run_read(
            lambda state: complete_draft(state, draft)
        )
        body = completed.body
        if draft.nonce is None:
            body = replace(body, nonce=self._backend.next_nonce(draft.sender))
        encoded = body.encode()
        # What it may cost does not depend on who signs.
        unsigned = decode_transaction(impersonate(encoded, draft.sender))
        return pb.PrepareResponse(
            body=encoded,
            signing_hash=signing_hash(encoded),
            fields=instructions.body_to_proto(body),
            max_cost=str(max_cost(unsigned)),
        )

    @override
    async def Submit(
        self,
        request: pb.SubmitRequest,
        context: Context[pb.SubmitRequest, pb.SubmitResponse],
    ) -> pb.SubmitResponse:
        """Answers as soon as the transaction is admitted."""
        raw = self._raw(request.transaction, request.as_sender)
        transaction, is_known = await self._admit(raw)
        return pb.SubmitResponse(
            id=transaction.id, sender=transaction.sender, is_known=is_known
        )

    @override
    async def SubmitAndWait(
        self,
        request: pb.SubmitAndWaitRequest,
        context: Context[pb.SubmitAndWaitRequest, pb.SubmitAndWaitResponse],
    ) -> pb.SubmitAndWaitResponse:
        """Answers when the transaction is in a block, or dropped."""
        raw = self._raw(request.transaction, request.as_sender)
        transaction, _ = await self._admit(raw)
        match await self._backend.wait_for(transaction.id):
            case Committed() as committed:
                printed = self._backend.outputs_of(committed.block_hash)
                return await self._answers.one(
                    context,
                    convert.weigh_committed(committed),
                    pb.SubmitAndWaitResponse,
                    lambda: pb.SubmitAndWaitResponse(
                        committed=convert.committed_to_proto(
                            committed, printed, is_brief=True
                        )
                    ),
                )
            case DroppedTransaction() as dropped:
                return pb.SubmitAndWaitResponse(
                    dropped=convert.dropped_to_proto(dropped)
                )
            case RevertedTransaction(transaction_id):
                return pb.SubmitAndWaitResponse(reverted=transaction_id)

    async def _admit(self, raw: bytes) -> tuple[Transaction, bool]:
        """Admit once: who did not hear the answer may send the same bytes again.

        Also whether they had been admitted before.
        """
        try:
            return await self._backend.submit(raw), False
        except InvalidTransaction as error:
            if error.fault not in _SENT_AGAIN:
                raise
            transaction = decode_transaction(raw)
            known = self._backend.look_up(transaction.id)
            if isinstance(known, Pending) or (
                committed_height(self._backend.state, transaction.id) is not None
            ):
                return transaction, True
            raise

    def _raw(self, transaction: bytes, as_sender: bytes) -> bytes:
        if not as_sender:
            return transaction
        if not self._is_dev:
            raise InvalidTransaction(
                TransactionFault.NOT_DEV, "this node does not impersonate senders"
            )
        sender = requests.parse_address(as_sender, "as_sender")
        return impersonate(transaction, sender)

    @override
    async def Simulate(
        self,
        request: pb.SimulateRequest,
        context: Context[pb.SimulateRequest, pb.SimulateResponse],
    ) -> pb.SimulateResponse:
        """The receipt that a transaction would get alone in the next block."""
        height, backend = at_height(request), self._backend
        subject = request.WhichOneof("subject")
        if subject is None and not request.blocks:
            raise InvalidRequest("subject", "is a transaction or a draft: set one")
        if subject == "transaction":
            raw = request.transaction
            wanted = await backend.run_read(lambda state: _signed(state, raw), height)
        elif subject == "draft":
            draft = requests.draft_from_proto(request.draft)
            wanted = await backend.run_read(
                lambda state: _drafted(state, draft), height
            )
        else:
            wanted = _Simulation(await state_at(backend, height), None)
        response = await self._simulated(wanted)
        if request.profile and wanted.transaction is not None:
            from node.rpc.profiling import (  # noqa: PLC0415 - if asked
                told_profile_to_proto,
                transaction_profile,
            )

            profile = await transaction_profile(
                backend,
                wanted.state,
                wanted.transaction,
                response.receipt.cycles_used,
                is_dev=self._is_dev,
            )
            told = await self._answers.run(lambda: told_profile_to_proto(profile))
            response.profile.CopyFrom(told)
        if request.trace and wanted.transaction is not None:
            response.MergeFrom(await self._traced(wanted.state, wanted.transaction))
        if request.blocks:
            first = () if wanted.transaction is None else (wanted.transaction,)
            outlook = await look_ahead(backend, wanted.state, request.blocks, first)
            shown = await self._answers.run(
                lambda: explanations.outlook_to_proto(outlook)
            )
            response.outlook.CopyFrom(shown)
        return response

    async def _traced(
        self, state: State, transaction: Transaction
    ) -> pb.SimulateResponse:
        """Which calls a transaction makes; nothing, if it could not be included."""
        from node.query.trace.tracing import (  # noqa: PLC0415 - if asked
            trace_simulation,
        )
        from node.rpc.traces import trace_to_proto  # noqa: PLC0415

        _, trace = await self._backend.run_read(
            lambda _state: trace_simulation(state, transaction)
        )
        if trace is None:
            return pb.SimulateResponse()
        return await self._answers.run(
            lambda: pb.SimulateResponse(trace=trace_to_proto(trace))
        )

    async def _simulated(self, wanted: "_Simulation") -> pb.SimulateResponse:
        """What the transaction, if there is one, would do alone in the next block."""
        state, transaction = wanted.state, wanted.transaction
        if transaction is None:
            head = convert.ref_to_proto(state.head.height, state.head.hash())
            return pb.SimulateResponse(head=head)
        simulated = await self._backend.run_read(
            lambda _state: simulate_transaction(state, transaction)
        )
        if len(simulated.events) <= EVENTS_SHOWN_AT_ONCE:
            return _simulated_to_proto(state, simulated)
        return await self._answers.run(lambda: _simulated_to_proto(state, simulated))

    @override
    async def EstimateLimits(
        self,
        request: pb.EstimateLimitsRequest,
        context: Context[pb.EstimateLimitsRequest, pb.EstimateLimitsResponse],
    ) -> pb.EstimateLimitsResponse:
        """Limits that suffice, found by execution, whatever the draft states."""
        height = at_height(request)
        stated = requests.draft_from_proto(request.draft)
        draft = replace(stated, cycles_limit=None, cells_limit=None)
        completed = await self._backend.run_read(
            lambda state: complete_draft(state, draft), height
        )
        head = completed.state.head
        return pb.EstimateLimitsResponse(
            cycles_limit=completed.body.cycles_limit,
            cells_limit=completed.body.cells_limit,
            margin_permille=MARGIN_PERMILLE,
            head=convert.ref_to_proto(head.height, head.hash()),
        )


class _Simulation(Struct, frozen=True):
    """What is simulated, on which state."""

    state: State
    transaction: Transaction | None


def _signed(state: State, raw: bytes) -> _Simulation:
    return _Simulation(state, decode_transaction(raw))


def _drafted(state: State, draft: requests.TransactionDraft) -> _Simulation:
    completed = complete_draft(state, draft)
    return _Simulation(*unsigned(state, completed.body, draft.sender))


def _simulated_to_proto(state: State, simulated: Simulated) -> pb.SimulateResponse:
    head = state.head
    message = pb.SimulateResponse(head=convert.ref_to_proto(head.height, head.hash()))
    if simulated.refused is not None:
        message.refused.CopyFrom(convert.refused_to_proto(b"", simulated.refused))
        return message
    assert simulated.receipt is not None
    receipt, height = simulated.receipt, head.height + 1
    warnings = warnings_of(simulated.events).get(receipt.index, ())
    output = simulated.output
    message.receipt.CopyFrom(
        convert.receipt_to_proto(receipt, height, warnings, output)
    )
    message.events.extend(
        convert.event_to_proto(event, height, index)
        for index, event in enumerate(simulated.events)
    )
    return message
