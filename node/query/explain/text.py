"""Explanations in sentences, as a person would tell them; every number is recorded.

One place for them all: the node sends them, so that `timers why`, programs in other
languages and `Devnet.explain` read alike.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from types import MappingProxyType

from node.chain.block import Receipt, ReceiptKind
from node.chain.dry_run import DryRun, DryRunPayer
from node.chain.params import U64_MAX
from node.chain.timers.timer import Decision, Timer, TimerDecision
from node.primitives.amounts import cby_text
from node.primitives.hex_repr import foreign
from node.query.blocks import Warnings
from node.query.explain.block import BlockExplanation
from node.query.explain.globalbox_text import (
    bid_text,
    enqueued_text,
    hit_text,
    materialized_text,
    passed_over_text,
    put_back_text,
    queue_text,
    returned_text,
    room_text,
    turns_text,
    watch_text,
)
from node.query.explain.lane_text import (
    contest_text,
    lost_text,
    past_text,
    place_text,
    won_text,
)
from node.query.explain.numbers import counted
from node.query.explain.quote import Quote
from node.query.explain.timer import Step, TimerExplanation
from node.query.forecasts.forecast import FireTerms, Forecast

__all__ = ["block_text", "decision_text", "dry_run_text", "quote_text", "timer_text"]


def timer_text(told: TimerExplanation) -> str:
    """A timer's life in lines: what it is, what was decided, what awaits it."""
    who = (
        f"{_kind_text(told)} 0x{told.timer_id.hex()} of actor 0x{told.actor.hex()}, "
        f"paid by {_payer(told)}{_due_text(told)}"
    )
    lines = [who + _standing(told)]
    if told.is_taken_over:
        lines.append("It came with a state: no block here tells who scheduled it.")
    if told.is_cut:
        lines.append("Of its history the beginning and the latest part:")
    if told.put_offs_before is not None:
        lines.append(
            f"(How often it was put off below height {told.put_offs_before:,} was not "
            "looked up: ask for put-offs to a lower height.)"
        )
    for _, group in groupby(told.steps, _kind):
        steps = list(group)
        lines.append(f"{_when(steps)}: {_steps_text(steps)}.")
    lines.extend(_upgrade_text(told))
    lines.extend(_live_text(told))
    return "\n".join(lines)


def _kind_text(told: TimerExplanation) -> str:
    return "Watch" if told.is_watch else "Timer"


def _due_text(told: TimerExplanation) -> str:
    if told.is_watch:
        return ""
    is_ahead = told.forecast is not None and told.forecast.height == told.due_height
    return f", {'is' if is_ahead else 'was'} due at height {told.due_height:,}"


def _live_text(told: TimerExplanation) -> Iterator[str]:
    """How a live timer is doing, and what awaits it."""
    live = told.live
    if live is None:
        return
    if live.watch is not None:
        yield from watch_text(live.timer, live.watch)
    if live.queued is not None:
        yield queue_text(live.queued)
    if told.forecast is not None:
        yield from _forecast_text(told.forecast)
        yield from _supposed_bid_text(live.timer, told.forecast)


def _supposed_bid_text(timer: Timer, seen: Forecast) -> Iterator[str]:
    """Whose bid its place is told by: who foretells asks no agent."""
    if timer.gba is None or seen.place is None or seen.is_expiring:
        return
    if seen.place.standing.waits_for in ("cap", "funds"):
        return  # nobody will ask it
    if timer.last_bid is None:
        yield "Its agent has not bid yet: this supposes the default bid."
    else:
        yield "This supposes what its agent last bid; the block will ask it anew."


def _upgrade_text(told: TimerExplanation) -> Iterator[str]:
    """That an upgrade took its handler, if one did, and when (D58)."""
    if not told.upgrades:
        return
    when = f"the upgrade of its actor at height {told.upgrades[-1]:,}"
    receipt = told.steps[-1].receipt if told.steps else None
    failure = None if receipt is None else receipt.failure
    if told.end is not None and failure and failure.kind == "HandlerNotFound":
        yield f"Its handler was gone: {when} took it."
    elif told.is_handler_lost:
        yield (
            f"Its handler is gone: {when} took it. As things stand its fire will fail "
            "with HandlerNotFound, and be paid for."
        )


