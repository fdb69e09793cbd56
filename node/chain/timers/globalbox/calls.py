"""The host calls of `globalbox`: validation, cost and effect (GBX §6, D50).

Each has the stanza of every host call: CHARGE the base, VALIDATE, CHARGE for size,
EFFECT. Under other rules they are refused once their base is charged.
"""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from node.chain.accounts import load_account
from node.chain.context import ExecutionScope
from node.chain.effects import TimerUpdated
from node.chain.host_arguments import (
    expect_address,
    expect_bytes,
    expect_int,
    expect_text,
    refuse,
)
from node.chain.params import CLIENT_NONCE_BYTES_MAX, WATCH_PREFIX_BYTES_MAX
from node.chain.timers.host_calls import (
    accept,
    expect_due_height,
    expect_gas_limit,
    expect_payload,
    own_timer,
    require_room,
    validate_handler,
    validate_timer,
)
from node.chain.timers.timer import (
    WatchKey,
    derive_client_id,
    watch_height,
)
from node.primitives.types import Address, Height, TimerId
from pvm import (
    STORAGE_PREFIX,
    HostError,
    HostErrorCode,
    ScheduleRequest,
    TimeoutRequest,
    WatchRequest,
    costs,
)

if TYPE_CHECKING:
    from node.chain.host import ActorHost

RULES = "globalbox"


def set_timeout(host: "ActorHost", request: TimeoutRequest) -> bytes:
    """Have a target called at a height (GBX §6.1)."""
    # CHARGE
    host.meter.charge_cycles(costs.SCHEDULE_TIMER)
    # VALIDATE
    _require_rules(host)
    target = _validate_target(host, request.target)
    height = expect_due_height(host, request.due_height, "due_height")
    # CHARGE for size, EFFECT
    return _set(host, request, target, (height, ()))


def set_state_watch(host: "ActorHost", request: WatchRequest) -> bytes:
    """Have a target called when state changes that it watches (GBX §6.1, D51)."""
    # CHARGE
    host.meter.charge_cycles(costs.SCHEDULE_TIMER)
    # VALIDATE
    _require_rules(host)
    target = _validate_target(host, request.target)
    watch_keys = _validate_watch_keys(host, request.watch_keys)
    # CHARGE for size, EFFECT
    return _set(host, request, target, (Height(0), watch_keys))


def _set(
    host: "ActorHost",
    request: TimeoutRequest | WatchRequest,
    target: Address,
    trigger: tuple[Height, tuple[WatchKey, ...]],
) -> bytes:
    """What both calls share: a due height, or what is watched, is the trigger."""
    stated = ScheduleRequest(
        None,
        request.payload,
        gas_limit=request.gas_limit,
        expires_at=request.expires_at,
        bid=request.bid_fp,
    )
    block = host.execution.block
    terms = block.rule_set.validate_terms(host.execution, stated)
    height, watch_keys = trigger
    timer = validate_timer(host, stated, terms, height)
    if watch_keys:
        height = watch_height(timer.expires_at, timer.scheduled_at)
    timer = replace(
        timer,
        height=height,
        other_target=None if target == host.actor else target,
        watch_keys=watch_keys,
    )
    client_id = _validate_client_nonce(host, target, request.client_nonce)
    handler = validate_handler(host.execution, timer.payload)
    is_known = client_id is not None and _is_live(host.execution, client_id)
    if not is_known:
        require_room(host, timer)
    # CHARGE for size
    host.meter.charge_cycles(costs.WATCH_KEY * len(watch_keys))
    host.meter.charge_cells(
        len(timer.payload)
        + sum(costs.WATCH_KEY_CELLS + len(prefix) for _, prefix in watch_keys)
    )
    # EFFECT
    if client_id is not None:
        if is_known:
            return client_id
        timer = replace(timer, timer_id=client_id)
    return accept(host, replace(timer, handler=handler), terms)


