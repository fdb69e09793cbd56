"""Explanations and quotes on the wire: the sentences, and each number by its name."""

from node.chain.block import Receipt
from node.chain.dry_run import DryRun
from node.chain.forecast import Forecast
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
    is_of_lane,
    tell_block,
    tell_outlook,
    tell_quote,
    tell_timer,
)
from node.rpc import convert
from node.rpc.v1 import timers_pb2 as pb
from node.rpc.v1 import transactions_pb2, types_pb2

__all__ = [
    "show_block_explanation",
    "show_considered",
    "show_explanation",
    "show_outlook",
    "show_quote",
]


def show_explanation(state: State, told: TimerExplanation) -> pb.ExplainTimerResponse:
    """Why a timer did what it did, and what awaits it."""
    response = pb.ExplainTimerResponse(
        timer=convert.show_timer(_view(told)),
        history=map(_show_step, told.steps),
        put_offs_before=told.put_offs_before,
        is_cut=told.is_cut,
        text=tell_timer(told),
        head=_show_head(state),
    )
    seen = told.forecast
    if seen is not None:
        response.forecast.CopyFrom(_show_forecast(seen))
        if seen.before.is_all:
            response.position = seen.before.at_height
    return response


def _view(told: TimerExplanation) -> TimerView:
    if told.live is not None:
        return told.live
    assert told.end is not None, "a timer lives or has ended"
    return EndedTimer(told.end.height, told.end.decision, told.end.receipt)


def _show_head(state: State) -> types_pb2.BlockRef:
    return convert.show_ref(state.head.height, state.head.hash())


def _show_step(step: Step) -> pb.TimerStep:
    return pb.TimerStep(
        decision=convert.show_decision(step.decision, step.height),
        receipt=_show_receipt(step.receipt, step.height),
    )


def _show_receipt(receipt: Receipt | None, height: Height) -> types_pb2.Receipt | None:
    return None if receipt is None else convert.show_receipt(receipt, height)


def _show_forecast(seen: Forecast) -> pb.TimerForecast:
    terms, before = seen.terms, seen.before
    return pb.TimerForecast(
        height=seen.height,
        cycles_limit=terms.cycles_limit,
        cells_limit=terms.cells_limit,
        price=convert.show_price(terms.price),
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
    )


def show_block_explanation(
    told: BlockExplanation, first: int, count: int
) -> pb.ExplainBlockResponse:
    """What a block decided about timers: some of it, from an index on."""
    return pb.ExplainBlockResponse(
        timers=[
            show_considered(told.height, decision)
            for decision in told.decisions[first : first + count]
        ],
        due_count=len(told.due),
        change_count=len(told.changes),
        text=tell_block(told, first, count),
        contest=None if told.contest is None else _show_contest(told.contest),
    )


def _show_contest(contest: Contest) -> pb.LaneContest:
    return pb.LaneContest(
        basefee_lane=str(contest.basefee_lane),
        contenders=contest.contenders,
        fires=contest.fires,
        put_off=contest.put_off,
        highest_priority=_show_optional(contest.highest),
        marginal_priority=_show_optional(contest.marginal),
        cycles_used=contest.cycles_used,
        lane_cycles=contest.lane,
    )


def _show_optional(number: int | None) -> str:
    return "" if number is None else str(number)


def show_considered(height: Height, decision: TimerDecision) -> pb.BlockTimer:
    """A decision of a block about a timer."""
    return pb.BlockTimer(
        timer_id=decision.timer_id,
        actor=decision.actor,
        fee_payer=decision.fee_payer,
        due_height=decision.due_height,
        decision=convert.show_decision(decision, height),
        is_due=is_of_lane(decision),
    )


def show_quote(state: State, quote: Quote) -> pb.QuoteTimerResponse:
    """What a timer would cost."""
    terms = quote.terms
    return pb.QuoteTimerResponse(
        schedule_cycles=quote.schedule_cycles,
        schedule_cells=quote.schedule_cells,
        schedule_cost=str(quote.schedule_cost),
        cycles_limit=terms.cycles_limit,
        cells_limit=terms.cells_limit,
        price=convert.show_price(terms.price),
        max_cost=str(terms.max_cost),
        expires_at=quote.expires_at,
        balance=str(quote.balance),
        pending_timers=quote.pending,
        pending_cost=str(quote.pending_cost),
        fires_covered=quote.fires_covered,
        fires_free=quote.fires_free,
        fires_a_block=terms.fires_a_block,
        warnings=map(convert.show_warning, quote.warnings),
        text=tell_quote(quote),
        head=_show_head(state),
        weight_ppm=quote.weight_ppm,
        past=map(_show_past, quote.past),
    )


def _show_past(place: PastPlace) -> pb.PastPlace:
    return pb.PastPlace(
        height=place.height,
        basefee_lane=str(place.basefee_lane),
        priority=str(place.priority),
        max_fee=str(place.max_fee),
        fires=place.fires,
        cycles_used=place.cycles_used,
        is_won=place.is_won,
    )


def show_outlook(outlook: DryRun) -> transactions_pb2.Outlook:
    """What the next blocks would bring."""
    return transactions_pb2.Outlook(
        first_height=outlook.start.height + 1,
        last_height=outlook.last_height,
        is_complete=outlook.is_complete,
        summary=convert.show_summary(outlook.summary),
        fires=[
            convert.show_receipt(fire.receipt, fire.height) for fire in outlook.fires
        ],
        removals=[
            show_considered(removal.height, removal.decision)
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
        text=tell_outlook(outlook),
    )
