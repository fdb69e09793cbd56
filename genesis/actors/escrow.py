"""Escrow: a deposit for a seller that returns to the buyer when its time is up.

Shows     money that comes with a call (`value`), a timer that undoes a deal nobody
          finished, a named handler for it (`_handler`), and cancelling it. The timer
          is paid by the buyer, who signs `open`, and never by the actor: its balance
          is other people's money, and a fee taken from it would be theirs.
Use       cowboy-devnet deploy escrow.py
          cowboy-devnet call ACTOR open 'json:{"seller": "0x…", "blocks": 100}'
                                   --value "3 CBY"           returns the deal's number
          cowboy-devnet call ACTOR release 1      buyer: the seller gets the deposit
          cowboy-devnet call ACTOR refund 1       seller: the buyer gets it back
          cowboy-devnet call ACTOR expire 1       anybody, once the time is up: the same
          cowboy-devnet read ACTOR deal 1
          `expire` is there because a timer is not a promise: if the buyer's account
          cannot cover its cost when it is due, it is removed without running.
          Storage: deals, deal:<number>.
Costs     `open`: about 3,100 cycles and 322 cells; `release`: about 3,500 cycles and
          310 cells, beside those of every transaction; fire: about 4,000 cycles and
          257 cells. When the fire is due, 0.57 CBY of the buyer's balance are set aside
          at the genesis basefees, and mostly given back.
"""

import base64
import json
from typing import Any

import pvm_host
from cowboy_sdk import Actor


class Escrow(Actor):
    BLOCKS_MAX = 100_000
    GAS_LIMIT = 30_000  # cycles of the fire

    def deploy(self):
        self.storage["deals"] = 0

    def open(self, payload: bytes):
        wanted = json.loads(payload)
        seller = bytes.fromhex(wanted["seller"].removeprefix("0x"))
        blocks, deposit = wanted["blocks"], pvm_host.context()["value"]
        if len(seller) != 20:
            pvm_host.revert("a seller is an address of 20 bytes")
        if type(blocks) is not int or not 1 <= blocks <= self.BLOCKS_MAX:
            pvm_host.revert(f"blocks is 1 to {self.BLOCKS_MAX}")
        if deposit == 0:
            pvm_host.revert("a deal needs a deposit: send it along as value")
        self.storage["deals"] += 1
        number = self.storage["deals"]
        buyer, expires_at = pvm_host.get_sender(), pvm_host.block_height() + blocks
        timer_id = pvm_host.schedule_timer(
            expires_at,
            self._routed("time_is_up", number),
            fee_payer=buyer,  # must be who signed: an actor cannot open a deal
            gas_limit=self.GAS_LIMIT,
        )
        self.storage[f"deal:{number}"] = {
            "buyer": buyer,
            "seller": seller,
            "deposit": deposit,
            "expires_at": expires_at,
            "timer": timer_id,
        }
        return number

    def release(self, payload: bytes):
        number, deal = self._deal(payload)
        if pvm_host.get_sender() != deal["buyer"]:
            pvm_host.revert("only the buyer releases the deposit")
        self._cancel(deal)
        self._close(number, deal, deal["seller"], "released")

    def refund(self, payload: bytes):
        number, deal = self._deal(payload)
        if pvm_host.get_sender() != deal["seller"]:
            pvm_host.revert("only the seller gives the deposit back")
        self._cancel(deal)
        self._close(number, deal, deal["buyer"], "refunded")

    def expire(self, payload: bytes):
        number, deal = self._deal(payload)
        if pvm_host.block_height() <= deal["expires_at"]:
            pvm_host.revert(f"the deal stands until height {deal['expires_at']}")
        self._cancel(deal)
        self._close(number, deal, deal["buyer"], "expired")

    def time_is_up(self, payload: bytes):
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        number, deal = self._deal(payload)
        self._close(number, deal, deal["buyer"], "expired")

    def deal(self, payload: bytes):
        return self._deal(payload)[1]

    def _deal(self, payload: bytes):
        number = int(payload)
        deal = self.storage.get(f"deal:{number}")
        if deal is None:
            pvm_host.revert(f"there is no open deal {number}")
        return number, deal

    def _close(self, number: int, deal: dict[str, Any], to: bytes, how: str):
        del self.storage[f"deal:{number}"]
        pvm_host.transfer(to, deal["deposit"])
        pvm_host.emit_event(how, str(number).encode())

    def _cancel(self, deal: dict[str, Any]):
        # The timer may be gone already, for want of money.
        if pvm_host.get_timer(deal["timer"]) is not None:
            pvm_host.cancel_timer(deal["timer"])

    def _routed(self, handler: str, number: int):
        inner = base64.b64encode(str(number).encode()).decode()
        return json.dumps({"_handler": handler, "_payload": inner}).encode()