def _payer(told: TimerExplanation) -> str:
    if told.fee_payer == told.actor:
        return "the actor itself"
    return f"0x{told.fee_payer.hex()}"


_STANDING: Mapping[Decision, str] = MappingProxyType(
    {
        Decision.FIRED: "it fired",
        Decision.EXPIRED: "it expired",
        Decision.CANCELLED: "it was cancelled",
        Decision.REMOVED_INSUFFICIENT_FUNDS: (
            "it was removed, since its payer could not pay"
        ),
    }
)


def _standing(told: TimerExplanation) -> str:
    end = told.end
    if end is not None:
        return f"; {_STANDING[end.decision.decision]} at height {end.height:,}."
    if told.live is None:
        return "."
    if told.live.queued is not None:
        return f"; it is queued (sequence {told.live.timer.sequence:,})."
    bucket = told.live.bucket
    place = told.live.tier.value if bucket is None else f"{told.live.tier} {bucket:,}"
    return f"; it waits ({place}, sequence {told.live.timer.sequence:,})."


def _kind(step: Step) -> tuple[Decision, str] | int:
    """Put-offs for one reason, one after another, are told in one sentence."""
    if step.decision.decision is Decision.PUT_OFF:
        return Decision.PUT_OFF, step.decision.reason
    return id(step)


def _when(steps: list[Step]) -> str:
    first, last = steps[0].height, steps[-1].height
    if first == last:
        return f"Height {first:,}"
    return f"Heights {first:,} to {last:,}"


def _steps_text(steps: list[Step]) -> str:
    last = steps[-1]
    text = decision_text(last.decision, last.receipt)
    if len(steps) == 1:
        return text
    return f"{text}; so {len(steps):,} times, here the last"


def decision_text(decision: TimerDecision, receipt: Receipt | None = None) -> str:
    """One decision with its reason and the numbers compared."""
    return _TELLERS[decision.decision](decision, receipt)


def _number(decision: TimerDecision, name: str) -> str:
    return f"{decision.numbers[name]:,}"


def _scheduled_text(decision: TimerDecision, receipt: Receipt | None) -> str:
    by = _cause(decision, receipt)
    limit = decision.numbers.get("gas_limit")
    cycles = "" if limit is None else f" with up to {limit:,} cycles"
    if "watch_keys" in decision.numbers:
        keys = counted(decision.numbers["watch_keys"], "watch key")
        return (
            f"registered{by} on {keys}{cycles}; it expires after height "
            f"{_number(decision, 'expires_at')}"
        )
    late = decision.numbers["expires_at"] < decision.due_height
    warning = " (before it is due: it will not fire unless extended)" if late else ""
    return (
        f"scheduled{by} for height {decision.due_height:,}{cycles}; it expires after "
        f"height {_number(decision, 'expires_at')}{warning}"
    )


def _extended_text(decision: TimerDecision, receipt: Receipt | None) -> str:
    by = _cause(decision, receipt)
    return f"extended{by}: expires after height {_number(decision, 'expires_at')}"


_PUT_OFF: Mapping[str, str] = MappingProxyType(
    {
        "cap": "it may use {limit} cycles, and {cap} are the most in force",
        "lane_basefee": (
            "its agent offered at most {max_fee} a cycle, and the lane's basefee was "
            "{basefee_lane}"
        ),
        "below_basefee": (
            "its agent offered at most {max_fee} a cycle, and the basefee was "
            "{basefee_cycle}"
        ),
        "lane": (
            "the timer lane had no room: {reserved} of its {lane} cycles were reserved "
            "by timers before it, and it may use {limit}"
        ),
        "cells": (
            "the block had no room for its cells: {cells_used} of {cells_limit} were "
            "used, and a fire may use {cells_cap}"
        ),
        "writes": "the block had written {writes} keys, of {limit} that it may",
        "gc": (
            "it was to be removed, but the cleanup lane was spent: {gc_cycles_used} of "
            "{gc_cycles_limit} cycles"
        ),
    }
)


