"""How timers competed for the lane under `bidding`, in sentences.

The bid, the effective tip, what broke the tie, and the slice of the lane. As in `text`,
every number is one that was recorded when it was decided (D17).
"""

from collections.abc import Mapping
from types import MappingProxyType

from node.chain.timers.timer import TimerDecision
from node.query.explain.block import Contest
from node.query.explain.numbers import counted, ordinal, ppm_text
from node.query.forecasts.lane_position import LanePosition

__all__ = ["bidding_contest_text", "bidding_place_text", "lost_bid_text", "turn_text"]


def turn_text(numbers: Mapping[str, int]) -> str:
    """Where it came, and by what."""
    return (
        f"it came {ordinal(numbers['rank'])} of {numbers['contenders']:,} by an "
        f"effective tip of {numbers['effective_tip']:,} ({_bid_text(numbers)}; ties go "
        f"by its actor's weight of {ppm_text(numbers['weight_ppm'])} times its wait of "
        f"{counted(numbers['waited'], 'block')} and one), in round {numbers['round']}, "
        f"when its actor had used {numbers['actor_used']:,} of its slice of "
        f"{numbers['slice']:,} cycles"
    )


def _bid_text(numbers: Mapping[str, int]) -> str:
    text = (
        f"a bid of {numbers['tip']:,} and at most {numbers['max_fee']:,} a cycle, at a "
        f"basefee of {numbers['basefee_cycle']:,}"
    )
    if "agent_answered" in numbers:
        answered = numbers["agent_answered"]
        text += ", by its agent" if answered else ", by default since its agent was "
        text += "" if answered else "not heard"
    return text


def lost_bid_text(decision: TimerDecision) -> str:
    """Why the lane had no room, and whose fire took the last place."""
    numbers, rival = decision.numbers, decision.rival
    text = (
        f"{turn_text(numbers)}, and the timers before it used {numbers['used']:,} of "
        f"the lane's {numbers['lane']:,} cycles, too many for the {numbers['limit']:,} "
        "that it may use"
    )
    if rival is None:
        return text
    return (
        f"{text}; the last place that would have done went to timer 0x{rival.hex()} "
        f"with an effective tip of {numbers['marginal_tip']:,}"
    )


def bidding_contest_text(contest: Contest) -> str:
    """How a block's lane was filled."""
    fires = f"{contest.fires:,} of {contest.contenders:,} contenders fired"
    text = f"At a basefee of {contest.basefee_cycle:,} a cycle {fires}"
    if contest.fires:
        text += f" and used {contest.cycles_used:,} of {contest.lane:,} cycles"
    if contest.marginal is None:
        return f"{text}; nobody was put off for want of room."
    assert contest.highest is not None, "the last place was somebody's"
    return (
        f"{text}; {contest.put_off:,} were put off for want of room. Effective tips "
        f"went from {ppm_text(contest.highest)} to {ppm_text(contest.marginal)} at "
        "the last place."
    )


_WAITS: Mapping[str, str] = MappingProxyType(
    {
        "funds": "its payer cannot pay the basefees of a fire",
        "below_basefee": (
            "its maximum fee of {fee:,} is below the basefee of {basefee:,} a cycle"
        ),
    }
)


def bidding_place_text(place: LanePosition) -> str:
    """Where a timer stands, as things are."""
    standing = place.standing
    if standing.waits_for:
        why = _WAITS[standing.waits_for].format(
            fee=standing.max_fee, basefee=standing.basefee_cycle
        )
        return f"It gets no turn whatever others offer: {why}."
    text = (
        f"Its effective tip is {standing.priority:,} a cycle above the basefee of "
        f"{standing.basefee_cycle:,}; its actor's weight is "
        f"{ppm_text(standing.weight_ppm)}"
    )
    if place.slice_cycles is not None:
        text += f", which makes a slice of {place.slice_cycles:,} cycles"
    if place.rank is None or place.contenders is None:
        return f"{text}."
    return f"{text}: {ordinal(place.rank)} of {place.contenders:,} known to compete."
