"""System and development instructions (D25, D41, D58).

System instructions are for `system_deployers`; each acts through the same functions
as the host calls do, so that both paths of CIP-5 §5.4 behave alike. One that fails is
a failed transaction (D6).
"""

from msgspec.structs import replace

from node.chain.accounts import load_account, save_account
from node.chain.context import BlockContext, ExecutionScope
from node.chain.effects import StorageWritten, TimerCancelled, TimerExtended
from node.chain.errors import InstructionRefused
from node.chain.globals import (
    GlobalboxClock,
    encode_config,
    save_activation,
    save_basefee_config,
    save_bidding_config,
    save_globalbox_config,
    save_timer_config,
    save_weights_reset,
)
from node.chain.timers import calendar
from node.chain.timers.host_calls import clamp_expiry
from node.chain.transaction import (
    CancelTimer,
    ConfigUpdate,
    ExtendTimer,
    Fund,
    ResetWeights,
    ScheduleActivation,
    SetBalance,
    SetStorage,
    SystemInstruction,
    UpdateBasefeeConfig,
    UpdateBiddingConfig,
    UpdateGlobalboxConfig,
    UpdateTimerConfig,
)
from node.chain.upgrades import require_actor
from node.primitives.types import Address, Amount, Height
from node.state import keys
from pvm import RESERVED_KEYS


def perform_system(
    execution: ExecutionScope, sender: Address, instruction: SystemInstruction
) -> None:
    """Carry out a system instruction.

    Raises:
        InstructionRefused: Unauthorized, TimerNotFound or InvalidInput.
    """
    if sender not in execution.block.params.system_deployers:
        raise InstructionRefused(
            "Unauthorized", "only system deployers may send system instructions"
        )
    match instruction:
        case CancelTimer(timer_id):
            _cancel_timer(execution, timer_id)
        case ExtendTimer(timer_id, new_expires_at):
            _extend_timer(execution, timer_id, new_expires_at)
        case (
            UpdateTimerConfig()
            | UpdateBasefeeConfig()
            | UpdateBiddingConfig()
            | UpdateGlobalboxConfig()
        ):
            _update_config(execution, instruction)
        case ResetWeights():
            height = Height(execution.block.height)
            save_weights_reset(execution.block.journal, height)
            execution.emit_system("weights.reset", height=height)
        case ScheduleActivation(height, rules):
            _schedule_activation(execution, height, rules)


def _cancel_timer(execution: ExecutionScope, timer_id: bytes) -> None:
    """Idempotent: a timer that is gone already is a no-op (CIP-5 §5.4 path 4)."""
    timer = calendar.load_timer(execution.block.journal, timer_id)
    if timer is not None:
        execution.effects.note(TimerCancelled(timer, "governance"))
        execution.emit_system("timer.cancelled_by_governance", timer_id=timer_id)


def _extend_timer(
    execution: ExecutionScope, timer_id: bytes, new_expires_at: int
) -> None:
    timer = calendar.load_timer(execution.block.journal, timer_id)
    if timer is None:
        raise InstructionRefused("TimerNotFound", "no live timer has this id")
    if new_expires_at <= execution.block.height:
        raise InstructionRefused(
            "InvalidInput",
            f"new_expires_at must be above {execution.block.height}, "
            f"not {new_expires_at}",
        )
    extended = clamp_expiry(execution.block, timer, new_expires_at)
    execution.effects.note(TimerExtended(timer, extended, "governance"))
    execution.emit_system(
        "timer.extended_by_governance",
        timer_id=timer_id,
        expires_at=extended.expires_at,
    )


def _update_config(execution: ExecutionScope, instruction: ConfigUpdate) -> None:
    """Replace a config as a whole, from the next block on (D3, D25, D49, D56)."""
    violations = instruction.config.violations()
    if violations:
        raise InstructionRefused("InvalidInput", "; ".join(violations))
    topic = _save_config(execution.block, instruction)
    execution.emit_system(topic, config=encode_config(instruction.config))


def _save_config(block: BlockContext, instruction: ConfigUpdate) -> str:
    """Write a config; the topic of the event that tells of it."""
    journal = block.journal
    match instruction:
        case UpdateTimerConfig(config):
            save_timer_config(journal, config)
            return "timer_config.updated"
        case UpdateBasefeeConfig(config):
            save_basefee_config(journal, config)
            return "basefee_config.updated"
        case UpdateBiddingConfig(config):
            save_bidding_config(journal, config)
            return "bidding_config.updated"
        case UpdateGlobalboxConfig(config):
            save_globalbox_config(journal, config, _stopped_clock(block))
            return "globalbox_config.updated"


def _stopped_clock(block: BlockContext) -> GlobalboxClock:
    """As far as the old weight of age has brought the Globalbox's clock (D52)."""
    w_age = block.globalbox_config.w_age
    clock = block.governed.globalbox_clock.at(block.height, w_age)
    return GlobalboxClock(clock, Height(block.height))


def _schedule_activation(execution: ExecutionScope, height: int, rules: str) -> None:
    block = execution.block
    if height <= block.height:
        raise InstructionRefused(
            "InvalidInput", f"height must be above {block.height}, not {height}"
        )
    if rules not in block.known_rules:
        known = ", ".join(sorted(block.known_rules))
        raise InstructionRefused("InvalidInput", f"known rules are: {known}")
    save_activation(block.journal, height, rules)  # type: ignore[arg-type]
    execution.emit_system("ActivationScheduled", height=height, rules=rules)


def perform_dev(
    execution: ExecutionScope, instruction: Fund | SetBalance | SetStorage
) -> None:
    """Do what a development instruction asks, free of charge (D41, D58).

    Raises:
        InstructionRefused: NotFound or Forbidden.
    """
    block = execution.block
    match instruction:
        case Fund(address, amount):
            account = load_account(block.journal, address)
            _set_balance(block, address, Amount(account.balance + amount))
        case SetBalance(address, balance):
            _set_balance(block, address, Amount(balance))
        case SetStorage():
            _set_storage(execution, instruction)


def _set_balance(block: BlockContext, address: Address, balance: Amount) -> None:
    account = load_account(block.journal, address)
    block.minted += balance - account.balance
    save_account(block.journal, address, replace(account, balance=balance))


def _set_storage(execution: ExecutionScope, instruction: SetStorage) -> None:
    journal = execution.block.journal
    require_actor(journal, instruction.actor)
    if instruction.key in RESERVED_KEYS:
        name = instruction.key.decode()
        raise InstructionRefused("Forbidden", f"{name} is the runtime's own key")
    entry = keys.storage(instruction.actor, instruction.key)
    journal.put(entry, instruction.value)
    execution.effects.note(StorageWritten(entry))
