"""Assertions about timers and events that say why, on every kind of chain."""

from node.chain.block import Event, Receipt, ReceiptKind
from node.chain.timers.timer import Timer
from node.client._sync.actor import Actor, Chain
from node.client.exceptions import FireFailed, InvalidArgument
from node.client.inputs import Sender, address_of, check_count, check_id, check_text
from node.client.sources import ActorSource, Sources

__all__ = ["assert_event", "assert_fires_at"]


def assert_fires_at(
    chain: Chain,
    timer: Actor | Timer | bytes | str,
    height: int,
    *,
    expect_failure: bool = False,
) -> Receipt:
    """Let time pass to a height, check that the timer fires there, return its receipt.

    Args:
        chain: the chain of the timer.
        timer: the timer, its id, or an actor, of which the next timer is meant.
        height: the height at which it must fire, above the present one or passed
            already.
        expect_failure: whether its handler must fail.

    Raises:
        AssertionError: the timer does not fire there, with the explanation why; or its
            handler succeeded although a failure was expected.
        FireFailed: its handler failed, unless `expect_failure`.
        InvalidArgument: the height is no height, or the actor has no live timer.
    """
    __tracebackhide__ = True  # the test is of interest
    check_count("height", height)
    timer_id = _timer_id(chain, timer)
    if chain.height < height:
        chain.advance(height=height, strict=False)
    for receipt in chain.block(height).receipts:
        if receipt.kind is ReceiptKind.FIRE and receipt.id == timer_id:
            if not receipt.is_success and not expect_failure:
                actor = chain.actor(receipt.actor)
                own = ActorSource(actor.source, actor.file)
                sources = Sources({b"": own}, chain.labels)
                raise FireFailed(receipt, height, 1, sources)
            assert receipt.is_success != expect_failure, "a failure was expected"
            return receipt
    raise AssertionError(
        f"the timer 0x{timer_id.hex()} does not fire at height {height}\n"
        f"{chain.explain(timer_id)}"
    )


def _timer_id(chain: Chain, timer: Actor | Timer | bytes | str) -> bytes:
    if isinstance(timer, Timer):
        return timer.timer_id
    if isinstance(timer, Actor):
        live = chain.timers(actor=timer)
        if not live:
            wanted = "an actor with a live timer is wanted (see its `timers`)"
            raise InvalidArgument("timer", wanted, timer)
        return live[0].timer_id
    return check_id("timer", timer)


def assert_event(
    chain: Chain,
    topic: str,
    data: bytes | None = None,
    *,
    emitter: Sender | None = None,
) -> Event:
    """Check that an event happened, and return the latest one that fits.

    Args:
        chain: the chain of the event.
        topic: topic of the event.
        data: the event's data; any data if not given.
        emitter: the actor that emitted it; any actor or the system if not given.

    Raises:
        AssertionError: there is none; the message shows similar ones.
    """
    __tracebackhide__ = True
    check_text("topic", topic)
    address = None if emitter is None else address_of(emitter, "emitter")
    events = chain.events()
    for event in reversed(events):
        if (
            event.topic == topic
            and (data is None or event.data == data)
            and (address is None or event.emitter == address)
        ):
            return event
    same = [event for event in events if event.topic == topic]
    if same:
        found = f"events of this topic: {same[-3:]}"
    else:
        topics = sorted({event.topic for event in events})
        found = f"topics of this chain: {', '.join(topics) or 'none'}"
    raise AssertionError(
        f"no event {topic!r} with data {data!r} by {emitter!r} happened; {found}"
    )
