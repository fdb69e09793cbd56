"""Price oracle: reporters state prices, a timer publishes their median every round.

Shows     a loop that keeps going whatever its work does. The fire re-arms itself
          before it works, and the work stands in a `try`: what it raises is an event,
          not the end of the loop. (A fire that fails as a whole leaves nothing, its
          re-arming included.) Running out of cycles cannot be caught, so the work is
          bounded: at most 16 reporters. `start` resumes a loop that ran dry.
Use       cowboy-devnet deploy price_oracle.py --value "5 CBY"
              'json:{"reporters": ["0x…", "0x…"], "blocks": 20, "quorum": 2}'
          cowboy-devnet call ACTOR report 41250      a reporter's price, an integer
          cowboy-devnet read ACTOR price             price, round and height
          cowboy-devnet call ACTOR start             anybody, if no timer is pending
          Other actors: call_actor(oracle, "price", b"") gives the same as CBOR.
          Storage: reporters, blocks, quorum, round, price, height, report:<address>.
Costs     `report`: about 1,140 cycles and 175 cells beside those of every transaction;
          fire: about 5,300 cycles and 391 cells with three reports, paid by the actor,
          which needs 0.59 CBY for each at the genesis basefees and gets most back.
"""

import json

import pvm_host
from cowboy_sdk import Actor


class PriceOracle(Actor):
    REPORTERS_MAX = 16
    PRICE_MAX = 10**18
    GAS_LIMIT = 40_000  # cycles of a fire

    def deploy(self, payload: bytes):
        wanted = json.loads(payload)
        reporters = [
            bytes.fromhex(text.removeprefix("0x")) for text in wanted["reporters"]
        ]
        if not 1 <= wanted["quorum"] <= len(reporters) <= self.REPORTERS_MAX:
            pvm_host.revert(f"1 to {self.REPORTERS_MAX} reporters, quorum among them")
        if type(wanted["blocks"]) is not int or wanted["blocks"] < 1:
            pvm_host.revert("blocks is 1 or more")
        self.storage["reporters"] = reporters
        self.storage["blocks"] = wanted["blocks"]
        self.storage["quorum"] = wanted["quorum"]
        self.storage["round"] = 1
        self._arm()

    def report(self, payload: bytes):
        sender, price = pvm_host.get_sender(), int(payload)
        if sender not in self.storage["reporters"]:
            pvm_host.revert("only a reporter reports")
        if not 0 < price <= self.PRICE_MAX:
            pvm_host.revert("a price is an integer above 0")
        self.storage["report:" + sender.hex()] = price

    def handle_timer(self, payload: bytes):
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        self._arm()
        try:
            self._publish()
        except Exception as error:
            pvm_host.emit_event("round_failed", str(error).encode()[:200])
        self.storage["round"] += 1

    def start(self):
        if pvm_host.list_timers():
            pvm_host.revert("the oracle runs already")
        self._arm()

    def price(self):
        if "price" not in self.storage:
            pvm_host.revert("no price was published yet")
        return {
            "price": self.storage["price"],
            "height": self.storage["height"],
            "round": self.storage["round"],
        }

    def _arm(self):
        pvm_host.schedule_timer(
            pvm_host.block_height() + self.storage["blocks"],
            b"",
            gas_limit=self.GAS_LIMIT,
        )

    def _publish(self):
        keys = self.storage.keys("report:")
        prices = sorted([self.storage.pop(key) for key in keys])
        quorum = self.storage["quorum"]
        if len(prices) < quorum:
            raise ValueError(f"{len(prices)} reports came, {quorum} are wanted")
        middle = len(prices) // 2
        if len(prices) % 2:
            price = prices[middle]
        else:
            price = (prices[middle - 1] + prices[middle]) // 2
        self.storage["price"] = price
        self.storage["height"] = pvm_host.block_height()
        pvm_host.emit_event("price", str(price).encode())