def _put_off_text(decision: TimerDecision, _receipt: Receipt | None) -> str:
    if decision.reason == "lane" and "rank" in decision.numbers:
        return f"put off: {lost_text(decision)}"
    if decision.reason == "funds":
        return f"put off: {_short_of_funds(decision)}"
    why = _PUT_OFF.get(decision.reason)
    if why is None:
        return f"put off: {decision.reason} ({_listed(decision)})"
    numbers = {name: f"{number:,}" for name, number in decision.numbers.items()}
    return "put off: " + why.format_map(numbers)


def _fired_text(decision: TimerDecision, receipt: Receipt | None) -> str:
    numbers = decision.numbers
    text = (
        f"fired: {won_text(numbers)}its payer had {cby_text(numbers['available'])}, of "
        f"which {cby_text(numbers['max_cost'])} was set aside; it used "
        f"{numbers['cycles_used']:,} cycles and {numbers['cells_used']:,} cells"
    )
    if receipt is None:
        return text
    text += f" for {cby_text(receipt.fee)}, the rest was returned"
    if receipt.failure is None:
        return f"{text}; {receipt.handler} succeeded"
    failure = receipt.failure
    line = "" if failure.line is None else f" (line {failure.line})"
    message = foreign(failure.message, is_multiline=True)
    return f"{text}; {receipt.handler} failed with {failure.kind}{line}: {message}"


def _expired_text(decision: TimerDecision, _receipt: Receipt | None) -> str:
    return (
        f"expired: the height {_number(decision, 'current_height')} is above "
        f"{_number(decision, 'expires_at')}, the last at which it could have fired"
    )


def _cancelled_text(decision: TimerDecision, receipt: Receipt | None) -> str:
    who = "governance" if decision.reason == "governance" else "its actor"
    refund = decision.numbers.get("refunded")
    back = "" if refund is None else f"; {cby_text(refund)} set aside were returned"
    return f"cancelled by {who}{_cause(decision, receipt)}{back}"


def _removed_text(decision: TimerDecision, _receipt: Receipt | None) -> str:
    required, available = decision.numbers["required"], decision.numbers["available"]
    return (
        f"removed: a fire sets aside {cby_text(required)} and its payer "
        f"0x{decision.fee_payer.hex()} had {cby_text(available)}, "
        f"{cby_text(required - available)} too little; keep one such reserve for each "
        "pending timer"
    )


def _short_of_funds(decision: TimerDecision) -> str:
    """Under `bidding`, where nobody is removed for it."""
    required, available = decision.numbers["required"], decision.numbers["available"]
    return (
        f"a fire sets aside at least {cby_text(required)} and its payer "
        f"0x{decision.fee_payer.hex()} had {cby_text(available)}, "
        f"{cby_text(required - available)} too little"
    )


def _sleep_text(decision: TimerDecision, _receipt: Receipt | None) -> str:
    if decision.reason == "funds":
        return (
            f"sleeps through epoch {_number(decision, 'epoch')}, unless its payer gets "
            f"{cby_text(decision.numbers['required'])}: it has "
            f"{cby_text(decision.numbers['available'])}"
        )
    if decision.reason == "below_basefee":
        return (
            f"sleeps: the basefee rises to {_number(decision, 'basefee_cycle')}, "
            f"above its maximum fee of {_number(decision, 'max_fee')}"
        )
    if decision.reason == "cap":
        return (
            f"sleeps: it may use {_number(decision, 'limit')} cycles, and "
            f"{_number(decision, 'cap')} are the most in force"
        )
    return (
        f"sleeps: the lane's basefee rises to {_number(decision, 'basefee_lane')}, "
        f"above its maximum fee of {_number(decision, 'max_fee')}"
    )


def _woken_text(decision: TimerDecision, _receipt: Receipt | None) -> str:
    reasons = {
        "below_basefee": "its maximum fee reaches the basefee",
        "cap": "its limit fits the cap in force",
        "epoch": "another epoch began, and its payer is asked for again",
        "expired": "its expiry passed",
        "funds": "its payer has what was wanted",
        "lane_basefee": "its maximum fee reaches the lane's basefee",
    }
    return f"woke: {reasons[decision.reason]}"


def _updated_text(decision: TimerDecision, receipt: Receipt | None) -> str:
    return (
        f"updated{_cause(decision, receipt)}: up to {_number(decision, 'gas_limit')} "
        f"cycles, and a bid of {bid_text(decision.numbers['bid_fp'])}"
    )


