"""Alarm clock: wakes another actor at the heights for which it asks, and pays for it.

Shows     an actor that has timers in another's place, with money of its own: so the
          other may hold deposits, as subscriptions.py does, and no fire is ever paid
          out of them. The handler that it wakes answers with the height at which it
          wants to be woken next; if it asks for one that has come already, there is
          more to do, and the next block goes on with it. Whatever the other does, the
          clock goes on: what fails is an event, and running out of the call's cycles
          is a failure of the call alone.
Use       cowboy-devnet deploy alarm_clock.py --value "20 CBY"
              'json:{"actor": "0x…", "handler": "collect", "blocks": 300}'
          cowboy-devnet call ACTOR start       anybody, after a clock ran dry
          cowboy-devnet call ACTOR withdraw    owner: what is left, and it stops
          It wakes the other after `blocks` at the latest.
          Storage: actor, handler, blocks.
Costs     A fire takes some 3,500 cycles beside those of the call; a question to its
          agent: about 1,830 cycles. To run, it needs 0.8 CBY at the genesis basefees.
"""

import json

import pvm_host
from cowboy_sdk import Actor


class AlarmClock(Actor):
    GAS_LIMIT = 250_000  # cycles of a fire: the most that all rules allow
    CALL_LIMIT = 230_000  # of the call; the rest is for the clock itself
    TIP_PER_BLOCK = 20  # base units a cycle for each block that the fire is late
    TIP_MAX = 1_000

    def deploy(self, payload: bytes):
        wanted = json.loads(payload)
        if type(wanted["blocks"]) is not int or wanted["blocks"] < 1:
            pvm_host.revert("blocks is 1 or more")
        self.storage["actor"] = bytes.fromhex(wanted["actor"].removeprefix("0x"))
        self.storage["handler"] = wanted["handler"]
        self.storage["blocks"] = wanted["blocks"]
        self._arm(pvm_host.block_height() + 1)

    def handle_timer(self, payload: bytes):
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        now = pvm_host.block_height()
        latest = now + self.storage["blocks"]
        timer_id = self._arm(latest)  # first: whom it wakes may call `start`
        wanted = self._wake()
        if 0 < wanted < latest:
            pvm_host.cancel_timer(timer_id)
            self._arm(max(now + 1, wanted))

    def start(self):
        if pvm_host.list_timers():
            pvm_host.revert("the clock runs already")
        self._arm(pvm_host.block_height() + 1)

    def withdraw(self):
        if pvm_host.get_sender() != self.deployer:
            pvm_host.revert("only the owner may do this")
        for timer_id in pvm_host.list_timers():
            pvm_host.cancel_timer(timer_id)
        pvm_host.transfer(self.deployer, pvm_host.get_balance(self.address))

    def get_gas_bid(self, context: dict[str, int]):
        late = context["current_block_height"] - context["trigger_block_height"]
        tip = min(late * self.TIP_PER_BLOCK, self.TIP_MAX)
        market = context.get("basefee_lane_timer", context["basefee_cycle"])
        return {
            "max_fee_per_cycle": 2 * market + tip,
            "max_priority_fee_per_cycle": tip,  # as `auction` calls it
            "tip_per_cycle": tip,  # as `bidding` calls it
        }

    def _wake(self):
        try:
            answer = pvm_host.call_actor(
                self.storage["actor"], self.storage["handler"], b"", self.CALL_LIMIT
            )
            wanted = pvm_host.cbor_decode(answer[:9])  # a height has no more
        except Exception as error:
            pvm_host.emit_event("not_woken", str(error).encode()[:200])
            return 0
        return wanted if type(wanted) is int else 0

    def _arm(self, height: int):
        return pvm_host.schedule_timer(
            height, b"", gas_limit=self.GAS_LIMIT, gba=self.address
        )
