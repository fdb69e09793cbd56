"""Leaving `globalbox`: its queue is emptied from the head, and nothing is lost (D55).

Under other rules each block moves a bounded number of fires before its own timers have
their turn: HEIGHT timers are due in the calendar again, watches wait among the noted
hits until `globalbox` comes back or they expire.
"""

from itertools import islice

from node.chain.context import BlockContext
from node.chain.params import LEAVING_FIRES_MAX
from node.chain.timers import calendar
from node.chain.timers.globalbox import hits, queue
from node.chain.timers.globalbox.hits import Hit
from node.chain.timers.globalbox.lane import placed_fire, queue_floor, tell
from node.chain.timers.timer import Decision
from node.state import keys
from node.state.commitment import is_globalbox_empty


def empty_queue(block: BlockContext) -> None:
    """Move the first fires out of the queue, if any are left in it."""
    if is_globalbox_empty(block.calendar.reader):
        return
    fires = queue.in_order(block.journal, queue_floor(block))
    for entry in list(islice(fires, LEAVING_FIRES_MAX)):
        placed = placed_fire(block, entry)
        timer = placed.timer
        if entry.is_of_watch:
            queue.remove(block.journal, entry)
            hits.note(block.journal, Hit(timer, entry.origin, entry.matched_keys))
        else:
            calendar.leave_queue(block.journal, timer, entry)
            block.returned.append(keys.timer(timer.height, timer.sequence))
            block.rule_set.take_back(block, timer)
        tell(block, placed, Decision.RETURNED, "", {})
