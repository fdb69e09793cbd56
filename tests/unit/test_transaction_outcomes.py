"""Outcomes: who waits for a transaction is told, and nobody else waits for that."""

import asyncio
from types import SimpleNamespace

from node.query.blocks import look_up_block
from node.runtime.transaction_outcomes import TransactionOutcomes

TRANSACTIONS = 100
TURNS_MIN = 10


def block_of(count):
    """As much of a block as is looked at."""
    ids = [index.to_bytes(32, "big") for index in range(count)]
    header = SimpleNamespace(height=7, hash=lambda: bytes(32))
    parts = tuple(SimpleNamespace(id=one) for one in ids)
    block = SimpleNamespace(header=header, transactions=parts)
    return ids, SimpleNamespace(block=block, receipts=parts, events=())


def test_others_have_their_turn_while_those_who_wait_for_a_block_are_told():
    """36 who waited for 1,024 events each held the event loop for 900 ms."""

    async def scenario():
        ids, result = block_of(TRANSACTIONS)
        outcomes = TransactionOutcomes()
        waiting = [asyncio.create_task(outcomes.wait(one)) for one in ids]
        await asyncio.sleep(0)
        lookup = look_up_block(result.block, result.events)
        settling = asyncio.create_task(outcomes.settle(result, lookup))
        told = []
        while not settling.done():
            await asyncio.sleep(0)
            told.append(sum(task.done() for task in waiting))
        assert len(told) >= TURNS_MIN
        found = await asyncio.gather(*waiting)
        assert [outcome.transaction.id for outcome in found] == ids

    asyncio.run(scenario())
