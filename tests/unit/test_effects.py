"""`ExecutionSideEffects`: the log over the store, and that undoing leaves nothing."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from node.chain.block import Event, Price, ReceiptKind
from node.chain.effects import (
    EventEmitted,
    ExecutionSideEffects,
    FireCancelled,
    MessageSent,
    RandomnessDrawn,
    StorageWritten,
    TimerCancelled,
    TimerExtended,
    TimerScheduled,
    Transferred,
)
from node.chain.mailbox import PendingMessage
from node.chain.timers import calendar
from node.chain.timers.ruleset import FeeTerms
from node.chain.timers.timer import Timer
from node.primitives.types import Address, Amount, Hash32, Height, TimerId
from node.state import keys
from node.state.journal import Journal
from node.state.memory import MemoryStore

TERMS = FeeTerms(None, None, None, is_bid_stated=False)
ACTORS = [Address(bytes([number]) * 20) for number in (1, 2)]
NONE = Amount(0)


def timer_at(height, sequence, actor=ACTORS[0]):
    return Timer(
        Height(height),
        sequence,
        TimerId(sequence.to_bytes(32, "big")),
        actor,
        b"",
        "",
        actor,
        gas_limit=1_000,
        is_gas_limit_defaulted=False,
        expires_at=Height(99),
        scheduled_at=Height(0),
    )


def message(index, sender, target):
    price = Price(NONE, NONE, NONE, NONE)
    return PendingMessage(
        ReceiptKind.MAILBOX_MESSAGE,
        7,
        index,
        target,
        sender,
        "",
        b"",
        2_000,
        100,
        price,
        sender,
        Hash32(bytes(32)),
    )


STORED = [timer_at(5, 0), timer_at(3, 1), timer_at(4, 2, ACTORS[1])]
QUEUED = timer_at(2, 3)


def stored():
    """What an execution finds: three live timers; a fourth waits for its turn."""
    journal = Journal(MemoryStore().snapshot())
    for timer in STORED:
        calendar.insert(journal, timer)
    return journal


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["schedule", "extend", "cancel", "queued", "send", "move", "store", "emit"]
        ),
        st.integers(0, 5),
        st.integers(0, 1),
    ),
    max_size=14,
)


def perform(effects, journal, step, number):
    """What host calls would note."""
    kind, value, who = step
    actor = ACTORS[who]
    own = effects.timer_ids_of(journal, actor)
    chosen = effects.load_timer(journal, own[value % len(own)]) if own else None
    match kind:
        case "schedule":
            effects.note(TimerScheduled(timer_at(3 + value, number, actor), TERMS))
        case "extend" if chosen:
            after = replace(chosen, expires_at=Height(100 + value))
            effects.note(TimerExtended(chosen, after, ("actor", "governance")[who]))
        case "cancel" if chosen:
            effects.note(TimerCancelled(chosen, ("actor", "governance")[who]))
        case _:
            perform_other(effects, step, number)


def perform_other(effects, step, number):
    """What changes no live timer."""
    kind, value, who = step
    actor = ACTORS[who]
    match kind:
        case "queued" if not effects.is_gone(QUEUED.timer_id):
            effects.note(FireCancelled(QUEUED, Amount(9)))
        case "send":
            effects.note(MessageSent(message(number, actor, ACTORS[value % 2])))
        case "move":
            effects.note(Transferred(actor, ACTORS[value % 2], Amount(value)))
        case "store":
            effects.note(StorageWritten(keys.storage(actor, bytes([value]))))
        case "emit":
            event = Event(actor if who else None, "t", b"", 0)
            effects.note(EventEmitted(event))
            effects.note(RandomnessDrawn())
        case _:
            pass


def seen(effects, journal):
    """Everything that the log says."""
    ids = [effects.timer_ids_of(journal, actor) for actor in ACTORS]
    every = {i for own in ids for i in own} | {t.timer_id for t in (*STORED, QUEUED)}
    waiting = [
        keys.WAITING_TOTAL,
        *(keys.pending_count(actor) for actor in ACTORS),
        *(keys.pending_pair(a, b) for a in ACTORS for b in ACTORS),
        *(keys.waiting_by_payer(actor) for actor in ACTORS),
    ]
    return (
        list(effects.log),
        ids,
        [effects.count_timers(journal, actor) for actor in ACTORS],
        [effects.load_timer(journal, i) for i in sorted(every)],
        [effects.is_gone(i) for i in sorted(every)],
        [effects.load_waiting(journal, key) for key in waiting],
        len(effects.written),
        effects.actor_events,
        (effects.timers_scheduled, effects.messages_sent, effects.draws),
    )


@given(STEPS, STEPS, STEPS)
def test_what_is_undone_was_never_noted(first, undone, last):
    """D16: "Effects … and every counter are undone"."""
    journal = stored()
    effects, plain = ExecutionSideEffects(), ExecutionSideEffects()
    for number, step in enumerate(first):
        perform(effects, journal, step, 10 + number)
        perform(plain, journal, step, 10 + number)
    length = len(effects.log)
    for number, step in enumerate(undone):
        perform(effects, journal, step, 40 + number)
    effects.undo(length)
    assert seen(effects, journal) == seen(plain, journal)
    for number, step in enumerate(last):
        perform(effects, journal, step, 70 + number)
        perform(plain, journal, step, 70 + number)
    assert seen(effects, journal) == seen(plain, journal)


@given(STEPS)
def test_an_execution_sees_what_the_store_will_hold(steps):
    """D18: "sees its own timer effects at once …; they reach the store on commit"."""
    journal = stored()
    effects = ExecutionSideEffects()
    for number, step in enumerate(steps):
        perform(effects, journal, step, 10 + number)
    expected = seen(effects, journal)[1:4]
    for effect in effects.log:
        match effect:
            case TimerScheduled(timer):
                calendar.insert(journal, timer)
            case TimerExtended(_, timer):
                calendar.replace(journal, timer)
            case TimerCancelled(timer):
                calendar.remove(journal, timer)
            case _:
                pass
    ids = [[i for _, i in calendar.places_of(journal, actor)] for actor in ACTORS]
    every = {i for own in ids for i in own} | {t.timer_id for t in (*STORED, QUEUED)}
    counts = [calendar.count_of(journal, actor) for actor in ACTORS]
    timers = [calendar.load_timer(journal, i) for i in sorted(every)]
    assert (ids, counts, timers) == expected


def test_written_keys_are_counted_once_and_governance_is_not_counted():
    """D43: "distinct state keys": storage, both accounts of a transfer, each timer."""
    effects = ExecutionSideEffects()
    effects.note(StorageWritten(keys.storage(ACTORS[0], b"k")))
    effects.note(StorageWritten(keys.storage(ACTORS[0], b"k")))
    effects.note(Transferred(ACTORS[0], ACTORS[1], Amount(1)))
    effects.note(Transferred(ACTORS[1], ACTORS[0], Amount(2)))
    effects.note(TimerCancelled(STORED[0], "governance"))
    effects.note(EventEmitted(Event(None, "t", b"", 0)))
    assert len(effects.written) == 3
    effects.note(TimerCancelled(STORED[1], "actor"))
    assert len(effects.written) == 4
    effects.undo(2)
    assert len(effects.written) == 3
