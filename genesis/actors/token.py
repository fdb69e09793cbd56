"""Token: a fungible token with allowances.

Shows     one storage key an account, amounts as integers, JSON payloads, events that
          others can follow, and handlers that other actors can call.
Use       cowboy-devnet deploy token.py 'json:{"name": "Hay", "supply": 1000}'
          cowboy-devnet call ACTOR transfer 'json:{"to": "0x…", "amount": 5}'
          cowboy-devnet call ACTOR approve 'json:{"spender": "0x…", "amount": 5}'
          cowboy-devnet call ACTOR transfer_from
                               'json:{"owner": "0x…", "to": "0x…", "amount": 5}'
          cowboy-devnet read ACTOR balance_of 'json:{"owner": "0x…"}'
          cowboy-devnet read ACTOR allowance
                               'json:{"owner": "0x…", "spender": "0x…"}'
          The whole supply begins with the deployer.
          Storage: name, supply, balance:<address>, allowance:<owner>:<spender>.
Costs     `transfer`: about 3,800 cycles and 296 cells; `approve`: about 1,360 cycles
          and 225 cells, beside the 5,000 cycles and 500 cells of every transaction. No
          timers.
"""

import json
from typing import Any

import pvm_host
from cowboy_sdk import Actor


class Token(Actor):
    def deploy(self, payload: bytes):
        wanted = json.loads(payload)
        supply = self._amount(wanted["supply"])
        self.storage["name"] = wanted["name"]
        self.storage["supply"] = supply
        self._set_balance(self.deployer, supply)

    def transfer(self, payload: bytes):
        wanted = json.loads(payload)
        self._move(pvm_host.get_sender(), wanted)

    def approve(self, payload: bytes):
        wanted = json.loads(payload)
        owner, spender = pvm_host.get_sender(), self._address(wanted["spender"])
        self._set_allowance(owner, spender, self._amount(wanted["amount"]))

    def transfer_from(self, payload: bytes):
        wanted = json.loads(payload)
        owner, spender = self._address(wanted["owner"]), pvm_host.get_sender()
        amount = self._amount(wanted["amount"])
        allowed = self._allowance(owner, spender)
        if amount > allowed:
            pvm_host.revert(f"{allowed} are allowed, not {amount}")
        self._set_allowance(owner, spender, allowed - amount)
        self._move(owner, wanted)

    def balance_of(self, payload: bytes):
        return self._balance(self._address(json.loads(payload)["owner"]))

    def allowance(self, payload: bytes):
        asked = json.loads(payload)
        return self._allowance(
            self._address(asked["owner"]), self._address(asked["spender"])
        )

    def about(self):
        return {"name": self.storage["name"], "supply": self.storage["supply"]}

    def _move(self, sender: bytes, wanted: dict[str, Any]):
        to, amount = self._address(wanted["to"]), self._amount(wanted["amount"])
        available = self._balance(sender)
        if amount > available:
            pvm_host.revert(f"{available} are there, not {amount}")
        self._set_balance(sender, available - amount)
        self._set_balance(to, self._balance(to) + amount)
        moved = {"from": sender.hex(), "to": to.hex(), "amount": amount}
        pvm_host.emit_event("transfer", json.dumps(moved).encode())

    def _balance(self, owner: bytes):
        return self.storage.get("balance:" + owner.hex(), 0)

    def _set_balance(self, owner: bytes, amount: int):
        key = "balance:" + owner.hex()
        if amount:
            self.storage[key] = amount
        else:
            self.storage.pop(key, None)  # who has nothing takes no room

    def _allowance(self, owner: bytes, spender: bytes):
        return self.storage.get(f"allowance:{owner.hex()}:{spender.hex()}", 0)

    def _set_allowance(self, owner: bytes, spender: bytes, amount: int):
        key = f"allowance:{owner.hex()}:{spender.hex()}"
        if amount:
            self.storage[key] = amount
        else:
            self.storage.pop(key, None)

    def _address(self, text: str):
        address = bytes.fromhex(text.removeprefix("0x"))
        if len(address) != 20:
            pvm_host.revert(f"an address is 20 bytes, not {len(address)}")
        return address

    def _amount(self, value: object):
        if type(value) is not int or value < 0:
            pvm_host.revert("an amount is an integer of 0 or more")
        return value
