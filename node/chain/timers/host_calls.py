"""The timer host calls: validation, cost and effect (CIP-5 §4, §6.1; D18 to D21).

Each has the stanza of every host call: CHARGE the base, VALIDATE, CHARGE for size,
EFFECT. What they do is seen at once by the same execution and leaves with its
`ExecutionSideEffects`; a failed execution leaves none of it.
"""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from node.chain.accounts import credit, load_account, save_account
from node.chain.context import BlockContext, ExecutionScope, QueuedFire
from node.chain.effects import (
    FireCancelled,
    TimerCancelled,
    TimerExtended,
    TimerScheduled,
)
from node.chain.host_arguments import (
    expect_address,
    expect_bytes,
    expect_height,
    expect_int,
    refuse,
)
from node.chain.params import (
    HANDLER_BYTES_MAX,
    TIMER_ID_BYTES_MAX,
    U64_MAX,
    is_reserved,
)
from node.chain.timers.ruleset import FeeTerms
from node.chain.timers.timer import (
    Timer,
    derive_timer_id,
    is_handler_too_long,
    route_payload,
    watch_height,
)
from node.primitives.types import Address, Height, TimerId
from pvm import HostError, HostErrorCode, ScheduleRequest, costs

if TYPE_CHECKING:
    from node.chain.host import ActorHost


def schedule_timer(host: "ActorHost", request: ScheduleRequest) -> bytes:
    """Accept one timer; the height must lie in the future (CIP-5 §4.2, §5.3)."""
    # CHARGE
    host.meter.charge_cycles(costs.SCHEDULE_TIMER)
    # VALIDATE
    terms = host.execution.block.rule_set.validate_terms(host.execution, request)
    height = expect_due_height(host, request.height, "height")
    timer = validate_timer(host, request, terms, height)
    require_room(host, timer)
    handler = validate_handler(host.execution, timer.payload)
    # CHARGE for size
    host.meter.charge_cells(len(timer.payload))
    # EFFECT
    return accept(host, replace(timer, handler=handler), terms)


def accept(host: "ActorHost", timer: Timer, terms: FeeTerms) -> TimerId:
    """Give a timer its sequence and, unless its client did, its id (D19)."""
    block, execution = host.execution.block, host.execution
    timer_id = timer.timer_id
    if not timer_id:
        account = load_account(block.journal, host.actor)
        counter = account.scheduling_counter
        save_account(
            block.journal, host.actor, replace(account, scheduling_counter=counter + 1)
        )
        height = Height(0) if timer.is_watch else timer.height
        timer_id = derive_timer_id(host.actor, height, timer.payload, counter)
    sequence = block.timer_sequence + execution.effects.timers_scheduled
    host.note(
        TimerScheduled(replace(timer, timer_id=timer_id, sequence=sequence), terms)
    )
    return timer_id


def expect_due_height(host: "ActorHost", value: object, name: str) -> Height:
    """A height in the future (CIP-5 §4.2)."""
    current = host.execution.block.height
    height = expect_height(value, name)
    if height <= current:
        refuse(f"{name}: above the current {current} is wanted, not {height}")
    return height


def require_room(host: "ActorHost", timer: Timer) -> None:
    """Its owner and its target hold fewer live timers than they may (D56)."""
    block, effects = host.execution.block, host.execution.effects
    owned_max = block.timer_config.max_timers_per_actor
    if effects.count_timers(block.journal, host.actor) >= owned_max:
        raise HostError(
            HostErrorCode.TimerLimit,
            f"an actor holds at most {owned_max} live timers",
        )
    guests_max = block.globalbox_config.max_timers_per_target
    target = timer.other_target
    if target and effects.count_guests(block.journal, target) >= guests_max:
        raise HostError(
            HostErrorCode.TimerLimit,
            f"other actors hold at most {guests_max} live timers on one target",
        )


