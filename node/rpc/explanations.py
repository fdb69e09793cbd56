"""Explanations and quotes on the wire: the sentences, and each number by its name."""

from node.chain.block import Receipt
from node.chain.dry_run import DryRun
from node.chain.timers.timer import TimerDecision
from node.chain.transition import State
from node.primitives.types import Height
from node.query import (
    BlockExplanation,
    Contest,
    EndedTimer,
    PastPlace,
    Quote,
    Step,
    TimerExplanation,
    TimerView,
    block_text,
    dry_run_text,
    is_of_lane,
    quote_text,
    timer_text,
)
from node.query.explain.block import QueueTurns
from node.query.forecasts.forecast import Forecast, QueueRoom
from node.rpc import convert
from node.rpc.v1 import timers_pb2 as pb
from node.rpc.v1 import transactions_pb2, types_pb2

__all__ = [
    "block_explanation_to_proto",
    "considered_to_proto",
    "explanation_to_proto",
    "outlook_to_proto",
    "quote_to_proto",
]


def explanation_to_proto(
    state: State, told: TimerExplanation
) -> pb.ExplainTimerResponse:
    """Why a timer did what it did, and what awaits it."""
    response = pb.ExplainTimerResponse(
        timer=convert.timer_to_proto(_view(told)),
        history=map(_step_to_proto, told.steps),
        put_offs_before=told.put_offs_before,
        is_cut=told.is_cut,
        text=timer_text(told),
        head=_head_to_proto(state),
    )
    seen = told.forecast
    if seen is not None:
        response.forecast.CopyFrom(_forecast_to_proto(seen))
        if seen.before.is_all:
            response.position = seen.before.at_height
    return response


def _view(told: TimerExplanation) -> TimerView:
    if told.live is not None:
        return told.live
    assert told.end is not None, "a timer lives or has ended"
    return EndedTimer(told.end.height, told.end.decision, told.end.receipt)


def _head_to_proto(state: State) -> types_pb2.BlockRef:
    return convert.ref_to_proto(state.head.height, state.head.hash())


def _step_to_proto(step: Step) -> pb.TimerStep:
    return pb.TimerStep(
        decision=convert.decision_to_proto(step.decision, step.height),
        receipt=_receipt_to_proto(step.receipt, step.height),
    )


def _receipt_to_proto(
    receipt: Receipt | None, height: Height
) -> types_pb2.Receipt | None:
    return None if receipt is None else convert.receipt_to_proto(receipt, height)


def _forecast_to_proto(seen: Forecast) -> pb.TimerForecast:
    terms, before = seen.terms, seen.before
    return pb.TimerForecast(
        height=seen.height,
        cycles_limit=terms.cycles_limit,
        cells_limit=terms.cells_limit,
        price=convert.price_to_proto(terms.price),
        max_cost=str(terms.max_cost),
        available=str(seen.available),
        is_payable=seen.is_payable,
        is_expiring=seen.is_expiring,
        timers_before=before.timers,
        cycles_before=before.reserved,
        payer_cost_before=str(before.payer_cost),
        is_more_before=not before.is_all,
        lane_cycles=terms.config.lane_timer_cycles,
        is_room=seen.is_room,
        room=None if seen.room is None else _room_to_proto(seen.room),
    )


def _room_to_proto(room: QueueRoom) -> pb.QueueRoom:
    return pb.QueueRoom(
        fires=room.fires,
        fires_max=room.quotas.fires,
        target_fires=room.target_fires,
        target_fires_max=room.quotas.target_fires,
    )


def block_explanation_to_proto(
    told: BlockExplanation, first: int, count: int
) -> pb.ExplainBlockResponse:
    """What a block decided about timers: some of it, from an index on."""
    return pb.ExplainBlockResponse(
        timers=[
            considered_to_proto(told.height, decision)
            for decision in told.decisions[first : first + count]
        ],
        due_count=len(told.due),
        change_count=len(told.changes),
        text=block_text(told, first, count),
        contest=None if told.contest is None else _contest_to_proto(told.contest),
        turns=None if told.turns is None else _turns_to_proto(told.turns),
    )


