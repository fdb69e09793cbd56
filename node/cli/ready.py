"""What a node says once it serves: to people a banner, to programs a ready file.

Both name the endpoints, the chain, how blocks are made, and the development accounts
with their keys, which everybody knows.
"""

import json
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType

import click
from msgspec.structs import replace

from node import __version__
from node.app import Ready
from node.config import ConfigError
from node.primitives.amounts import format_amount
from node.primitives.crypto import dev_private_key, public_key_address
from node.runtime.types import MiningMode, NodeStatus

__all__ = ["print_banner", "remove_ready_file", "write_ready_file"]

ACCOUNTS_SHOWN_MAX = 10
_WARNING_REACHABLE = (
    "WARNING: others on the network can reach this node, mint, use every account and\n"
    "reset the chain. Give it a --token-file, or --no-dev, or listen on 127.0.0.1."
)


def _dev_accounts(count: int) -> list[dict[str, str]]:
    """Address and key of the first development accounts, as hex."""
    keys = [dev_private_key(index) for index in range(count)]
    return [
        {
            "address": f"0x{public_key_address(key).hex()}",
            "private_key": f"0x{key.hex()}",
        }
        for key in keys
    ]


def _document(ready: Ready) -> dict[str, object]:
    genesis, state = ready.opened.genesis, ready.opened.state
    return {
        "version": __version__,
        "grpc": str(ready.grpc_listen),
        "http": None if ready.http_listen is None else str(ready.http_listen),
        "page": _page(ready),
        "tls": ready.config.access.certificate is not None,
        "token": ready.config.access.token is not None,
        "chain": genesis.name,
        "chain_id": genesis.params.chain_id,
        "height": state.head.height,
        "walls": list(ready.walls.standing),
        "data_dir": str(ready.config.data_dir or ":memory:"),
        "mining": ready.status.mining_mode.value,
        "pace_ms": ready.status.pace_ms,
        "auto_timers": ready.status.is_auto_timers,
        "accounts": _dev_accounts(genesis.dev_account_count),
    }


def write_ready_file(ready: Ready) -> None:
    """Write the ready file, if one is wanted, in one step: whoever sees it can read it.

    Raises:
        ConfigError: It cannot be written.
    """
    path = ready.config.ready_file
    if path is None:
        return
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.unlink(missing_ok=True)  # of another mode, perhaps
        draft.touch(0o600, exist_ok=False)  # it has keys: its owner's alone
        draft.write_text(json.dumps(_document(ready), indent=2) + "\n")
        draft.replace(path)
    except OSError as error:
        raise ConfigError(f"--ready-file {path}: {error.strerror}") from error


def remove_ready_file(path: Path | None) -> None:
    """Leave no ready file of a node that does not serve."""
    if path is not None:
        path.unlink(missing_ok=True)


def print_banner(ready: Ready) -> None:
    """Tell a person where the node is and what can be done with it.

    Raises:
        ConfigError: Standard output takes nothing.
    """
    try:
        click.echo("\n".join(_banner(ready)))
    except OSError as error:
        raise ConfigError(f"standard output: {error.strerror}") from error


def _banner(ready: Ready) -> list[str]:
    genesis = ready.opened.genesis
    origin = "fresh" if ready.opened.is_fresh else "resumed"
    height = ready.opened.state.head.height
    lines = [
        f"cowboy-devnet {__version__}",
        "",
        f"  gRPC      {ready.grpc_listen}{_kept(ready)}",
        f"  HTTP      {ready.http_listen or 'off'}",
        f"  page      {_page(ready) or 'off'}",
        f"  chain     {genesis.name}, id {genesis.params.chain_id}",
        f"  height    {height}, {origin}",
        f"  data      {ready.config.data_dir or 'in memory, nothing is kept'}",
        f"  mining    {_mining(ready.status)}",
        f"  confined  {ready.walls.told()}",
        "",
    ]
    if genesis.params.dev:
        lines += _accounts(ready)
    if ready.is_dev_served and not _is_kept_in(ready):
        lines += [_WARNING_REACHABLE, ""]
    for warning in ready.warnings():
        lines += [f"WARNING: {warning}", ""]
    return lines


def _page(ready: Ready) -> str | None:
    """Where a browser of this machine finds the page, if it is served."""
    listen = ready.http_listen
    if listen is None or not ready.config.http_access.is_api_served:
        return None
    scheme = "http" if ready.config.access.certificate is None else "https"
    host = _HERE.get(listen.host, listen.host)
    return f"{scheme}://{replace(listen, host=host)}/"


_HERE: Mapping[str, str] = MappingProxyType({"0.0.0.0": "127.0.0.1", "::": "::1"})  # noqa: S104 - nothing listens by it
"""Addresses that mean all of a machine, and those by which it calls itself."""


def _kept(ready: Ready) -> str:
    """How the port is kept, in words."""
    access = ready.config.access
    marks = [
        name
        for name, is_on in (("TLS", access.certificate), ("token", access.token))
        if is_on is not None
    ]
    return f"  ({', '.join(marks)})" if marks else ""


def _is_kept_in(ready: Ready) -> bool:
    """Whether strangers are kept from what development allows."""
    listens = [ready.grpc_listen]
    if ready.http_listen is not None and ready.config.http_access.is_api_served:
        listens.append(ready.http_listen)
    has_token = ready.config.access.token is not None
    return has_token or all(_is_loopback(listen.host) for listen in listens)


def _accounts(ready: Ready) -> list[str]:
    genesis = ready.opened.genesis
    count = genesis.dev_account_count
    if not count:
        return []
    balance = format_amount(genesis.dev_account_balance).partition(" (")[0]
    lines = [
        f"  Accounts, {balance} each at genesis. UNSAFE: everybody has these keys."
    ]
    lines += [
        f"  ({index}) {account['address']}  {account['private_key']}"
        for index, account in enumerate(_dev_accounts(min(count, ACCOUNTS_SHOWN_MAX)))
    ]
    if count > ACCOUNTS_SHOWN_MAX:
        lines.append(f"  … and {count - ACCOUNTS_SHOWN_MAX} more")
    return [*lines, ""]


def _mining(status: NodeStatus) -> str:
    text = _MODES[status.mining_mode].format(seconds=status.pace_ms / 1_000)
    return f"{text}, then to the next timer" if status.is_auto_timers else text


_MODES: Mapping[MiningMode, str] = MappingProxyType(
    {
        MiningMode.INTERVAL: "a block every {seconds:g} s",
        MiningMode.INSTANT: "a block for each transaction",
        MiningMode.MANUAL: "only on request (`cowboy-devnet mine`)",
    }
)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