def validate_timer(
    host: "ActorHost", request: ScheduleRequest, terms: FeeTerms, height: Height
) -> Timer:
    """The timer as it would be recorded, its id and sequence still to be given."""
    block = host.execution.block
    config = block.timer_config
    payload = expect_payload(host, request.payload)
    fee_payer = _validate_fee_payer(host, request.fee_payer)
    gas_limit = (
        block.rule_set.cycles_cap(config)
        if request.gas_limit is None
        else expect_gas_limit(host, request.gas_limit)
    )
    latest = min(block.height + config.max_ttl_blocks, U64_MAX)
    expires_at = (
        latest
        if request.expires_at is None
        else expect_int(request.expires_at, "expires_at", 0, latest)
    )
    gba = block.rule_set.validate_agent(host.execution, host.actor, request)
    return Timer(
        height=height,
        sequence=0,
        timer_id=TimerId(b""),  # given with the sequence, once accepted
        actor=host.actor,
        payload=payload,
        handler="",  # routed last, which takes longest
        fee_payer=fee_payer,
        gas_limit=gas_limit,
        is_gas_limit_defaulted=request.gas_limit is None,
        expires_at=Height(expires_at),
        scheduled_at=Height(block.height),
        max_fee_per_cycle=terms.max_fee_per_cycle,
        max_priority_fee_per_cycle=terms.max_priority_fee_per_cycle,
        gba=gba,
        bid_fp=terms.bid_fp,
        bucket=terms.bucket,
    )


def expect_payload(host: "ActorHost", value: object) -> bytes:
    """Bytes for a handler, as many as the rules admit (CIP-5 §4.2, D56)."""
    block = host.execution.block
    bytes_max = block.rule_set.bounds(block).payload_bytes_max
    return expect_bytes(value, "payload", 0, bytes_max)


def expect_gas_limit(host: "ActorHost", value: object) -> int:
    """Cycles of a fire: the entry charge at least, the cap at most (D16, D23, D56)."""
    block = host.execution.block
    least = block.rule_set.bounds(block).gas_limit_min
    cap = block.rule_set.cycles_cap(block.timer_config)
    return expect_int(value, "gas_limit", least, cap)


def validate_handler(execution: ExecutionScope, payload: bytes) -> str:
    """The handler that a payload names, "" for the default one (D12).

    A refused payload is not paid for (D16); making it was, by the byte. So each is
    parsed once in an execution, however often it is refused.
    """
    handler = execution.handlers_named.get(payload)
    if handler is None:
        handler, _ = route_payload(payload)
        execution.handlers_named[payload] = handler
    if is_handler_too_long(handler):
        refuse(f"payload: _handler has at most {HANDLER_BYTES_MAX} bytes")
    return handler


def _validate_fee_payer(host: "ActorHost", value: object) -> Address:
    """The actor itself, or the signer of the running transaction (CIP-5 §4.2, D13)."""
    if value is None:
        return host.actor
    fee_payer = expect_address(value, "fee_payer")
    if is_reserved(fee_payer):
        refuse("fee_payer: neither the zero address nor a system actor can pay")
    if host.execution.block.rule_set.is_owner_paying and fee_payer != host.actor:
        refuse("fee_payer: under these rules every actor pays for its own timers")
    if fee_payer not in (host.actor, host.execution.signer):
        refuse(
            "fee_payer: the executing actor or the signer of this transaction is "
            "wanted; nobody else has consented"
        )
    return fee_payer


def extend_timer(host: "ActorHost", timer_id: object, new_expires_at: object) -> None:
    """Exists → owner → new > current → clamp → set, even if lower (D20)."""
    # CHARGE
    host.meter.charge_cycles(costs.EXTEND_TIMER)
    # VALIDATE
    expires_at = expect_height(new_expires_at, "new_expires_at")
    timer = own_timer(host, timer_id)
    block = host.execution.block
    if expires_at <= block.height:
        refuse(
            f"new_expires_at: above the current {block.height} is wanted, "
            f"not {expires_at}"
        )
    # EFFECT
    extended = clamp_expiry(block, timer, expires_at)
    host.note(TimerExtended(timer, extended, "actor"))


