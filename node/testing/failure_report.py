"""What a failed test is shown of its chain: blocks, events, and why timers did what.

Made of what every chain tells (`node.client.Chain`), bounded whatever happened, and
never the cause of another failure: it is read after one. Rules: at most `LINES_MAX`
lines, nothing twice (an event about a timer whose story is told is left to that), and
what is left out is counted.
"""

from node.chain.block import Event, Receipt, ReceiptKind
from node.client._sync.actor import Chain
from node.client.inputs import BlockContent
from node.primitives import codec
from node.primitives.hex_repr import foreign
from node.query.explain.numbers import counted

__all__ = ["LINES_MAX", "chain_report", "timers_report"]

LINES_MAX = 40
"""Of a report: what a person reads before looking elsewhere."""

BLOCK_LINES_MAX = 24
"""Of them about blocks; the rest is left to timers."""

BLOCKS_MAX = 5
EVENTS_MAX = 10
TIMERS_MAX = 5
DATA_BYTES_SHOWN = 32


def chain_report(chain: Chain) -> str:
    """The last blocks with their events, and the timers involved."""
    try:
        blocks = _last_blocks(chain)
        told = _timers_of(chain, blocks)
        lines = [f"{chain!r}, the last blocks:"]
        for block in blocks:
            lines.extend(_block_report(chain, block, told))
        lines = _cut(lines, BLOCK_LINES_MAX, "about these blocks")
        lines.extend(timers_report(chain, told))
        return "\n".join(_cut(lines, LINES_MAX, "about timers: chain.explain(id)"))
    except Exception as error:  # noqa: BLE001 - the test's own failure matters more
        return f"what happened on {chain!r} cannot be told: {error}"


def _cut(lines: list[str], most: int, what: str) -> list[str]:
    """At most so many lines, the last of which counts those that were left out."""
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"… {len(lines) - most + 1} more lines {what}"]


def _last_blocks(chain: Chain) -> list[BlockContent]:
    """The latest blocks, oldest first; a run of empty ones is one."""
    blocks: list[BlockContent] = []
    height = chain.height
    while height >= 0 and len(blocks) < BLOCKS_MAX:
        block = chain.block(height)
        blocks.insert(0, block)
        height -= max(1, block.header.span)
    return blocks


def _block_report(chain: Chain, block: BlockContent, told: list[bytes]) -> list[str]:
    """A block, its executions, and below each what it emitted."""
    header, kinds = block.header, [receipt.kind for receipt in block.receipts]
    fires, sent = kinds.count(ReceiptKind.FIRE), kinds.count(ReceiptKind.TRANSACTION)
    place = f"  height {header.height}"
    if header.span > 1:
        place = f"  heights {header.height - header.span + 1} to {header.height}"
    if not block.receipts and not block.events:
        return [f"{place}: nothing happened"]
    messages = len(kinds) - fires - sent
    kinds_told = (sent, "transaction"), (fires, "fire"), (messages, "message")
    told_of = ", ".join(counted(number, what) for number, what in kinds_told)
    lines = [f"{place}: {told_of}"]
    events: dict[int | None, list[str]] = {}
    for event in block.events[-EVENTS_MAX:]:
        if not _is_about(event, told):
            words = f"event {_event_report(chain, event)}"
            events.setdefault(event.receipt_index, []).append(words)
    for receipt in block.receipts:
        lines.append(f"    {_receipt_report(chain, receipt)}")
        lines.extend(f"      {words}" for words in events.pop(receipt.index, ()))
    lines.extend(f"    {words}" for rest in events.values() for words in rest)
    return lines


def _receipt_report(chain: Chain, receipt: Receipt) -> str:
    failure = receipt.failure
    outcome = "succeeded"
    if failure is not None:
        text = foreign(failure.message.partition("\n")[0])
        outcome = f"{failure.kind}: {text}" if text else failure.kind
        outcome += f" in line {failure.line}" if failure.line else ""
    kind = receipt.kind.name.lower().replace("_", " ")
    if receipt.actor:  # none, if the source of a deployment is refused
        who = _name(chain, receipt.actor)
        kind += f" {receipt.handler} of {who}" if receipt.handler else f" to {who}"
    return f"{kind}: {outcome}, {receipt.cycles_used} cycles"


def _name(chain: Chain, address: bytes) -> str:
    return chain.labels.get(address) or f"0x{address.hex()}"


def _is_about(event: Event, timers: list[bytes]) -> bool:
    """Whether the chain emitted it about one of these timers."""
    named = None if event.emitter is not None else codec.decode(event.data)
    return isinstance(named, dict) and named.get("timer_id") in timers


def _shown(chain: Chain, value: codec.Value) -> str:
    return _name(chain, value) if isinstance(value, bytes) else repr(value)


def _event_report(chain: Chain, event: Event) -> str:
    if event.emitter is None:
        # Of the chain itself: named values in canonical CBOR (D17).
        named = codec.decode(event.data)
        pairs = named.items() if isinstance(named, dict) else ()
        said = ", ".join(
            f"{name}={_shown(chain, value)}"
            for name, value in pairs
            if isinstance(name, str)
        )
        return f"{event.topic!r} by the chain: {said}"
    data = event.data[:DATA_BYTES_SHOWN]
    more = "…" if len(event.data) > len(data) else ""
    return f"{event.topic!r} by {_name(chain, event.emitter)}: {data!r}{more}"


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
        lines.extend(f"{chain.explain(timer_id)}".splitlines())
    return lines
