"""How timers competed for the lane, in sentences: under `auction` here.

Priority, weight, effective priority, the price of the last place and whose fire took
it; what a place cost in the last blocks. As in `text`, every number is one that was
recorded when it was decided (D17).
"""

from collections.abc import Mapping
from itertools import groupby
from types import MappingProxyType

from node.chain.timers.timer import TimerDecision
from node.query.explain.bidding_text import (
    bidding_contest_text,
    bidding_place_text,
    lost_bid_text,
    turn_text,
)
from node.query.explain.block import Contest
from node.query.explain.lane_history import PastPlace
from node.query.explain.numbers import ordinal, ppm_text
from node.query.forecasts.lane_position import LanePosition

__all__ = [
    "contest_text",
    "lost_text",
    "past_text",
    "place_text",
    "won_text",
]


def _turn_text(numbers: Mapping[str, int]) -> str:
    """Where it came, and by what."""
    if "effective_tip" in numbers:
        return turn_text(numbers)
    return (
        f"it came {ordinal(numbers['rank'])} of {numbers['contenders']:,} by an "
        f"effective priority of {ppm_text(numbers['effective_priority'])} "
        f"({_offer_text(numbers)}, times its actor's weight of "
        f"{ppm_text(numbers['weight_ppm'])})"
    )


def _offer_text(numbers: Mapping[str, int]) -> str:
    priority, stated = numbers["priority"], numbers["max_priority"]
    text = f"{priority:,} a cycle above the lane's basefee of "
    text += f"{numbers['basefee_lane']:,}"
    if priority < stated:
        text += f", all that its maximum fee of {numbers['max_fee']:,} leaves of the "
        text += f"{stated:,} offered"
    if "agent_answered" in numbers:
        answered = numbers["agent_answered"]
        text += ", as its agent bid" if answered else ", by default since its agent "
        text += "" if answered else "was not heard"
    return text


def won_text(numbers: Mapping[str, int]) -> str:
    """Why it had its turn: the beginning of a sentence, or nothing under `fifo`."""
    return f"{_turn_text(numbers)}; " if "rank" in numbers else ""


def lost_text(decision: TimerDecision) -> str:
    """Why the lane had no room, and what the last place would have cost."""
    if "effective_tip" in decision.numbers:
        return lost_bid_text(decision)
    numbers, rival = decision.numbers, decision.rival
    text = (
        f"{_turn_text(numbers)}, and the timers before it used {numbers['used']:,} of "
        f"the lane's {numbers['lane']:,} cycles, too many for the {numbers['limit']:,} "
        "that it may use"
    )
    if rival is None:
        return text
    marginal = numbers["marginal_priority"]
    wanted = marginal // numbers["weight_ppm"] + 1
    return (
        f"{text}; the last place that would have done went to timer 0x{rival.hex()} at "
        f"{ppm_text(marginal)}, so {wanted:,} a cycle would have won it"
    )


def contest_text(contest: Contest) -> str:
    """How a block's lane was filled."""
    if contest.basefee_cycle is not None:
        return bidding_contest_text(contest)
    fires = f"{contest.fires:,} of {contest.contenders:,} contenders fired"
    text = f"At a lane basefee of {contest.basefee_lane:,} a cycle {fires}"
    if contest.fires:
        text += f" and used {contest.cycles_used:,} of {contest.lane:,} cycles"
    if contest.marginal is None:
        return f"{text}; nobody was put off for want of room."
    assert contest.highest is not None, "the last place was somebody's"
    return (
        f"{text}; {contest.put_off:,} were put off for want of room. Effective "
        f"priorities went from {ppm_text(contest.highest)} down to "
        f"{ppm_text(contest.marginal)}, the price of the last place."
    )


_WAITS: Mapping[str, str] = MappingProxyType(
    {
        "cap": "its limit is above the cap in force",
        "lane_basefee": (
            "its maximum fee of {fee:,} is below the lane's basefee of {basefee:,}"
        ),
    }
)


def place_text(place: LanePosition) -> str:
    """Where a timer stands, as things are."""
    standing = place.standing
    if standing.basefee_cycle is not None:
        return bidding_place_text(place)
    if standing.waits_for:
        why = _WAITS[standing.waits_for].format(
            fee=standing.max_fee, basefee=standing.basefee_lane
        )
        return f"It gets no turn whatever others offer: {why}."
    text = (
        f"It offers {standing.priority:,} a cycle above the lane's basefee of "
        f"{standing.basefee_lane:,}, times its actor's weight of "
        f"{ppm_text(standing.weight_ppm)} an effective priority of "
        f"{ppm_text(standing.effective_priority)}"
    )
    if place.rank is None or place.contenders is None:
        return f"{text}."
    return f"{text}: {ordinal(place.rank)} of {place.contenders:,} known to compete."


def past_text(past: tuple[PastPlace, ...]) -> list[str]:
    """What a place in the last blocks would have cost, the latest first."""
    if not past:
        return []
    won = sum(place.is_won for place in past)
    head = (
        f"Of the last {len(past):,} blocks under `auction` it would have had a turn in "
        f"{won:,}. A turn there would have cost, a cycle in the lane:"
    )
    lines = [head]
    for _, group in groupby(past, key=lambda one: (one.basefee_lane, one.priority)):
        places = list(group)
        last, first = places[0], places[-1]
        where = f"height {last.height:,}"
        if first is not last:
            where = f"heights {first.height:,} to {last.height:,}"
        tip = f" and a priority of {last.priority:,}" if last.priority else ""
        lines.append(
            f"- {where}: {last.max_fee:,}, the basefee of {last.basefee_lane:,}{tip} "
            f"({last.fires:,} fires)"
        )
    return lines
