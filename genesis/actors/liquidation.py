"""Liquidation: loans against tokens, sold off when their price falls.

Shows     an actor that watches a price. It lends CBY against tokens of token.py at the
          price of price_oracle.py or bidding_oracle.py, and sells off the loans that
          are too risky. Under `globalbox` a state watch on the oracle calls it when
          the price has changed, and costs nothing until then. Under other rules a
          timer looks every WATCH blocks; where rules ask its agent (`auction`,
          `bidding`) it bids by the riskiest loan, so that a fire which may save money
          is worth paying for, and one that finds nothing to do is cheap. Anybody may
          also call `liquidate`. The fires are paid out of the lender's money, the
          only CBY that is here: borrowers leave tokens.
Use       cowboy-devnet deploy liquidation.py --value "100 CBY"
              'json:{"token": "0x…", "oracle": "0x…"}'
          cowboy-devnet call TOKEN approve 'json:{"spender": "0x…", "amount": 50}'
          cowboy-devnet call ACTOR borrow 50         50 tokens: 60 % of their worth
          cowboy-devnet call ACTOR repay 1 --value … the debt: the tokens come back
          cowboy-devnet call ACTOR liquidate 1       anybody, if it is too risky
          cowboy-devnet call ACTOR start             anybody, if no timer is pending
          cowboy-devnet call ACTOR withdraw 5000     lender: base units
          cowboy-devnet read ACTOR loan 1            debt, tokens, borrower and risk
          The price is in base units a token. A loan is too risky when its debt is more
          than 80 % of the worth of its tokens. The lender then gets tokens worth 110 %
          of the debt, and the borrower the rest of them.
          Storage: token, oracle, loans, loan:<number>.
Costs     `borrow`: about 12,000 cycles and 621 cells; `repay`: about 7,200 cycles and
          446 cells, beside those of every transaction; fire: about 5,250 cycles and
          200 cells with a sound loan, and 17,000 cycles more for one that is sold off;
          a question to its agent: about 5,100 cycles with one loan.
"""

import json
from typing import Any

import pvm_host
from cowboy_sdk import Actor


