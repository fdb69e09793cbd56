"""The host's functions under the names that the SDK has for them."""

import json

import pvm_host
from cowboy_sdk.native import (
    assume_ownership_if_unowned,
    get_owner,
    is_initialized,
    renounce_ownership,
    transfer_ownership,
)
from pvm_host import (
    block_height as get_block_height,
    block_timestamp as get_timestamp_ms,
    call_actor,
    cancel_timer,
    charge_gas,
    context,
    create_deferred_tx,
    delete_state,
    extend_timer,
    get_sender,
    get_state,
    keccak256,
    randomness,
    schedule_timer,
    schedule_timer_ex,
    self_address as get_actor_address,
    send_message,
    set_state,
    set_state_watch,
    set_timeout,
    update_timer,
    upgrade_self,
)


def get_tx_hash():
    """The id of the causing transaction; zeros where there is none."""
    return pvm_host.context()["tx_hash"]


def get_chain_id():
    """The id of the chain."""
    return pvm_host.context()["chain_id"]


def emit_event(name, payload=b""):
    """An event: a dict or list as JSON, a str as UTF-8, bytes as they are."""
    if isinstance(payload, (dict, list)):
        payload = json.dumps(payload, separators=(",", ":"), sort_keys=True)
    if isinstance(payload, str):
        payload = payload.encode()
    pvm_host.emit_event(name, payload)


def scan_state_prefix(prefix, limit=100):
    """Pairs of the actor's own state under a prefix, ascending."""
    return pvm_host.state_scan_prefix(prefix, limit)