def clamp_expiry(block: BlockContext, timer: Timer, expires_at: int) -> Timer:
    """The timer with another expiry: both extension paths alike (CIP-5 §5.4)."""
    latest = block.height + block.timer_config.max_ttl_blocks
    clamped = Height(min(expires_at, latest, U64_MAX))
    height = timer.height
    if timer.is_watch:  # which is collected there, and nowhere else (D51)
        height = watch_height(clamped, timer.scheduled_at)
    return replace(timer, expires_at=clamped, height=height)


def cancel_timer(host: "ActorHost", timer_id: object) -> None:
    """Remove an own timer; one queued in this block gets its pre-charge back (D21)."""
    # CHARGE
    host.meter.charge_cycles(costs.CANCEL_TIMER)
    # VALIDATE
    queued = _queued(host.execution, timer_id)
    if queued is not None:
        if queued.timer.actor != host.actor:
            raise _unauthorized()
        # EFFECT, the refund at once; the lane's reservation is not given back (D21)
        journal = host.execution.block.journal
        credit(journal, queued.timer.fee_payer, queued.max_cost)
        host.note(FireCancelled(queued.timer, queued.max_cost))
        return
    timer = own_timer(host, timer_id)
    # EFFECT
    host.note(TimerCancelled(timer, "actor"))


def _queued(execution: ExecutionScope, timer_id: object) -> QueuedFire | None:
    """A fire that waits in this block's queue, unless somebody cancelled it."""
    if type(timer_id) is not bytes or execution.effects.is_gone(timer_id):
        return None
    queued = execution.block.queue.get(timer_id)
    return None if queued is None or queued.is_cancelled else queued


def get_timer(
    host: "ActorHost", timer_id: object
) -> dict[str, int | bytes | str | None] | None:
    """Fields of an own live timer, or None."""
    # CHARGE
    host.meter.charge_cycles(costs.GET_TIMER)
    # VALIDATE
    identifier = _expect_timer_id(timer_id)
    # EFFECT
    execution = host.execution
    timer = execution.effects.load_timer(execution.block.journal, identifier)
    if timer is None or timer.actor != host.actor:
        return None
    return {
        "timer_id": timer.timer_id,
        "height": None if timer.is_watch else timer.height,
        "payload": timer.payload,
        "handler": timer.handler or None,
        "fee_payer": timer.fee_payer,
        "gas_limit": timer.gas_limit,
        "expires_at": timer.expires_at,
        "scheduled_at": timer.scheduled_at,
    }


def list_timers(host: "ActorHost") -> list[bytes]:
    """Ids of the actor's live timers, in due order."""
    # CHARGE, for what is there before it is read
    journal, effects = host.execution.block.journal, host.execution.effects
    count = effects.count_timers(journal, host.actor)
    host.meter.charge_cycles(costs.LIST_TIMERS + costs.LIST_TIMERS_PER_ENTRY * count)
    # EFFECT
    return effects.timer_ids_of(journal, host.actor)


def _expect_timer_id(value: object) -> bytes:
    return expect_bytes(value, "timer_id", 1, TIMER_ID_BYTES_MAX)


def own_timer(host: "ActorHost", timer_id: object) -> Timer:
    """A live timer of the executing actor; other actors' are Unauthorized."""
    identifier = _expect_timer_id(timer_id)
    execution = host.execution
    timer = execution.effects.load_timer(execution.block.journal, identifier)
    if timer is None:
        raise HostError(HostErrorCode.TimerNotFound, "no live timer has this id")
    if timer.actor != host.actor:
        raise _unauthorized()
    return timer


def _unauthorized() -> HostError:
    return HostError(
        HostErrorCode.Unauthorized, "the timer belongs to another actor (CIP-5 §4.2)"
    )
