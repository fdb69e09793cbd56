"""Bodies and instructions → protobuf: what clients need as well as the server.

Imports little, so that `node.client` stays light.
"""

from node.chain.params import (
    BasefeeConfig,
    BiddingConfig,
    GlobalboxConfig,
    TimerConfig,
)
from node.chain.transaction import (
    Body,
    CancelTimer,
    ConfigUpdate,
    DeployActor,
    DevInstruction,
    ExecuteActor,
    ExtendTimer,
    Fund,
    Instruction,
    ResetWeights,
    ScheduleActivation,
    SetBalance,
    SetCode,
    SetStorage,
    SystemInstruction,
    Transfer,
    UpdateBasefeeConfig,
    UpdateBiddingConfig,
    UpdateGlobalboxConfig,
    UpdateTimerConfig,
    UpgradeActor,
)
from node.rpc.v1 import types_pb2

__all__ = [
    "basefee_config_to_proto",
    "bidding_config_to_proto",
    "body_to_proto",
    "globalbox_config_to_proto",
    "instruction_to_proto",
    "timer_config_to_proto",
]


def body_to_proto(body: Body) -> types_pb2.Body:
    """What is signed, as fields."""
    return types_pb2.Body(
        chain_id=body.chain_id,
        nonce=body.nonce,
        cycles_limit=body.cycles_limit,
        cells_limit=body.cells_limit,
        max_fee_per_cycle=str(body.max_fee_per_cycle),
        max_priority_fee_per_cycle=str(body.max_priority_fee_per_cycle),
        max_fee_per_cell=str(body.max_fee_per_cell),
        max_priority_fee_per_cell=str(body.max_priority_fee_per_cell),
        instruction=instruction_to_proto(body.instruction),
    )


def instruction_to_proto(instruction: Instruction) -> types_pb2.Instruction:
    """What a transaction asks."""
    message = types_pb2.Instruction()
    match instruction:
        case Transfer(to, amount):
            message.transfer.to, message.transfer.amount = to, str(amount)
        case DeployActor(salt, code, payload, value):
            deployment = types_pb2.DeployActor(
                salt=salt, code=code, payload=payload, value=str(value)
            )
            message.deploy_actor.CopyFrom(deployment)
        case ExecuteActor(actor, handler, payload, value):
            call = types_pb2.ExecuteActor(
                actor=actor, handler=handler, payload=payload, value=str(value)
            )
            message.execute_actor.CopyFrom(call)
        case UpgradeActor(actor, code, payload):
            upgrade = types_pb2.UpgradeActor(actor=actor, code=code, payload=payload)
            message.upgrade_actor.CopyFrom(upgrade)
        case Fund() | SetBalance() | SetStorage() | SetCode():
            _dev_instruction_to_proto(instruction, message)
        case _:
            _system_instruction_to_proto(instruction, message)
    return message


def _dev_instruction_to_proto(
    instruction: DevInstruction, message: types_pb2.Instruction
) -> None:
    match instruction:
        case Fund(to, amount):
            message.fund.to, message.fund.amount = to, str(amount)
        case SetBalance(address, amount):
            message.set_balance.address = address
            message.set_balance.amount = str(amount)
        case SetStorage(actor, key, value):
            written = types_pb2.SetStorage(actor=actor, key=key, value=value)
            message.set_storage.CopyFrom(written)
        case SetCode(actor, code):
            message.set_code.actor, message.set_code.code = actor, code


def _system_instruction_to_proto(
    instruction: SystemInstruction, message: types_pb2.Instruction
) -> None:
    match instruction:
        case CancelTimer(timer_id):
            message.cancel_timer.timer_id = timer_id
        case ExtendTimer(timer_id, new_expires_at):
            message.extend_timer.timer_id = timer_id
            message.extend_timer.new_expires_at = new_expires_at
        case ResetWeights():
            message.reset_weights.SetInParent()
        case ScheduleActivation(height, rules):
            message.schedule_activation.height = height
            message.schedule_activation.rules = rules
        case _:
            _config_update_to_proto(instruction, message)


def _config_update_to_proto(
    instruction: ConfigUpdate, message: types_pb2.Instruction
) -> None:
    match instruction:
        case UpdateTimerConfig(config):
            shown = timer_config_to_proto(config)
            message.update_timer_config.config.CopyFrom(shown)
        case UpdateBasefeeConfig(config):
            message.update_basefee_config.config.CopyFrom(
                basefee_config_to_proto(config)
            )
        case UpdateBiddingConfig(config):
            message.update_bidding_config.config.CopyFrom(
                bidding_config_to_proto(config)
            )
        case UpdateGlobalboxConfig(config):
            message.update_globalbox_config.config.CopyFrom(
                globalbox_config_to_proto(config)
            )


def timer_config_to_proto(config: TimerConfig) -> types_pb2.TimerConfig:
    """Governed timer parameters."""
    return types_pb2.TimerConfig(
        max_ttl_blocks=config.max_ttl_blocks,
        max_cycles_per_fire=config.max_cycles_per_fire,
        max_cells_per_fire=config.max_cells_per_fire,
        max_timers_per_actor=config.max_timers_per_actor,
        gc_cycles_per_block=config.gc_cycles_per_block,
        lane_timer_cycles=config.lane_timer_cycles,
        max_cycles_per_fire_auction=config.max_cycles_per_fire_auction,
        fairness_window_blocks=config.fairness_window_blocks,
        tier_multipliers_permille=config.tier_multipliers_permille,
        max_due_examined=config.max_due_examined,
        lane_gba_cycles=config.lane_gba_cycles,
        fire_base_cycles=config.fire_base_cycles,
    )


def basefee_config_to_proto(config: BasefeeConfig) -> types_pb2.BasefeeConfig:
    """Governed fee parameters."""
    return types_pb2.BasefeeConfig(
        target_cycles=config.target_cycles,
        target_cells=config.target_cells,
        alpha=config.alpha,
        denom=config.denom,
        min_basefee=config.min_basefee,
    )


def bidding_config_to_proto(config: BiddingConfig) -> types_pb2.BiddingConfig:
    """Governed parameters of the rules `bidding`."""
    return types_pb2.BiddingConfig(
        lambda_permille=config.lambda_permille,
        weight_min=config.weight_min,
        weight_max=config.weight_max,
        starvation_floor=config.starvation_floor,
    )


def globalbox_config_to_proto(config: GlobalboxConfig) -> types_pb2.GlobalboxConfig:
    """Governed parameters of the rules `globalbox`."""
    return types_pb2.GlobalboxConfig(
        max_fires_per_block=config.max_fires_per_block,
        max_fires_per_target=config.max_fires_per_target,
        max_timers_per_target=config.max_timers_per_target,
        w_age=str(config.w_age),
        w_bid=config.w_bid,
        min_gas_limit=config.min_gas_limit,
        min_bid_fp=str(config.min_bid_fp),
        max_bid_fp=str(config.max_bid_fp),
        max_watch_keys=config.max_watch_keys,
        max_hits_per_block=config.max_hits_per_block,
        max_payload=config.max_payload,
    )
