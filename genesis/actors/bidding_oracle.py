"""Bidding oracle: publishes the median of reports, and bids for its turn by need.

Shows     a Gas Bidding Agent: where rules let timers bid (`auction`, `bidding`), the
          chain asks `get_gas_bid` in each block in which a fire is due, and this
          oracle offers more the further the reports have moved from the price that
          it published, and the longer it waits. Where rules do not ask (`fifo`,
          `globalbox`) the same source waits for its turn like all others. An answer
          with the names of all rules is understood by each of them.
Use       cowboy-devnet deploy bidding_oracle.py --value "20 CBY"
              'json:{"reporters": ["0x…", "0x…"], "blocks": 20}'
          cowboy-devnet call ACTOR report 41250      a reporter's price, an integer
          cowboy-devnet read ACTOR price             price and height
          cowboy-devnet call ACTOR start             anybody, if no timer is pending
          Storage: reporters, blocks, price, height, report:<address>.
Costs     `report`: about 1,140 cycles and 156 cells beside those of every transaction;
          fire: about 3,800 cycles and 157 cells with two reports; a question to its
          agent: about 2,800 cycles, in each block in which it waits. The oracle pays
          for all of it, never more than FEE_MAX a cycle for its place.
"""

import json

import pvm_host
from cowboy_sdk import Actor


class BiddingOracle(Actor):
    REPORTERS_MAX = 16
    PRICE_MAX = 10**18
    GAS_LIMIT = 40_000  # cycles of a fire
    TIP_PER_PERMILLE = 20  # base units a cycle for each thousandth that prices moved
    TIP_PER_BLOCK = 50  # and for each block that the fire is late
    FEE_MAX = 20_000  # base units a cycle: above it, waiting is cheaper

    def deploy(self, payload: bytes):
        wanted = json.loads(payload)
        reporters = [
            bytes.fromhex(text.removeprefix("0x")) for text in wanted["reporters"]
        ]
        if not 1 <= len(reporters) <= self.REPORTERS_MAX:
            pvm_host.revert(f"1 to {self.REPORTERS_MAX} reporters")
        if type(wanted["blocks"]) is not int or wanted["blocks"] < 1:
            pvm_host.revert("blocks is 1 or more")
        self.storage["reporters"] = reporters
        self.storage["blocks"] = wanted["blocks"]
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
        price = self._median()
        if price:
            self.storage["price"] = price
            self.storage["height"] = pvm_host.block_height()
            pvm_host.emit_event("price", str(price).encode())

    def start(self):
        if pvm_host.list_timers():
            pvm_host.revert("the oracle runs already")
        self._arm()

    def price(self):
        if "price" not in self.storage:
            pvm_host.revert("no price was published yet")
        return {"price": self.storage["price"], "height": self.storage["height"]}

    def get_gas_bid(self, context: dict[str, int]):
        late = context["current_block_height"] - context["trigger_block_height"]
        published, now = self.storage.get("price", 0), self._median()
        moved = abs(now - published) * 1_000 // published if published else 0
        tip = min(moved, 1_000) * self.TIP_PER_PERMILLE + late * self.TIP_PER_BLOCK
        # `auction` has a basefee of its lane; elsewhere a cycle's basefee is the price.
        market = context.get("basefee_lane_timer", context["basefee_cycle"])
        return {
            "max_fee_per_cycle": min(2 * market + tip, self.FEE_MAX),
            "max_priority_fee_per_cycle": tip,  # as `auction` calls it
            "tip_per_cycle": tip,  # as `bidding` calls it
        }

    def _arm(self):
        pvm_host.schedule_timer(
            pvm_host.block_height() + self.storage["blocks"],
            b"",
            gas_limit=self.GAS_LIMIT,
            gba=self.address,
        )

    def _median(self):
        keys = self.storage.keys("report:")
        prices = sorted([self.storage[key] for key in keys])
        return prices[len(prices) // 2] if prices else 0
