"""Explanations of timers, blocks and what comes, as a test sees them: they print.

A `Devnet` keeps every result, so nothing has to be looked for, and nothing is left out.
"""

from collections.abc import Callable, Iterable
from functools import partial

from msgspec import field
from msgspec.structs import asdict
from typing_extensions import override

from node.chain.block import CodeVersion
from node.chain.dry_run import DryRun, advance_dry_run, begin_dry_run
from node.chain.transaction import Transaction
from node.chain.transition import BlockResult, State
from node.client.exceptions import unknown_timer
from node.client.labels import Labels
from node.history import code_versions
from node.primitives.types import Height
from node.query.explain.block import BlockExplanation, explain_trace
from node.query.explain.lane_history import past_blocks
from node.query.explain.quote import Quote, QuoteRequest, quote_timer
from node.query.explain.text import block_text, dry_run_text, quote_text, timer_text
from node.query.explain.timer import Step, TimerExplanation, explain

__all__ = [
    "BlockStory",
    "OutlookStory",
    "QuoteStory",
    "TimerStory",
    "block_story",
    "outlook_story",
    "quote_story",
    "timer_story",
    "versions_of",
]


class TimerStory(TimerExplanation, frozen=True):
    """A timer's life so far, and what awaits it; prints as sentences."""

    labels: Labels = field(default_factory=Labels)

    @override
    def __repr__(self) -> str:
        return self.labels.replaced(timer_text(self))


class BlockStory(BlockExplanation, frozen=True):
    """What a block decided about timers; prints as sentences."""

    labels: Labels = field(default_factory=Labels)

    @override
    def __repr__(self) -> str:
        return self.labels.replaced(block_text(self))


class OutlookStory(DryRun):
    """What the next blocks would bring; prints as sentences."""

    labels: Labels = field(default_factory=Labels)

    @override
    def __repr__(self) -> str:
        return self.labels.replaced(dry_run_text(self))


class QuoteStory(Quote, frozen=True):
    """What a timer would cost; prints as sentences."""

    labels: Labels = field(default_factory=Labels)

    @override
    def __repr__(self) -> str:
        return self.labels.replaced(quote_text(self))


def quote_story(
    state: State,
    result_at: Callable[[int], BlockResult],
    wanted: QuoteRequest,
    labels: Labels,
) -> QuoteStory:
    """What a timer would cost, and what a place cost in the last blocks.

    Raises:
        InvalidQuote: the schedule call would be refused.
    """
    blocks = past_blocks(
        range(state.head.height, 0, -1),
        lambda height: result_at(height).header,
        lambda height: result_at(height).trace,
    )
    told = quote_timer(state, wanted, blocks)
    return QuoteStory(**asdict(told), labels=labels)


def timer_story(
    state: State, results: Iterable[BlockResult], timer_id: bytes, labels: Labels
) -> TimerStory:
    """The story of a timer out of every result since genesis.

    Raises:
        UnknownId: no timer ever had this id.
    """
    results = tuple(results)
    steps = [
        Step(
            result.header.height,
            decision,
            None
            if decision.receipt_index is None
            else result.receipts[decision.receipt_index],
        )
        for result in results
        for decision in result.trace
        if decision.timer_id == timer_id
    ]
    if not steps:
        raise unknown_timer("timer_id", timer_id)
    versions = partial(versions_of, results)
    told = explain(state, steps, versions, steps[0].decision)
    return TimerStory(**asdict(told), labels=labels)


def versions_of(results: Iterable[BlockResult], actor: bytes) -> list[CodeVersion]:
    """The code that an actor got, out of every result since genesis, in order."""
    return [
        version
        for result in results
        for version in code_versions(result)
        if version.actor == actor
    ]


def block_story(height: int, result: BlockResult, labels: Labels) -> BlockStory:
    """The story of a height; within a run nothing was decided."""
    told = explain_trace(Height(height), result.trace)
    return BlockStory(**asdict(told), labels=labels)


def outlook_story(
    state: State, blocks: int, candidates: Iterable[Transaction], labels: Labels
) -> OutlookStory:
    """A dry run of the next blocks, with `candidates` in the first.

    Raises:
        AdvanceRefused: no blocks, or more than there are heights.
    """
    begun = begin_dry_run(state, blocks)
    outlook = OutlookStory(begun.start, begun.stop, begun.state, labels=labels)
    first = tuple(candidates)
    while not outlook.is_over:
        advance_dry_run(outlook, first)
        first = ()
    return outlook
