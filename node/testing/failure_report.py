"""What a failed test is shown of its chain: blocks, events, and why timers did what.

Made of what every chain tells (`node.client.Chain`), bounded whatever happened, and
never the cause of another failure: it is read after one.
"""

from node.chain.block import Event, ReceiptKind
from node.client._sync.actor import Chain
from node.client.inputs import BlockContent
from node.primitives import codec

__all__ = ["chain_report", "timers_report"]

BLOCKS_MAX = 5
EVENTS_MAX = 10
TIMERS_MAX = 5
DATA_BYTES_SHOWN = 32


def chain_report(chain: Chain) -> str:
    """The last blocks with their events, and the timers involved."""
    try:
        blocks = _last_blocks(chain)
        lines = [f"{chain!r}, the last blocks:"]
        for block in blocks:
            lines.extend(_block_report(block))
        lines.extend(timers_report(chain, _timers_of(chain, blocks)))
        return "\n".join(lines)
    except Exception as error:  # noqa: BLE001 - the test's own failure matters more
        return f"what happened on {chain!r} cannot be told: {error}"


def _last_blocks(chain: Chain) -> list[BlockContent]:
    """The latest blocks, oldest first; a run of empty ones is one."""
    blocks: list[BlockContent] = []
    height = chain.height
    while height >= 0 and len(blocks) < BLOCKS_MAX:
        block = chain.block(height)
        blocks.insert(0, block)
        height -= max(1, block.header.span)
    return blocks


def _block_report(block: BlockContent) -> list[str]:
    header, kinds = block.header, [receipt.kind for receipt in block.receipts]
    fires, sent = kinds.count(ReceiptKind.FIRE), kinds.count(ReceiptKind.TRANSACTION)
    place = f"  height {header.height}"
    if header.span > 1:
        place = f"  heights {header.height - header.span + 1} to {header.height}"
    if not block.receipts and not block.events:
        return [f"{place}: nothing happened"]
    messages = len(kinds) - fires - sent
    lines = [f"{place}: {sent} transactions, {fires} fires, {messages} messages"]
    for receipt in block.receipts:
        failure = receipt.failure
        outcome = (
            "succeeded" if failure is None else f"{failure.kind}: {failure.message}"
        )
        lines.append(
            f"    {receipt.kind.name.lower()} {receipt.handler or '(no handler)'} of "
            f"0x{receipt.actor.hex()}: {outcome}, {receipt.cycles_used} cycles"
        )
    lines.extend(f"    {_event_report(event)}" for event in block.events[-EVENTS_MAX:])
    return lines


def _shown(value: codec.Value) -> str:
    return f"0x{value.hex()}" if isinstance(value, bytes) else repr(value)


def _event_report(event: Event) -> str:
    if event.emitter is None:
        # Of the chain itself: named values in canonical CBOR (D17).
        named = codec.decode(event.data)
        pairs = named.items() if isinstance(named, dict) else ()
        said = ", ".join(
            f"{name}={_shown(value)}" for name, value in pairs if isinstance(name, str)
        )
        return f"event {event.topic!r} by the chain: {said}"
    data = event.data[:DATA_BYTES_SHOWN]
    more = "…" if len(event.data) > len(data) else ""
    return f"event {event.topic!r} by 0x{event.emitter.hex()}: {data!r}{more}"


def _timers_of(chain: Chain, blocks: list[BlockContent]) -> list[bytes]:
    """Timers that fired or were scheduled lately, and those that are due next."""
    ids: dict[bytes, None] = {}
    for block in reversed(blocks):
        for receipt in block.receipts:
            if receipt.kind is ReceiptKind.FIRE:
                ids[receipt.id] = None
            ids.update(dict.fromkeys(receipt.scheduled))
    live = chain.timers()
    ids.update(dict.fromkeys(timer.timer_id for timer in live[:TIMERS_MAX]))
    return list(ids)[:TIMERS_MAX]


def timers_report(chain: Chain, timer_ids: list[bytes]) -> list[str]:
    """The explanation of each timer."""
    lines = []
    for timer_id in timer_ids:
        lines.append("")
        lines.append(f"{chain.explain(timer_id)}")
    return lines
