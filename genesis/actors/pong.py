"""Pong: returns every ball to the actor that played it. The other half of ping.py.

Shows     answering a message: its sender is `get_sender()`, and the answer is another
          message, paid out of the budget of the one that is answered.
Use       cowboy-devnet deploy pong.py
          Then let ping.py serve to its address. Storage: returned.
Costs     message: about 1,920 cycles and 19 cells, from the budget of the message. No
          timers; it needs no money of its own.
"""

import pvm_host
from cowboy_sdk import Actor


class Pong(Actor):
    KEPT_CYCLES = 2_000  # of a message's budget, for what happens after the answer

    def deploy(self):
        self.storage["returned"] = 0

    def ping(self, payload: bytes):
        self.storage["returned"] += 1
        pvm_host.send_message(
            pvm_host.get_sender(),
            "pong",
            str(int(payload) + 1).encode(),
            cycles=pvm_host.gas_left() - self.KEPT_CYCLES,
        )
