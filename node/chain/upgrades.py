"""Code of actors: how it comes to a chain, who may replace it, what then changes (D58).

An upgrade gives an actor new code and leaves all else: address, storage, balance,
timers, messages, counters. Rules: code is compiled, and paid for, before anything
changes; where the code of an actor is replaced, by whatever way, its account and the
event `actor.upgraded` say so; the code that it has is no upgrade.
"""

from msgspec.structs import replace

from node.chain.accounts import Account, load_account, save_account, save_code
from node.chain.context import ExecutionScope
from node.chain.errors import InstructionRefused
from node.chain.params import ZERO_ADDRESS
from node.chain.reader import Reader
from node.primitives import codec
from node.primitives.types import Address, Hash32
from node.state import keys
from node.state.journal import Journal
from pvm import OWNER_KEY

UPGRADE_HANDLER = "upgrade"
"""Of the new code: called by an upgrade, and by nothing else."""

UPGRADED = "actor.upgraded"
"""Topic of the event: `actor`, `old_code_hash`, `code_hash`."""


def owner_of(reader: Reader, actor: Address) -> Address | None:
    """Whose an actor is: its deployer's, until that was transferred (host-api.md §4).

    None once the ownership was renounced.
    """
    stored = reader.get(keys.storage(actor, OWNER_KEY))
    if stored is None:
        return Address(load_account(reader, actor).deployer)
    return None if stored == ZERO_ADDRESS else Address(stored)


def require_actor(reader: Reader, address: Address) -> Account:
    """The account of an actor.

    Raises:
        InstructionRefused: NotFound.
    """
    account = load_account(reader, address)
    if not account.is_actor:
        raise InstructionRefused("NotFound", "no actor lives at this address")
    return account


def require_upgradable(
    execution: ExecutionScope, sender: Address, actor: Address
) -> None:
    """Whether `sender` may upgrade an actor (D58).

    Raises:
        InstructionRefused: NotFound or Unauthorized.
    """
    block = execution.block
    require_actor(block.journal, actor)
    owner = owner_of(block.journal, actor)
    if sender != owner and sender not in block.params.system_deployers:
        whose = "nobody, it was renounced" if owner is None else f"0x{owner.hex()}"
        raise InstructionRefused(
            "Unauthorized",
            f"only the owner ({whose}) and system deployers may upgrade this actor",
        )


def install_code(
    journal: Journal, actor: Address, code: bytes, code_hash: Hash32
) -> dict[str, codec.Value]:
    """Let an actor have code that was compiled; what the event says of it."""
    account = load_account(journal, actor)
    save_code(journal, code_hash, code)
    save_account(journal, actor, replace(account, code_hash=code_hash))
    old = account.code_hash
    return {"actor": actor, "old_code_hash": old, "code_hash": code_hash}
