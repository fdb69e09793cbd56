"""Ping: plays a rally with pong.py, message by message, a block for each.

Shows     messages between two actors. A message is delivered in the next block, with
          a budget that its sender sets aside and that its sender's payer pays at once,
          at the price of that moment; what it does not use is given back. What pong
          sends in answer comes out of the budget of the message it answers, so the
          budget of the first message carries the whole rally. A timer ends a rally
          whose answer does not come.
Use       deploy pong.py, then ping.py with some CBY for its timer (else the timer is
          removed when it is due, and only that):
          cowboy-devnet deploy ping.py --value "2 CBY"
          cowboy-devnet call PING serve 'json:{"pong": "0x…", "rounds": 3}'
          cowboy-devnet storage PING
          Storage: pong, rounds_left, rallies, lost, last_ball, timer.
Costs     `serve`: about 2,300 cycles and 244 cells beside those of every transaction,
          and 100,000 cycles and 60,000 cells set aside for the rally; message: about
          4,150 cycles and 211 cells. What is left of a budget is given back when its
          message has run.
"""

import json

import pvm_host
from cowboy_sdk import Actor


class Ping(Actor):
    ROUNDS_MAX = 4
    RALLY_CYCLES = 100_000  # set aside for all messages of a rally
    RALLY_CELLS = 60_000  # likewise; each message gets half of what its sender has
    KEPT_CYCLES = 8_000  # of each message's budget, for the work after the answer
    PATIENCE = 10  # blocks without an answer, and the rally is lost
    GAS_LIMIT = 20_000  # cycles of the fire that ends it

    def deploy(self):
        self.storage["rallies"] = 0
        self.storage["lost"] = 0

    def serve(self, payload: bytes):
        wanted = json.loads(payload)
        if "timer" in self.storage:
            pvm_host.revert("a rally is on")
        if not 1 <= wanted["rounds"] <= self.ROUNDS_MAX:
            pvm_host.revert(f"rounds is 1 to {self.ROUNDS_MAX}")
        self.storage["pong"] = bytes.fromhex(wanted["pong"].removeprefix("0x"))
        self.storage["rounds_left"] = wanted["rounds"]
        self._hit(1, self.RALLY_CYCLES, self.RALLY_CELLS)

    def pong(self, payload: bytes):
        if pvm_host.get_sender() != self.storage["pong"]:
            pvm_host.revert("only the other player returns the ball")
        if "timer" not in self.storage:
            pvm_host.revert("the rally is over")
        pvm_host.cancel_timer(self.storage.pop("timer"))
        ball = int(payload)
        self.storage["last_ball"] = ball
        self.storage["rounds_left"] -= 1
        if self.storage["rounds_left"]:
            self._hit(ball + 1, pvm_host.gas_left() - self.KEPT_CYCLES, None)
        else:
            self.storage["rallies"] += 1
            pvm_host.emit_event("rally", str(ball).encode())

    def handle_timer(self, payload: bytes):
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        del self.storage["timer"]
        self.storage["lost"] += 1
        pvm_host.emit_event("lost", b"")

    def _hit(self, ball: int, cycles: int, cells: int | None):
        pvm_host.send_message(
            self.storage["pong"],
            "ping",
            str(ball).encode(),
            cycles=cycles,
            cells=cells,
        )
        self.storage["timer"] = pvm_host.schedule_timer(
            pvm_host.block_height() + self.PATIENCE, b"", gas_limit=self.GAS_LIMIT
        )
