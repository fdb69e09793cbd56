"""What differs when an actor has other code: two chains, compared height by height.

Executions are matched by what they are: a transaction by its id, any other by its kind,
its actor, its handler and its place among those of the height. Each difference has a
name, and a subject below that name, by which it can be allowed: `dearer`, or
`dearer:handle_timer`. Fees differ wherever cycles do, and are no difference of their
own: `money` compares what accounts would have without them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field
from typing_extensions import override

from node.chain.accounts import decode_account
from node.chain.block import Event, Receipt, ReceiptKind
from node.chain.mailbox import DEFAULT_MESSAGE_HANDLERS, pending_messages
from node.chain.timers.gba import HANDLERS
from node.chain.timers.lane import DEFAULT_HANDLERS
from node.chain.timers.timer import Timer, route_payload
from node.chain.transition import BlockResult
from node.chain.upgrades import UPGRADED
from node.primitives import codec
from node.primitives.types import Address
from node.query.explain.numbers import counted
from node.query.timers import all_waiting
from node.state import keys
from node.state.store import StoreSnapshot
from pvm import STORAGE_PREFIX

__all__ = ["Difference", "DifferenceName", "Differences"]

_SHOWN_MAX = 60
"""Characters of a value in a sentence."""


class DifferenceName(StrEnum):
    """The names of differences, by which they are allowed."""

    UPGRADE = "upgrade"
    """The upgrade itself fails; nothing else was looked at."""
    STOPPED = "stopped"
    """Timers of a handler wait no more, or will expire before they are due."""
    HANDLERS = "handlers"
    """A timer, message or call no longer finds its handler."""
    FAILURES = "failures"
    """What succeeded fails, what failed succeeds, or fails otherwise."""
    REFUSED = "refused"
    """A transaction cannot be included, or can only now."""
    FIRES = "fires"
    """An execution took place in one of both only, or elsewhere."""
    VALUES = "values"
    """A handler returned other bytes."""
    EVENTS = "events"
    """Other events, or other data of an event."""
    MONEY = "money"
    """An account would have another balance, were there no fees."""
    STORAGE = "storage"
    """An entry of an actor's state is another one at the end."""
    TIMERS = "timers"
    """Other timers wait at the end."""
    DEARER = "dearer"
    """An execution took more cycles or cells."""
    CHEAPER = "cheaper"
    """An execution took fewer of both, or of one."""


class Difference(Struct, frozen=True):
    """Everything of one name and subject that differs."""

    name: DifferenceName
    subject: str
    """A handler, a topic, a key, an address: what the name is about."""
    count: int
    """How often."""
    height: int
    """Where first."""
    text: str
    """What differed there, in a sentence."""

    @override
    def __str__(self) -> str:
        """One line."""
        often = f", {self.count:,} times" if self.count > 1 else ""
        label = f"{self.name}:{self.subject}" if self.subject else f"{self.name}"
        return f"{label} at height {self.height:,}{often}: {self.text}"


class _Execution(Struct):
    """One receipt with its events, under a name that both chains have."""

    receipt: Receipt
    events: list[Event]


_Key = tuple[object, ...]


