"""`cowboy-devnet start`: from flags to a `NodeConfig`, and into the node.

Rules: nothing is imported that the node does not need to serve; what imports gRPC comes
after gRPC's own switches were set.
"""

import os
import sys
from pathlib import Path
from typing import TypedDict, Unpack

import click

from node.config import (
    ConfigError,
    GenesisChoice,
    LogFormat,
    LogLevel,
    NodeConfig,
    parse_access,
    parse_amount,
    parse_duration_ms,
    parse_http_access,
    parse_listen,
    parse_memory_max,
)
from node.runtime.confinement.walls import memory_max_default
from node.runtime.settings import Confinement
from node.runtime.types import MiningMode

__all__ = ["start"]

_IN_MEMORY = ":memory:"
_OFF = "off"

_GRPC_EXPERIMENTS = "-event_engine_listener"
"""Of gRPC's own switches, which it reads when it is imported: connections are read on
the thread that takes the events. By default they pass through two more threads, and a
serial transaction takes 75 to 150 µs longer on two cores. Who sets GRPC_EXPERIMENTS in
the environment decides otherwise."""


class _Flags(TypedDict):
    """The flags of `start`, as click hands them over."""

    data_dir: str
    genesis: str | None
    grpc_listen: str
    http_listen: str
    no_http_api: bool
    http_hosts: str | None
    http_origins: str | None
    mining: str
    pace: str | None
    block_time: str | None
    rules: str | None
    auto_timers: bool
    no_dev: bool
    accounts: int | None
    account_balance: str | None
    keep_blocks: int | None
    verify: bool
    ready_file: Path | None
    end_with_stdin: bool
    confine: str
    memory_max: str | None
    log_format: str
    log_level: str
    tls_cert: Path | None
    tls_key: Path | None
    token_file: Path | None


@click.command()
@click.option(
    "--data-dir",
    default="./devnet-data",
    help=f"Folder of the chain, one node at a time; {_IN_MEMORY} keeps nothing.",
)
@click.option(
    "--genesis",
    metavar="NAME|FILE",
    help="Preset (devnet, mesa) or file a fresh chain begins from.  [default: devnet]",
)
@click.option(
    "--grpc-listen",
    default="127.0.0.1:50051",
    metavar="HOST:PORT",
    help="Where to serve; port 0 picks a free one.",
)
@click.option(
    "--http-listen",
    default="127.0.0.1:8080",
    metavar="HOST:PORT",
    help="Where HTTP is served: the API, probes and metrics; `off`: nowhere.",
)
@click.option(
    "--no-http-api",
    is_flag=True,
    help="Serve /healthz, /readyz and /metrics alone over HTTP.",
)
@click.option(
    "--http-hosts",
    metavar="NAME,…",
    help="Names for this node in `Host`, beside localhost and its addresses.",
)
@click.option(
    "--http-origins",
    metavar="ORIGIN,…",
    help="Origins whose pages may call it over HTTP, beside those of this machine.",
)
@click.option(
    "--mining",
    type=click.Choice(["interval", "instant", "manual"]),
    default="interval",
    help="A block every --pace, for each transaction, or only on request.",
)
@click.option(
    "--pace",
    metavar="DURATION",
    help="Wall time between blocks (250ms, 1s).  [default: the chain's block time]",
)
@click.option(
    "--block-time",
    metavar="DURATION",
    help="Virtual time between blocks of a fresh chain.  [default: of the genesis]",
)
@click.option(
    "--rules",
    metavar="NAME",
    help="Timer rules of a fresh chain from its first block on (fifo, auction, …)."
    "  [default: of the genesis: fifo]",
)
@click.option(
    "--auto-timers",
    is_flag=True,
    help="Once nothing is pending, advance to the next timer, one a --pace.",
)
@click.option(
    "--no-dev",
    is_flag=True,
    help="Serve no DevService, and impersonate nobody.",
)
@click.option(
    "--accounts",
    type=int,
    metavar="N",
    help="Development accounts of a fresh chain.  [default: of the genesis: 10]",
)
@click.option(
    "--account-balance",
    metavar="AMOUNT",
    help="What each has.  [default: of the genesis: 1000000 CBY]",
)
@click.option(
    "--keep-blocks",
    type=int,
    metavar="N",
    help="Forget what happened in blocks more than N heights back.  [default: all]",
)
@click.option(
    "--verify",
    is_flag=True,
    help="Recompute all that the folder holds before serving it.",
)
@click.option(
    "--ready-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Written once the node serves, as JSON; removed when it ends.",
)
@click.option(
    "--end-with-stdin",
    is_flag=True,
    help="End when standard input is closed: with the program that started it.",
)
@click.option(
    "--confine",
    type=click.Choice(["auto", "required", "off"]),
    default="auto",
    help="Walls around the process: what the kernel has, all of it or no start, none.",
)
@click.option(
    "--memory-max",
    metavar="SIZE|off",
    help="Memory it may use (2GiB).  [default: 4GiB, at most half of the machine's]",
)
@click.option(
    "--log-format",
    type=click.Choice(["auto", "console", "json"]),
    default="auto",
    help="auto: console for a terminal, else json.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
)
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path),
    help="Certificate with its chain, PEM: both ports speak TLS. With --tls-key.",
)
@click.option(
    "--tls-key",
    type=click.Path(path_type=Path),
    help="The certificate's key, PEM, without a password.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="Only callers who send the token in this file are served.",
)
def start(**flags: Unpack[_Flags]) -> None:
    """Run a node until it is told to stop (SIGTERM, Ctrl-C)."""
    try:
        config = _config(flags)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    sys.exit(_run(config))


