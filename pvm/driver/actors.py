"""Actors as they run: compiled with the modules of the universe."""

from pvm.actor_code import ActorCode
from pvm.compiler.block_costs import BlockCosts
from pvm.compiler.pipeline import compile_module
from pvm.compiler.probes import SourceProbes
from pvm.driver.library_loader import find_module
from pvm.errors import without_memory_errors
from pvm.node_charges import Charge, free


@without_memory_errors
def compile_actor(
    source: bytes,
    ledger: BlockCosts | None = None,
    charge: Charge = free,
    probes: SourceProbes | None = None,
) -> ActorCode:
    """Compile an actor's source; with a ledger for tools, not for a chain.

    Args:
        source: of the actor.
        ledger: where the prices of its blocks are written down.
        charge: takes `COMPILE_PER_NODE` cycles for each node, before it is made; what
            it raises ends the compiling.
        probes: where functions are written down that say which lines they run; for
            tools, too.

    Raises:
        CompileError: it is not UTF-8, does not parse or is not in the language;
            carries every refusal of the first step that refuses.
        HostMemoryExhausted: this machine has no memory left; it is no refusal.
    """
    compiled = compile_module(
        source, find_module, block_costs=ledger, charge=charge, probes=probes
    )
    handlers = compiled.handlers
    return ActorCode(
        module=compiled.code,
        handlers=tuple(dict.fromkeys([*handlers.functions, *handlers.methods])),
        functions=frozenset(handlers.functions),
        methods=frozenset(handlers.methods),
        actor_class=handlers.actor_class,
        constructors=compiled.constructors,
        nodes=compiled.nodes,
        # Whoever counts by line wants to see the body run.
        is_unchanging=compiled.is_unchanging and ledger is None,
        hint=compiled.hint,
    )