class Differences(Struct):
    """What was found so far, and what is summed up for the end."""

    actor: Address
    """The one that was upgraded: its handlers are named without an address."""
    costs_within: int = 0
    """Percent by which an execution may cost more or less."""
    found: dict[tuple[DifferenceName, str], Difference] = field(default_factory=dict)
    written: set[bytes] = field(default_factory=set)
    """Keys of accounts and of actors' states that either chain wrote."""
    fees: tuple[Counter[bytes], Counter[bytes]] = field(
        default_factory=lambda: (Counter(), Counter())
    )
    """What accounts paid for executions, less the tips that they got."""

    def add(self, name: DifferenceName, subject: str, height: int, text: str) -> None:
        """Note a difference; the first of a name and subject is told."""
        before = self.found.get((name, subject))
        count = 1 if before is None else before.count + 1
        first = Difference(name, subject, 1, height, text) if before is None else before
        self.found[name, subject] = Difference(
            name, subject, count, first.height, first.text
        )

    def sorted(self) -> tuple[Difference, ...]:
        """All, the gravest names first, then by height."""
        order = list(DifferenceName)
        return tuple(
            sorted(
                self.found.values(),
                key=lambda one: (order.index(one.name), one.height, one.subject),
            )
        )

    # --- of a height -----------------------------------------------------------------

    def compare_blocks(
        self, old: Sequence[BlockResult], new: Sequence[BlockResult]
    ) -> None:
        """What both made of the same heights."""
        for index, results in enumerate((old, new)):
            for result in results:
                self._sum_up(index, result)
        before, after = _executions(old), _executions(new)
        for key in before | after:
            one, other = before.get(key), after.get(key)
            height = key[0]
            assert isinstance(height, int), "a key begins with its height"
            if one is None or other is None:
                self._missing(height, one, other)
            else:
                self._compare(height, one, other)
        self._compare_events(*(_of_no_execution(results) for results in (old, new)))

    def _sum_up(self, index: int, result: BlockResult) -> None:
        families = (b"sa", b"ss")
        self.written.update(k for k in result.writes.changes if k[:2] in families)
        fees = self.fees[index]
        for receipt in result.receipts:
            fees[receipt.payer] += receipt.fee
            fees[result.header.proposer] -= receipt.tip

    def _missing(
        self, height: int, old: _Execution | None, new: _Execution | None
    ) -> None:
        seen = old or new
        assert seen is not None, "one of both has it"
        receipt = seen.receipt
        if receipt.kind is ReceiptKind.TRANSACTION:
            what = "cannot be included" if new is None else "can be included only now"
            text = f"transaction 0x{receipt.id.hex()} {what}"
            self.add(DifferenceName.REFUSED, self._handler(receipt), height, text)
            return
        kind = receipt.kind.name.lower().replace("_", " ")
        side = "the old code alone" if new is None else "the new code alone"
        text = f"a {kind} of {self._handler(receipt)} took place with {side}"
        self.add(DifferenceName.FIRES, self._handler(receipt), height, text)

    def _compare(self, height: int, old: _Execution, new: _Execution) -> None:
        before, after = old.receipt, new.receipt
        handler = self._handler(before)
        was, now = (
            "succeeded" if one.failure is None else f"failed with {one.failure.kind}"
            for one in (before, after)
        )
        if was != now:
            lost = after.failure is not None and after.failure.kind.endswith(
                "HandlerNotFound"
            )
            name = DifferenceName.HANDLERS if lost else DifferenceName.FAILURES
            reason = "" if after.failure is None else f": {after.failure.message}"
            self.add(name, handler, height, f"{handler} {was}, now it {now}{reason}")
        elif before.value != after.value:
            text = f"returned {_shown(before.value)}, now {_shown(after.value)}"
            self.add(DifferenceName.VALUES, handler, height, text)
        self._compare_costs(height, handler, before, after)
        self._compare_events({height: old.events}, {height: new.events})

    def _compare_costs(
        self, height: int, handler: str, before: Receipt, after: Receipt
    ) -> None:
        cycles = before.cycles_used, after.cycles_used
        cells = before.cells_used, after.cells_used
        is_dearer = any(self._exceeds(was, now) for was, now in (cycles, cells))
        if not is_dearer and not any(
            self._exceeds(now, was) for was, now in (cycles, cells)
        ):
            return
        text = (
            f"{cycles[0]:,} cycles and {cells[0]:,} cells, now {cycles[1]:,} and "
            f"{cells[1]:,}, of {after.cycles_limit:,} and {after.cells_limit:,}"
        )
        self.add(
            DifferenceName.DEARER if is_dearer else DifferenceName.CHEAPER,
            handler,
            height,
            text,
        )

    def _exceeds(self, before: int, after: int) -> bool:
        return 100 * after > (100 + self.costs_within) * before

    def _compare_events(
        self, old: Mapping[int, list[Event]], new: Mapping[int, list[Event]]
    ) -> None:
        for height in sorted({*old, *new}):
            before, after = _contents(old.get(height)), _contents(new.get(height))
            for topic in dict.fromkeys([one[1] for one in (*before, *after)]):
                was, now = (
                    [data for _, name, data in events if name == topic]
                    for events in (before, after)
                )
                if was != now:
                    text = f"{_listed(was)}, now {_listed(now)}"
                    self.add(DifferenceName.EVENTS, topic, height, text)

    # --- of the end ------------------------------------------------------------------

    def compare_ends(self, height: int, old: StoreSnapshot, new: StoreSnapshot) -> None:
        """What both leave: state, money, and timers that wait."""
        for key in sorted(self.written):
            if key.startswith(b"ss") and old.get(key) != new.get(key):
                text = f"{_shown(old.get(key))}, now {_shown(new.get(key))}"
                self.add(DifferenceName.STORAGE, self._entry(key), height, text)
        before, after = (
            self._money(snapshot, fees)
            for snapshot, fees in zip((old, new), self.fees, strict=True)
        )
        for address in sorted(before):
            if before[address] != after[address]:
                change = after[address] - before[address]
                text = f"{change:+,} base units, fees aside"
                self.add(DifferenceName.MONEY, f"0x{address.hex()}", height, text)
        self._compare_timers(height, _waiting(old), _waiting(new))

    def _money(
        self, snapshot: StoreSnapshot, fees: Mapping[bytes, int]
    ) -> Counter[bytes]:
        """Balances as they would be, had nobody paid for any execution."""
        found: Counter[bytes] = Counter()
        for key in self.written:
            if key.startswith(b"sa"):
                record = snapshot.get(key)
                balance = 0 if record is None else decode_account(record).balance
                found[key[2:]] = balance + fees.get(key[2:], 0)
        for message in pending_messages(snapshot):
            found[message.payer] += message.prepaid
        return found

    def _compare_timers(
        self,
        height: int,
        old: Mapping[tuple[bytes, str], list[Timer]],
        new: Mapping[tuple[bytes, str], list[Timer]],
    ) -> None:
        for actor, handler in sorted({*old, *new}):
            before = old.get((actor, handler), [])
            after = new.get((actor, handler), [])
            subject = self._named(actor, handler)
            if before and not after:
                text = (
                    f"timers that wait for it: {len(before):,}, the next one "
                    f"{_when(before[0])}; now none: it will never fire again"
                )
                self.add(DifferenceName.STOPPED, subject, height, text)
            elif _terms(before) != _terms(after):
                text = f"due {_due(before)}, now {_due(after)}"
                self.add(DifferenceName.TIMERS, subject, height, text)
            expiring = [one for one in after if _is_lost(one)]
            if len(expiring) > sum(map(_is_lost, before)):
                text = (
                    f"a timer for {subject} expires after height "
                    f"{expiring[0].expires_at:,}, before it is due at "
                    f"{expiring[0].height:,}: it will never fire"
                )
                self.add(DifferenceName.STOPPED, subject, height, text)

    # --- names -----------------------------------------------------------------------

    def _handler(self, receipt: Receipt) -> str:
        return self._named(receipt.actor, receipt.handler or "transfer")

    def _named(self, actor: bytes, handler: str) -> str:
        return handler if actor == self.actor else f"0x{actor.hex()}.{handler}"

    def _entry(self, key: bytes) -> str:
        start = len(keys.storage(self.actor))
        actor, name = key[2:start], key[start:]
        if name.startswith(STORAGE_PREFIX):
            return self._named(actor, name.removeprefix(STORAGE_PREFIX).decode())
        text = name.decode() if name.isascii() else f"0x{name.hex()}"
        return self._named(actor, text)