def update_timer(
    host: "ActorHost",
    timer_id: object,
    payload: object,
    gas_limit: object,
    bid_fp: object,
) -> None:
    """Change what an own timer says of its fires to come (GBX §6.2)."""
    # CHARGE
    host.meter.charge_cycles(costs.UPDATE_TIMER)
    # VALIDATE
    _require_rules(host)
    before = own_timer(host, timer_id)
    timer = before
    if payload is not None:
        data = expect_payload(host, payload)
        handler = validate_handler(host.execution, data)
        timer = replace(timer, payload=data, handler=handler)
    if gas_limit is not None:
        limit = expect_gas_limit(host, gas_limit)
        timer = replace(timer, gas_limit=limit, is_gas_limit_defaulted=False)
    if bid_fp is not None:
        timer = replace(timer, bid_fp=expect_bid(host.execution, bid_fp, "bid_fp"))
    # CHARGE for size
    if payload is not None:
        host.meter.charge_cells(len(timer.payload))
    # EFFECT
    host.note(TimerUpdated(before, timer))


def expect_bid(execution: ExecutionScope, value: object, name: str) -> int:
    """A bid within the bounds in force; Q32.96, base units a cycle (D50)."""
    config = execution.block.globalbox_config
    return expect_int(value, name, config.min_bid_fp, config.max_bid_fp)


def _require_rules(host: "ActorHost") -> None:
    if host.execution.block.rule_set.name != RULES:
        raise HostError(
            HostErrorCode.UnsupportedTimerType,
            f"only the rules {RULES} know this call; schedule_timer is known to all",
        )


def _validate_target(host: "ActorHost", value: object) -> Address:
    target = expect_address(value, "target")
    if not load_account(host.execution.block.journal, target).is_actor:
        raise HostError(HostErrorCode.NotFound, "target: no actor lives there")
    return target


def _validate_client_nonce(
    host: "ActorHost", target: Address, value: object
) -> TimerId | None:
    """The id that a client's nonce gives a timer; None without one (GBX §6.2)."""
    if value is None:
        return None
    nonce = expect_bytes(value, "client_nonce", 1, CLIENT_NONCE_BYTES_MAX)
    return derive_client_id(host.actor, target, nonce)


def _is_live(execution: ExecutionScope, timer_id: TimerId) -> bool:
    """Whether a timer of this id lives, or is materialized and has not begun (D50)."""
    block = execution.block
    if timer_id in block.materialized:
        return True
    return execution.effects.load_timer(block.journal, timer_id) is not None


def _validate_watch_keys(host: "ActorHost", value: object) -> tuple[WatchKey, ...]:
    """What is watched: (address, prefix), or a prefix of the actor's own state."""
    count_max = host.execution.block.globalbox_config.max_watch_keys
    if type(value) not in (list, tuple):
        refuse("watch_keys: a list is wanted")
    assert isinstance(value, (list, tuple))
    if not 1 <= len(value) <= count_max:
        refuse(f"watch_keys: 1 to {count_max} are wanted, not {len(value)}")
    return tuple([_validate_watch_key(host.actor, key) for key in value])


def _validate_watch_key(actor: Address, value: object) -> WatchKey:
    address, prefix = actor, value
    if type(value) in (list, tuple):
        assert isinstance(value, (list, tuple))
        if len(value) != 2:  # noqa: PLR2004 - a pair
            refuse(f"watch_keys: (address, prefix) is wanted, not {len(value)} values")
        address, prefix = expect_address(value[0], "watch_keys: address"), value[1]
    if type(prefix) is str:
        room = WATCH_PREFIX_BYTES_MAX - len(STORAGE_PREFIX)
        text = expect_text(prefix, "watch_keys: prefix", room)
        return address, STORAGE_PREFIX + text.encode()
    return address, expect_bytes(
        prefix, "watch_keys: prefix", 0, WATCH_PREFIX_BYTES_MAX
    )


__all__ = ["expect_bid", "set_state_watch", "set_timeout", "update_timer"]