_TELLERS: Mapping[Decision, Callable[[TimerDecision, Receipt | None], str]] = (
    MappingProxyType(
        {
            Decision.SCHEDULED: _scheduled_text,
            Decision.EXTENDED: _extended_text,
            Decision.UPDATED: _updated_text,
            Decision.HIT: hit_text,
            Decision.ENQUEUED: enqueued_text,
            Decision.PASSED_OVER: passed_over_text,
            Decision.MATERIALIZED: materialized_text,
            Decision.PUT_BACK: put_back_text,
            Decision.RETURNED: returned_text,
            Decision.PUT_OFF: _put_off_text,
            Decision.SLEPT: _sleep_text,
            Decision.WOKE: _woken_text,
            Decision.FIRED: _fired_text,
            Decision.EXPIRED: _expired_text,
            Decision.CANCELLED: _cancelled_text,
            Decision.REMOVED_INSUFFICIENT_FUNDS: _removed_text,
        }
    )
)


def _listed(decision: TimerDecision) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in sorted(decision.numbers.items()))


def _cause(decision: TimerDecision, receipt: Receipt | None) -> str:
    """The execution that decided, as far as it is known."""
    if any(decision.origin):
        return f" in transaction 0x{decision.origin.hex()}"
    if receipt is not None and receipt.kind is ReceiptKind.FIRE:
        return f" in the fire of timer 0x{receipt.id.hex()}"
    return ""


def _forecast_text(seen: Forecast) -> Iterable[str]:
    """What awaits it; as things stand, which is said."""
    when = f"Height {seen.height:,}, as things stand"
    if seen.is_expiring:
        yield f"{when}: it will be removed, since it expires after {seen.expires_at:,}."
        return
    terms, before = seen.terms, seen.before
    yield (
        f"{when}: it is looked at; a fire sets aside {cby_text(terms.max_cost)} at the "
        f"prices of the next block ({_price_text(terms)})."
    )
    if seen.place is not None:
        yield place_text(seen.place)
    yield f"Its payer has {cby_text(seen.available)}{_funds_text(seen)}."
    if seen.place is not None and seen.place.standing.waits_for:
        return  # whoever stands before it, there is no turn
    if seen.room is not None:
        yield room_text(seen.room)
        if not seen.room.is_left:
            return  # the block ends before it, or passes it over
    more = "" if before.is_all else "at least "
    lane = terms.config.lane_timer_cycles
    if not before.timers:
        yield "No timer stands before it in the lane."
        return
    room = "it fits" if seen.is_room else "it will be put off"
    most = ""
    if seen.place is not None:
        most = "at most "
        room = "it fits" if seen.is_room else "it depends on what they really use"
    yield (
        f"Before it in the lane: {more}{_timers(before.timers)} with {most}"
        f"{before.reserved:,} of {lane:,} cycles; it may use {terms.cycles_limit:,}, "
        f"so {room}."
    )


def _price_text(terms: FireTerms) -> str:
    return (
        f"{terms.cycles_limit:,} cycles at {terms.price.cycle:,} and "
        f"{terms.cells_limit:,} cells at {terms.price.cell:,} base units"
    )


def _funds_text(seen: Forecast) -> str:
    cost, before = seen.terms.max_cost, seen.before.payer_cost
    left_out = "put off" if seen.terms.is_patient else "removed"
    if seen.is_payable:
        beside = f", beside {cby_text(before)} for others before it" if before else ""
        return f": enough{beside}"
    if before and seen.available >= cost:
        return (
            f": not enough beside {cby_text(before)} for others before it, so it may "
            f"be {left_out}"
        )
    return f", {cby_text(cost - seen.available)} too little: it will be {left_out}"


def block_text(told: BlockExplanation, first: int = 0, count: int | None = None) -> str:
    """What a block decided about timers, one line each, in the order of looking.

    Of a page of them: from the index `first` on, `count` of them.
    """
    due, changes = len(told.due), len(told.changes)
    last = due + changes if count is None else first + count
    lines = []
    if not first:
        looked_at = _timers(told.looked_at, "due ")
        lines.append(f"Block {told.height:,} looked at {looked_at}.")
        if told.contest is not None:
            lines.append(contest_text(told.contest))
        if told.turns is not None:
            lines.append(turns_text(told.turns))
    for number, decision in enumerate(told.due[first:last], first + 1):
        line = _decision_line(decision, told.height)
        lines.append(f"{number}. {line}")
    if changes and first <= due < last:
        lines.append(f"Executions scheduled or changed {_timers(changes)}:")
    later = told.changes[max(0, first - due) : max(0, last - due)]
    lines.extend(f"- {_decision_line(decision)}" for decision in later)
    return "\n".join(lines)