def _executions(results: Iterable[BlockResult]) -> dict[_Key, _Execution]:
    found: dict[_Key, _Execution] = {}
    for result in results:
        height, counts = result.header.height, Counter[_Key]()
        events = defaultdict(list)
        for event in result.events:
            events[event.receipt_index].append(event)
        for receipt in result.receipts:
            if receipt.kind is ReceiptKind.TRANSACTION:
                key: _Key = (height, receipt.kind, receipt.id)
            else:
                place = receipt.kind, receipt.actor, _asked(receipt.handler)
                key = (height, *place, counts[place])
                counts[place] += 1
            found[key] = _Execution(receipt, events[receipt.index])
    return found


def _asked(handler: str) -> str:
    """What was asked for: of the handlers that answer the same, the first."""
    for names in (DEFAULT_HANDLERS, DEFAULT_MESSAGE_HANDLERS, HANDLERS):
        if handler in names:
            return names[0]
    return handler


def _of_no_execution(results: Iterable[BlockResult]) -> dict[int, list[Event]]:
    return {
        result.header.height: [e for e in result.events if e.receipt_index is None]
        for result in results
    }


def _contents(events: Iterable[Event] | None) -> list[tuple[bytes, str, bytes]]:
    """Of events by whom and what, without that of an upgrade itself."""
    return [
        (event.emitter or b"", event.topic, _content(event))
        for event in events or ()
        if event.emitter is not None or event.topic != UPGRADED
    ]


