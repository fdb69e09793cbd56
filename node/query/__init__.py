"""The read model: what is asked about a chain, answered from one state.

Everything here is a function of a `State` (a snapshot and its head), so an answer is
of one moment, and whoever holds the state may ask again. `rpc` and
`node.testing` put these answers into their own words.

Rules: a state answers of its own height, what happened (blocks, transactions, how
timers ended) at every height. Lists are bounded by entries, by what is examined, and
by bytes; each page names the key at which the next begins. Names are imported when
they are first used (PEP 562), so that a node does not load at its start what explains.
"""

from typing import TYPE_CHECKING

from pvm.lazy_exports import resolve

if TYPE_CHECKING:
    from node.query.blocks import (
        BlockLookup,
        BlockView,
        Committed,
        Run,
        Warnings,
        block_at,
        block_by_hash,
        blocks_page,
        committed_height,
        committed_in,
        content_bytes,
        find_block,
        find_transaction,
        height_of,
        is_in_chain,
        look_up_block,
        next_height,
        warnings_of,
    )
    from node.query.chain import (
        ActorView,
        ChainStatus,
        NextFees,
        Supply,
        account,
        actor,
        chain_status,
        count_supply,
        governed,
        next_fees,
        require_actor,
        storage_page,
        storage_value,
    )
    from node.query.errors import (
        HeightNotReached,
        HistoryNotKept,
        MissingKind,
        NotFound,
        SupplyTooLarge,
    )
    from node.query.explain.block import (
        BlockExplanation,
        Contest,
        explain_block,
        explain_trace,
        is_of_lane,
    )
    from node.query.explain.lane_history import PastPlace
    from node.query.explain.quote import InvalidQuote, Quote, QuoteRequest, quote_timer
    from node.query.explain.text import (
        block_text,
        decision_text,
        dry_run_text,
        quote_text,
        timer_text,
    )
    from node.query.explain.timer import Step, TimerExplanation, explain, explain_timer
    from node.query.pagination import Page
    from node.query.proofs import (
        Proof,
        prove_account,
        prove_due,
        prove_receipt,
        prove_storage,
        prove_timer,
        prove_transaction,
    )
    from node.query.timers import (
        EndedTimer,
        LiveTimer,
        TimerCriteria,
        TimerView,
        ended_timers_page,
        live_timers_page,
        timer,
    )

__all__ = [
    "ActorView",
    "BlockExplanation",
    "BlockLookup",
    "BlockView",
    "ChainStatus",
    "Committed",
    "Contest",
    "EndedTimer",
    "HeightNotReached",
    "HistoryNotKept",
    "InvalidQuote",
    "LiveTimer",
    "MissingKind",
    "NextFees",
    "NotFound",
    "Page",
    "PastPlace",
    "Proof",
    "Quote",
    "QuoteRequest",
    "Run",
    "Step",
    "Supply",
    "SupplyTooLarge",
    "TimerCriteria",
    "TimerExplanation",
    "TimerView",
    "Warnings",
    "account",
    "actor",
    "block_at",
    "block_by_hash",
    "block_text",
    "blocks_page",
    "chain_status",
    "committed_height",
    "committed_in",
    "content_bytes",
    "count_supply",
    "decision_text",
    "dry_run_text",
    "ended_timers_page",
    "explain",
    "explain_block",
    "explain_timer",
    "explain_trace",
    "find_block",
    "find_transaction",
    "governed",
    "height_of",
    "is_in_chain",
    "is_of_lane",
    "live_timers_page",
    "look_up_block",
    "next_fees",
    "next_height",
    "prove_account",
    "prove_due",
    "prove_receipt",
    "prove_storage",
    "prove_timer",
    "prove_transaction",
    "quote_text",
    "quote_timer",
    "require_actor",
    "storage_page",
    "storage_value",
    "timer",
    "timer_text",
    "warnings_of",
]

_HOMES = {
    "ActorView": ".chain",
    "BlockExplanation": ".explain.block",
    "BlockLookup": ".blocks",
    "BlockView": ".blocks",
    "ChainStatus": ".chain",
    "Committed": ".blocks",
    "Contest": ".explain.block",
    "EndedTimer": ".timers",
    "HeightNotReached": ".errors",
    "HistoryNotKept": ".errors",
    "InvalidQuote": ".explain.quote",
    "LiveTimer": ".timers",
    "MissingKind": ".errors",
    "NextFees": ".chain",
    "NotFound": ".errors",
    "Page": ".pagination",
    "PastPlace": ".explain.lane_history",
    "Proof": ".proofs",
    "Quote": ".explain.quote",
    "Run": ".blocks",
    "Step": ".explain.timer",
    "Supply": ".chain",
    "SupplyTooLarge": ".errors",
    "TimerExplanation": ".explain.timer",
    "TimerCriteria": ".timers",
    "TimerView": ".timers",
    "QuoteRequest": ".explain.quote",
    "Warnings": ".blocks",
    "account": ".chain",
    "actor": ".chain",
    "block_at": ".blocks",
    "block_by_hash": ".blocks",
    "blocks_page": ".blocks",
    "chain_status": ".chain",
    "committed_height": ".blocks",
    "committed_in": ".blocks",
    "content_bytes": ".blocks",
    "count_supply": ".chain",
    "ended_timers_page": ".timers",
    "explain": ".explain.timer",
    "explain_block": ".explain.block",
    "explain_timer": ".explain.timer",
    "explain_trace": ".explain.block",
    "find_block": ".blocks",
    "find_transaction": ".blocks",
    "governed": ".chain",
    "height_of": ".blocks",
    "is_in_chain": ".blocks",
    "is_of_lane": ".explain.block",
    "live_timers_page": ".timers",
    "look_up_block": ".blocks",
    "next_fees": ".chain",
    "next_height": ".blocks",
    "prove_account": ".proofs",
    "prove_due": ".proofs",
    "prove_receipt": ".proofs",
    "prove_storage": ".proofs",
    "prove_timer": ".proofs",
    "prove_transaction": ".proofs",
    "quote_timer": ".explain.quote",
    "require_actor": ".chain",
    "storage_page": ".chain",
    "storage_value": ".chain",
    "block_text": ".explain.text",
    "decision_text": ".explain.text",
    "dry_run_text": ".explain.text",
    "quote_text": ".explain.text",
    "timer_text": ".explain.text",
    "timer": ".timers",
    "warnings_of": ".blocks",
}


def __getattr__(name: str) -> object:
    return resolve(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return __all__
