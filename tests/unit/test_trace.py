"""The timer trace as bytes: what is written is what is read, each at its index."""

from hypothesis import given
from hypothesis import strategies as st

from node.chain.timers.timer import Decision, TimerDecision
from node.chain.timers.trace import (
    count_put_offs,
    decode_entries,
    decode_trace,
    encode_trace,
    find_put_offs,
)

IDS = [bytes([number]) * 32 for number in range(4)]
DUE = 7


def is_put_off(decision: TimerDecision) -> bool:
    return decision.decision is Decision.PUT_OFF


def decision(timer: int, kind: Decision) -> TimerDecision:
    reason = "lane" if kind is Decision.PUT_OFF else ""
    numbers = {"current_height": 9, "sequence": timer}
    if timer % 2:
        numbers["rank"] = timer
    return TimerDecision(*identify(DUE, timer), DUE, kind, reason, numbers)


def identify(due_height, sequence):
    """As the calendar says whose a place is."""
    assert due_height == DUE
    return IDS[sequence], bytes([sequence]) * 20, b"p" * 20


TRACES = st.lists(
    st.builds(
        decision,
        st.integers(0, 3),
        st.sampled_from([Decision.PUT_OFF, Decision.PUT_OFF, Decision.FIRED]),
    ),
    max_size=12,
)


@given(TRACES)
def test_a_mixed_trace_has_each_decision_at_its_index(trace):
    """D17: put-offs "are in the block's timer trace", in order with all else."""
    data, entries = encode_trace(trace)
    assert list(decode_trace(data, identify)) == list(enumerate(trace))
    for skipped in range(len(trace) + 1):
        read = list(decode_trace(data, identify, skipped))
        assert read == list(enumerate(trace))[skipped:]
        read = list(decode_entries(data, skipped))
        assert read == [(at, one) for at, one, _ in entries if at >= skipped]
    others = [(at, one) for at, one in enumerate(trace) if not is_put_off(one)]
    assert [(at, one) for at, one, _ in entries] == others
    assert list(decode_entries(data)) == others
    assert count_put_offs(data) == len(trace) - len(others)
    for sequence, timer_id in enumerate(IDS):
        identity = identify(DUE, sequence)
        assert list(find_put_offs(data, (DUE, sequence), identity)) == [
            (at, one)
            for at, one in enumerate(trace)
            if is_put_off(one) and one.timer_id == timer_id
        ]