def _content(event: Event) -> bytes:
    """The data, but for a timer's id, which counts what was scheduled before (D19)."""
    if event.emitter is not None:
        return event.data
    told = codec.decode(event.data)
    assert isinstance(told, dict), "the system names its numbers"
    return codec.encode({key: told[key] for key in told if key != "timer_id"})


def _waiting(snapshot: StoreSnapshot) -> dict[tuple[bytes, str], list[Timer]]:
    """Live timers by target and handler, in due order."""
    found: dict[tuple[bytes, str], list[Timer]] = defaultdict(list)
    for timer in all_waiting(snapshot):
        handler = route_payload(timer.payload)[0] or DEFAULT_HANDLERS[0]
        found[timer.target, handler].append(timer)
    return dict(found)


def _is_lost(timer: Timer) -> bool:
    """Whether a timer expires before it is due (D20); a watch is due as it expires."""
    return timer.expires_at < timer.height and not timer.is_watch


def _terms(timers: Iterable[Timer]) -> list[tuple[object, ...]]:
    """What a timer is beside its id and its number."""
    return [
        (
            *(t.height, t.payload, t.fee_payer, t.gas_limit, t.expires_at),
            *(t.gba, t.bid_fp, t.bucket, t.watch_keys),
        )
        for t in timers
    ]


def _when(timer: Timer) -> str:
    if not timer.is_watch:
        return f"at height {timer.height:,}"
    keys_watched = counted(len(timer.watch_keys), "watch key")
    return f"at a change of {keys_watched}"


def _due(timers: Sequence[Timer]) -> str:
    heights = ", ".join(map(_when, timers[:3])) or "at no height"
    return heights + (f" and {len(timers) - 3:,} more" if len(timers) > 3 else "")  # noqa: PLR2004 - as above


def _listed(events: Sequence[bytes]) -> str:
    if not events:
        return "none"
    more = f" and {len(events) - 1:,} more" if len(events) > 1 else ""
    return _shown(events[0]) + more


def _shown(data: bytes | None) -> str:
    """Bytes as people read them: the value of CBOR, text, or hex."""
    if data is None:
        return "nothing"
    try:
        text = _plain(codec.decode(data))
    except codec.MalformedCbor:
        text = _plain(data)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"


def _plain(value: codec.Value) -> str:
    if isinstance(value, bytes):
        is_text = value.isascii() and value.decode("ascii").isprintable()
        return repr(value) if is_text else f"0x{value.hex()}"
    if isinstance(value, dict):
        named = [f"{key!s}: {_plain(value[key])}" for key in value]
        return f"{{{', '.join(named)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return repr(value)