def _run(config: NodeConfig) -> int:
    # gRPC would say on standard error what is said in a sentence anyway; it reads this
    # when it is imported.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    os.environ.setdefault("GRPC_EXPERIMENTS", _GRPC_EXPERIMENTS)
    from node import app  # noqa: PLC0415 - see the top of this module
    from node.cli.ready import (  # noqa: PLC0415
        print_banner,
        remove_ready_file,
        write_ready_file,
    )

    is_serving = False

    def announce(ready: app.Ready) -> None:
        nonlocal is_serving
        is_serving = True
        write_ready_file(ready)
        print_banner(ready)

    try:
        return app.run(config, announce)
    finally:
        if is_serving:  # else it may be another node's
            remove_ready_file(config.ready_file)


def _config(flags: _Flags) -> NodeConfig:
    """The flags as a config.

    Raises:
        ConfigError: One of them cannot be.
    """
    balance, block_time = flags["account_balance"], flags["block_time"]
    is_http_off = flags["http_listen"] in ("", _OFF)
    in_memory = flags["data_dir"] == _IN_MEMORY
    access = parse_access(flags["tls_cert"], flags["tls_key"], flags["token_file"])
    return NodeConfig(
        data_dir=None if in_memory else Path(flags["data_dir"]),
        genesis=GenesisChoice(
            source=flags["genesis"],
            account_count=flags["accounts"],
            account_balance=None if balance is None else parse_amount(balance),
            block_interval_ms=(
                None if block_time is None else parse_duration_ms(block_time)
            ),
            rules=flags["rules"],
        ),
        grpc_listen=parse_listen(flags["grpc_listen"]),
        http_listen=None if is_http_off else parse_listen(flags["http_listen"]),
        access=access,
        http_access=parse_http_access(
            access,
            is_api_served=not flags["no_http_api"],
            hosts=flags["http_hosts"],
            origins=flags["http_origins"],
        ),
        mining=MiningMode(flags["mining"]),
        is_auto_timers=flags["auto_timers"],
        is_dev_served=not flags["no_dev"],
        pace_ms=None if flags["pace"] is None else parse_duration_ms(flags["pace"]),
        keep_blocks=flags["keep_blocks"],
        is_verified=flags["verify"],
        ready_file=flags["ready_file"],
        is_ended_by_input=flags["end_with_stdin"],
        confine=Confinement(flags["confine"]),
        memory_max=(
            memory_max_default()
            if flags["memory_max"] is None
            else parse_memory_max(flags["memory_max"])
        ),
        log_format=LogFormat(flags["log_format"]),
        log_level=LogLevel(flags["log_level"]),
    )
