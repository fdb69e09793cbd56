"""Rules `fifo` of a block, D26 and D27 read literally; see `timer_model`."""

from tests.differential.timer_model import RulesModel, Timer


class FifoModel(RulesModel):
    """In order; reserved by limit, paid in advance, then run."""

    name = "fifo"

    def run(self) -> None:
        """D26: who leaves, who waits, who is paid for; then these, in order."""
        model = self.model
        reserved = 0
        for timer in model.due()[: model.numbers.examined_max]:
            limit = model.limit_of(timer, model.numbers.cap)
            cost = model.cost(limit, 0)
            if model.height > timer.expires_at:
                model.leave(timer, "TimerExpired")
            elif model.balances[timer.payer] < cost:
                model.leave(timer, "TimerCancelledInsufficientFunds")
            elif reserved + limit > model.numbers.lane:
                model.put_off(timer, "lane")
            else:
                reserved += limit
                model.balances[timer.payer] -= cost
                model.timers.remove(timer)
                model.queued_fires[timer.id] = timer, cost
        while model.queued_fires:
            timer, cost = model.queued_fires.pop(next(iter(model.queued_fires)))
            self._execute(timer, cost)

    def _execute(self, timer: Timer, cost: int) -> None:
        model = self.model
        if model.has_keys() and model.has_cells():
            model.fire(timer, model.limit_of(timer, model.numbers.cap), 0, cost)
            return
        model.balances[timer.payer] += cost
        model.timers.append(timer)
        model.put_off(timer, "cells" if model.has_keys() else "writes")
