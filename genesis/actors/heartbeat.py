"""Heartbeat: an actor that wakes itself up every ten blocks (CIP-5, Appendix B).

Shows     a recurring timer. Timers fire once, so the handler schedules the next fire.
          The actor pays for its own fires; when its balance no longer covers one, the
          chain removes the timer and the loop ends (event
          TimerCancelledInsufficientFunds).
Use       deploy with some CBY; it starts by itself. `start` resumes it after it ran
          dry and was topped up by a plain transfer to its address.
          cowboy-devnet deploy heartbeat.py --value "5 CBY"
          Read: `status`. Storage: beats, last_beat.
Costs     fire: about 2,300 cycles and 33 cells. When it is due, the chain sets aside
          gas_limit x cycle basefee + 550,000 x cell basefee, and gives back what was
          not used: 0.57 CBY at the genesis basefees. Without `gas_limit` it would be
          1.1 CBY, and three such fires would fill the timer lane of a block.
"""

import pvm_host
from cowboy_sdk import Actor


class Heartbeat(Actor):
    INTERVAL = 10  # blocks
    GAS_LIMIT = 20_000  # cycles a fire may use

    def deploy(self):
        self.storage["beats"] = 0
        self._schedule()

    def handle_timer(self, payload: bytes):
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        self.storage["beats"] += 1
        self.storage["last_beat"] = pvm_host.block_height()
        # If the balance does not cover the next fire, this still succeeds; the fire
        # will then be removed instead of run.
        self._schedule()

    def start(self):
        if pvm_host.list_timers():
            pvm_host.revert("the heart beats already")
        self._schedule()

    def status(self):
        return {
            "beats": self.storage["beats"],
            "last_beat": self.storage.get("last_beat"),
            "balance": pvm_host.get_balance(self.address),
        }

    def _schedule(self):
        pvm_host.schedule_timer(
            pvm_host.block_height() + self.INTERVAL, b"", gas_limit=self.GAS_LIMIT
        )