def _timers(number: int, which: str = "") -> str:
    return counted(number, f"{which}timer")


def _decision_line(decision: TimerDecision, turn: int = U64_MAX) -> str:
    """What was decided; what had its turn before it is due is a watch (D51)."""
    due = decision.due_height
    when = f"due {due:,}" if due <= turn else "a watch"
    timer = f"0x{decision.timer_id.hex()} of 0x{decision.actor.hex()}"
    return f"{timer}, {when}: {decision_text(decision)}."


def quote_text(quote: Quote) -> str:
    """What a timer would cost, and for how many fires there is money."""
    terms = quote.terms
    scheduling = (
        f"Scheduling it now takes {quote.schedule_cycles:,} cycles and "
        f"{quote.schedule_cells:,} cells: {cby_text(quote.schedule_cost)}, beside what "
        "the execution around it takes."
    )
    fire = (
        f"A fire sets aside {cby_text(terms.max_cost)} ({_price_text(terms)}) and "
        "returns what it does not use."
    )
    funds = (
        f"Its payer has {cby_text(quote.balance)}: at the full cost that covers "
        f"{quote.fires_covered:,} fires, and {quote.fires_free:,} beside the reserves "
        f"for {_timers(quote.pending, 'pending ')} ({cby_text(quote.pending_cost)})."
    )
    lines = [scheduling, fire, funds]
    lines.extend(
        _WARNINGS[warning].format(
            fires=terms.fires_a_block,
            until=quote.expires_at,
            left_out="put off" if terms.is_patient else "removed",
        )
        for warning in quote.warnings
    )
    lines.extend(past_text(quote.past))
    return "\n".join(lines)


_WARNINGS: Mapping[Warnings, str] = MappingProxyType(
    {
        Warnings.EXPIRES_BEFORE_DUE: (
            "Warning: it expires after height {until:,}, before it is due, so it will "
            "not fire unless it is extended."
        ),
        Warnings.FEW_FIRES_FILL_A_BLOCK: (
            "Warning: {fires:,} such fires fill the timer lane of a block; state a "
            "gas_limit near what the handler uses."
        ),
        Warnings.PAYER_CANNOT_PAY: (
            "Warning: the payer cannot set aside one more fire; the timer would be "
            "{left_out} when it is due."
        ),
        Warnings.TIMER_LIMIT_REACHED: (
            "Warning: the actor holds as many timers as it may; the call would be "
            "refused."
        ),
    }
)


def dry_run_text(seen: DryRun) -> str:
    """What the next blocks would bring: fires, costs, and who runs dry when."""
    summary = seen.summary
    failed = f", of which {summary.fires_failed:,} fail" if summary.fires_failed else ""
    fires = counted(summary.fires, "fire")
    head = (
        f"Heights {seen.start.height + 1:,} to {seen.last_height:,}, if nobody sends "
        f"anything: {fires} for {cby_text(summary.fire_fees)}{failed}; put off "
        f"{summary.put_off:,} times, {summary.expired:,} expire, {summary.removed:,} "
        "are removed since their payer cannot pay."
    )
    lines = [head]
    if not seen.is_complete:
        lines.append(
            f"Height {seen.stop:,} was not reached: the rest is too much at once."
        )
    lines.extend(
        f"0x{payer.hex()} pays {_payer_text(one, seen.balance(payer))}."
        for payer, one in seen.payers.items()
    )
    return "\n".join(lines)


def _payer_text(seen: DryRunPayer, balance: int) -> str:
    text = f"{cby_text(seen.fees)} for {counted(seen.fires, 'fire')}"
    text += f" and has {cby_text(balance)} at the end"
    if seen.dry_at is None:
        return text
    end = "has a timer wait" if seen.is_waiting else "loses a timer"
    return f"{text}; at height {seen.dry_at:,} it cannot pay and {end}"