def _turns_to_proto(turns: QueueTurns) -> pb.QueueTurns:
    return pb.QueueTurns(
        hits=turns.hits,
        enqueued=turns.enqueued,
        passed_over=turns.passed_over,
        materialized=turns.materialized,
        put_back=turns.put_back,
        returned=turns.returned,
    )


def _contest_to_proto(contest: Contest) -> pb.LaneContest:
    return pb.LaneContest(
        basefee_lane=str(contest.basefee_lane),
        contenders=contest.contenders,
        fires=contest.fires,
        put_off=contest.put_off,
        highest_priority=_optional_to_proto(contest.highest),
        marginal_priority=_optional_to_proto(contest.marginal),
        cycles_used=contest.cycles_used,
        lane_cycles=contest.lane,
        basefee_cycle=_optional_to_proto(contest.basefee_cycle),
    )


def _optional_to_proto(number: int | None) -> str:
    return "" if number is None else str(number)


def considered_to_proto(height: Height, decision: TimerDecision) -> pb.BlockTimer:
    """A decision of a block about a timer."""
    return pb.BlockTimer(
        timer_id=decision.timer_id,
        actor=decision.actor,
        fee_payer=decision.fee_payer,
        due_height=decision.due_height,
        decision=convert.decision_to_proto(decision, height),
        is_due=is_of_lane(decision),
    )


def quote_to_proto(state: State, quote: Quote) -> pb.QuoteTimerResponse:
    """What a timer would cost."""
    terms = quote.terms
    return pb.QuoteTimerResponse(
        schedule_cycles=quote.schedule_cycles,
        schedule_cells=quote.schedule_cells,
        schedule_cost=str(quote.schedule_cost),
        cycles_limit=terms.cycles_limit,
        cells_limit=terms.cells_limit,
        price=convert.price_to_proto(terms.price),
        max_cost=str(terms.max_cost),
        expires_at=quote.expires_at,
        balance=str(quote.balance),
        pending_timers=quote.pending,
        pending_cost=str(quote.pending_cost),
        fires_covered=quote.fires_covered,
        fires_free=quote.fires_free,
        fires_a_block=terms.fires_a_block,
        warnings=map(convert.warning_to_proto, quote.warnings),
        text=quote_text(quote),
        head=_head_to_proto(state),
        weight_ppm=quote.weight_ppm,
        past=map(_past_to_proto, quote.past),
    )


def _past_to_proto(place: PastPlace) -> pb.PastPlace:
    return pb.PastPlace(
        height=place.height,
        basefee_lane=str(place.basefee_lane),
        priority=str(place.priority),
        max_fee=str(place.max_fee),
        fires=place.fires,
        cycles_used=place.cycles_used,
        is_won=place.is_won,
    )


def outlook_to_proto(outlook: DryRun) -> transactions_pb2.Outlook:
    """What the next blocks would bring."""
    return transactions_pb2.Outlook(
        first_height=outlook.start.height + 1,
        last_height=outlook.last_height,
        is_complete=outlook.is_complete,
        summary=convert.summary_to_proto(outlook.summary),
        fires=[
            convert.receipt_to_proto(fire.receipt, fire.height)
            for fire in outlook.fires
        ],
        removals=[
            considered_to_proto(removal.height, removal.decision)
            for removal in outlook.removals
        ],
        payers=[
            transactions_pb2.PayerOutlook(
                payer=payer,
                fires=seen.fires,
                fees=str(seen.fees),
                balance=str(outlook.balance(payer)),
                dry_height=seen.dry_at,
            )
            for payer, seen in outlook.payers.items()
        ],
        text=dry_run_text(outlook),
    )
