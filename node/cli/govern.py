"""`cowboy-devnet govern`: rules and parameters, as a system deployer changes them.

A configuration is sent whole (D25): what is not named stays as the node shows it. The
chain refuses what breaks a rule of D25, and says which.
"""

from typing import TypeVar

import click
from google.protobuf import json_format

from node.chain.params import TIERS
from node.cli import Group, arguments
from node.cli.connection import Connection, client_command
from node.cli.output import amount
from node.cli.transactions import Sending, send, sending_command
from node.rpc.v1 import queries_pb2 as messages
from node.rpc.v1 import types_pb2
from node.rpc.v1.queries_pb2_grpc import QueryServiceStub

__all__ = ["govern"]

_Config = TypeVar(
    "_Config",
    types_pb2.TimerConfig,
    types_pb2.BasefeeConfig,
    types_pb2.BiddingConfig,
    types_pb2.GlobalboxConfig,
)
_CHANGES = click.argument("changes", nargs=-1, required=True, metavar="NAME=NUMBER...")


@click.group(cls=Group)
def govern() -> None:
    """Schedule rules, change parameters; the sender is a system deployer."""


@govern.command()
@arguments.at_option
@client_command
def show(connection: Connection, at_height: int | None) -> None:
    """Rules and parameters, with the heights from which they hold."""
    params = _params(connection, at_height)
    output = connection.output
    if output.is_json:
        output.message(params)
        return
    rules = {f"from height {one.height:,}": one.rules for one in params.activations}
    output.fields("Rules", rules)
    height = f"{params.configs_hold_from:,}"
    output.fields(f"Prices in the next block, {height}", _prices(params))
    since = f"from height {params.configs_hold_from:,}"
    output.fields(f"Timers, {since}", _shown(params.timer_config))
    output.fields(f"Fees, {since}", _shown(params.basefee_config))
    bidding = _shown(params.bidding_config)
    if params.HasField("weights_reset"):
        bidding["weights reset"] = f"at height {params.weights_reset:,}"
    output.fields(f"Rules bidding, {since}", bidding)
    output.fields(f"Rules globalbox, {since}", _shown(params.globalbox_config))


def _prices(params: messages.GetParamsResponse) -> dict[str, str]:
    """The parts of what a unit costs, those of the lane under `auction`."""
    fields = {
        "rules": params.rules,
        "basefee per cycle": amount(params.basefee_cycle),
        "basefee per cell": amount(params.basefee_cell),
    }
    if not int(params.basefee_lane or "0"):
        return fields
    tiers = zip(TIERS, params.tier_priorities, strict=True)
    return fields | {
        "basefee of the timer lane": amount(params.basefee_lane),
        "median priority": amount(params.p50_priority),
        "tiers": ", ".join(f"{name} {fee}" for name, fee in tiers),
    }


@govern.command()
@click.argument("height", type=arguments.COUNT)
@click.argument("rules")
@sending_command
def activate(connection: Connection, how: Sending, height: int, rules: str) -> None:
    """Let RULES (`fifo`, `auction`, `bidding`, `globalbox`) hold from HEIGHT on."""
    scheduled = types_pb2.ScheduleActivation(height=height, rules=rules)
    send(connection, how, types_pb2.Instruction(schedule_activation=scheduled))


@govern.command()
@_CHANGES
@sending_command
def timers(connection: Connection, how: Sending, changes: tuple[str, ...]) -> None:
    """Change timer parameters, as `lane_timer_cycles=4000000`.

    Of `tier_multipliers_permille` all four, with commas.
    """
    config = _changed(_params(connection).timer_config, changes)
    update = types_pb2.UpdateTimerConfig(config=config)
    send(connection, how, types_pb2.Instruction(update_timer_config=update))


@govern.command()
@_CHANGES
@sending_command
def basefee(connection: Connection, how: Sending, changes: tuple[str, ...]) -> None:
    """Change fee parameters, as `min_basefee=10`."""
    config = _changed(_params(connection).basefee_config, changes)
    update = types_pb2.UpdateBasefeeConfig(config=config)
    send(connection, how, types_pb2.Instruction(update_basefee_config=update))


@govern.command()
@_CHANGES
@sending_command
def bidding(connection: Connection, how: Sending, changes: tuple[str, ...]) -> None:
    """Change parameters of the rules `bidding`, as `lambda_permille=100`."""
    config = _changed(_params(connection).bidding_config, changes)
    update = types_pb2.UpdateBiddingConfig(config=config)
    send(connection, how, types_pb2.Instruction(update_bidding_config=update))


@govern.command(name="reset-weights")
@sending_command
def reset_weights(connection: Connection, how: Sending) -> None:
    """Make all weights of the rules `bidding` neutral from the next block on."""
    reset = types_pb2.ResetWeights()
    send(connection, how, types_pb2.Instruction(reset_weights=reset))


@govern.command()
@_CHANGES
@sending_command
def globalbox(connection: Connection, how: Sending, changes: tuple[str, ...]) -> None:
    """Change parameters of the rules `globalbox`, as `max_fires_per_block=64`."""
    config = _changed(_params(connection).globalbox_config, changes)
    update = types_pb2.UpdateGlobalboxConfig(config=config)
    send(connection, how, types_pb2.Instruction(update_globalbox_config=update))


def _params(
    connection: Connection, at_height: int | None = None
) -> messages.GetParamsResponse:
    return QueryServiceStub(connection.channel).GetParams(
        messages.GetParamsRequest(at_height=at_height), timeout=connection.timeout
    )


def _values(config: _Config) -> dict[str, str | list[str]]:
    """Every field as text."""
    return json_format.MessageToDict(
        config,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )


def _shown(config: _Config) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else ", ".join(value)
        for name, value in _values(config).items()
    }


def _changed(config: _Config, changes: tuple[str, ...]) -> _Config:
    """The configuration with some fields changed."""
    values = _values(config)
    for change in changes:
        name, _, text = change.partition("=")
        if name not in values:
            known = ", ".join(values)
            raise click.UsageError(f"{change}: NAME=NUMBER is wanted, of {known}")
        values[name] = text.split(",") if isinstance(values[name], list) else text
    try:
        return json_format.ParseDict(values, type(config)())
    except json_format.ParseError as error:
        raise click.UsageError(f"{', '.join(changes)}: {error}") from error