class Liquidation(Actor):
    LOANS_MAX = 12  # so that one fire can sell off all of them
    LENT = 60  # percent of the worth of the tokens
    RISKY = 80  # percent
    SEIZED = 110  # percent of the debt
    WATCH = 5  # blocks, where there are no state watches
    GAS_LIMIT = 250_000  # cycles of a fire: some twelve loans sold off at once
    CALM = 70  # percent: below it a fire is worth no tip
    TIP_PER_PERCENT = 200  # base units a cycle for each percent above it
    FEE_MAX = 20_000  # base units a cycle: above it, waiting is cheaper

    def deploy(self, payload: bytes):
        wanted = json.loads(payload)
        self.storage["token"] = bytes.fromhex(wanted["token"].removeprefix("0x"))
        self.storage["oracle"] = bytes.fromhex(wanted["oracle"].removeprefix("0x"))
        self.storage["loans"] = 0
        self._watch()

    def borrow(self, payload: bytes):
        tokens, borrower = int(payload), pvm_host.get_sender()
        if tokens < 1:
            pvm_host.revert("1 token or more")
        if len(self.storage.keys("loan:")) == self.LOANS_MAX:
            pvm_host.revert(f"{self.LOANS_MAX} loans are the most")
        debt = tokens * self._price() * self.LENT // 100
        self.storage["loans"] += 1
        number = self.storage["loans"]
        self.storage[f"loan:{number}"] = {
            "borrower": borrower,
            "tokens": tokens,
            "debt": debt,
        }
        self._move_tokens("transfer_from", self.address, tokens, borrower)
        pvm_host.transfer(borrower, debt)
        return number

    def repay(self, payload: bytes):
        number, loan = self._loan(payload)
        if pvm_host.get_sender() != loan["borrower"]:
            pvm_host.revert("only the borrower repays")
        if pvm_host.context()["value"] != loan["debt"]:
            pvm_host.revert(f"the debt is {loan['debt']}")
        del self.storage[f"loan:{number}"]
        self._move_tokens("transfer", loan["borrower"], loan["tokens"])

    def liquidate(self, payload: bytes):
        number, loan = self._loan(payload)
        price = self._price()
        if self._risk(loan, price) <= self.RISKY:
            pvm_host.revert("the loan is sound")
        del self.storage[f"loan:{number}"]
        wanted = -(-loan["debt"] * self.SEIZED // (100 * price))
        seized = min(loan["tokens"], wanted)
        self._move_tokens("transfer", self.deployer, seized)
        self._move_tokens("transfer", loan["borrower"], loan["tokens"] - seized)
        pvm_host.emit_event("liquidated", str(number).encode())

    def handle_timer(self, payload: bytes):
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        if not pvm_host.list_timers():  # a watch lives on, a timer does not
            self._watch()
        try:
            price = self._price()
        except Exception:
            return  # the oracle has none: nothing to compare with
        for key in self.storage.keys("loan:"):
            if self._risk(self.storage[key], price) > self.RISKY:
                self._try_to_liquidate(key.removeprefix("loan:").encode())

    def start(self):
        if pvm_host.list_timers():
            pvm_host.revert("it watches already")
        self._watch()

    def withdraw(self, payload: bytes):
        if pvm_host.get_sender() != self.deployer:
            pvm_host.revert("only the lender may do this")
        pvm_host.transfer(self.deployer, int(payload))

    def loan(self, payload: bytes):
        _, loan = self._loan(payload)
        return {**loan, "risk": self._risk(loan, self._price())}

    def get_gas_bid(self, context: dict[str, int]):
        loans = [self.storage[key] for key in self.storage.keys("loan:")]
        tip = 0
        if loans:
            price = self._price()
            risk = max([self._risk(loan, price) for loan in loans])
            tip = max(0, risk - self.CALM) * self.TIP_PER_PERCENT
        # `auction` has a basefee of its lane; elsewhere a cycle's basefee is the price.
        market = context.get("basefee_lane_timer", context["basefee_cycle"])
        return {
            "max_fee_per_cycle": min(2 * market + tip, self.FEE_MAX),
            "max_priority_fee_per_cycle": tip,  # as `auction` calls it
            "tip_per_cycle": tip,  # as `bidding` calls it
        }

    def _watch(self):
        try:
            pvm_host.set_state_watch(
                self.address,
                [(self.storage["oracle"], "price")],
                b"",
                gas_limit=self.GAS_LIMIT,
            )
        except pvm_host.HostError:  # other rules have no state watches
            pvm_host.schedule_timer(
                pvm_host.block_height() + self.WATCH,
                b"",
                gas_limit=self.GAS_LIMIT,
                gba=self.address,
            )

    def _try_to_liquidate(self, number: bytes):
        # As a call: what fails is undone whole, and the others are looked at.
        try:
            pvm_host.call_actor(self.address, "liquidate", number, 40_000)
        except Exception as error:
            pvm_host.emit_event("not_liquidated", str(error).encode()[:200])

    def _price(self):
        answer = pvm_host.call_actor(self.storage["oracle"], "price", b"", 20_000)
        return pvm_host.cbor_decode(answer)["price"]

    def _risk(self, loan: dict[str, Any], price: int):
        worth = loan["tokens"] * price
        return -(-loan["debt"] * 100 // worth)  # percent, rounded up

    def _loan(self, payload: bytes):
        number = int(payload)
        loan = self.storage.get(f"loan:{number}")
        if loan is None:
            pvm_host.revert(f"there is no open loan {number}")
        return number, loan

    def _move_tokens(
        self, handler: str, to: bytes, amount: int, owner: bytes | None = None
    ):
        wanted = {"to": to.hex(), "amount": amount}
        if owner is not None:
            wanted["owner"] = owner.hex()
        pvm_host.call_actor(
            self.storage["token"], handler, json.dumps(wanted).encode(), 20_000
        )
