"""Subscriptions: thousands of customers who pay in advance, period by period.

Shows     how to live with 1,024 timers an actor: who is due stands in a queue in
          storage, ordered by height because keys are, and one `collect` charges the
          first BATCH of it. So there is one timer for all customers, and not even it
          is here: this actor holds other people's money, and fires would be paid out
          of it. alarm_clock.py wakes it and pays for that; anybody else may call
          `collect` as well, and each period of a customer is charged once.
Use       cowboy-devnet deploy subscriptions.py
              'json:{"price": 1000000, "blocks": 300}'
          cowboy-devnet call ACTOR subscribe --value 5000000   a deposit for 5 periods
          cowboy-devnet call ACTOR top_up --value 1000000
          cowboy-devnet call ACTOR cancel            the rest of the deposit comes back
          cowboy-devnet call ACTOR collect           anybody: charges who is due
          cowboy-devnet call ACTOR withdraw          merchant: what was earned
          cowboy-devnet call ACTOR enroll --value 9000000 'json:["0x…", "0x…", "0x…"]'
                                                     merchant: gifts of equal deposits
          cowboy-devnet read ACTOR customer 0x…
          Whose deposit does not cover a period lapses and gets the rest back. What the
          actor has is always the deposits and what was earned.
          Storage: price, blocks, customers, earned; state keys customer:<address>,
          due:<height><address>.
Costs     `subscribe`: about 2,840 cycles and 175 cells; `cancel`: about 2,800 cycles
          and 140 cells, beside those of every transaction. A collection takes 1,500
          cycles and 150 cells for each customer that it charges.
"""

import json

import pvm_host
from cowboy_sdk import Actor


class Subscriptions(Actor):
    BATCH = 50  # customers that one collection charges, so that it fits any fire

    def deploy(self, payload: bytes):
        wanted = json.loads(payload)
        for name in ("price", "blocks"):
            if type(wanted[name]) is not int or wanted[name] < 1:
                pvm_host.revert(f"{name} is 1 or more")
            self.storage[name] = wanted[name]
        self.storage["customers"] = 0
        self.storage["earned"] = 0

    def subscribe(self):
        self._enroll(pvm_host.get_sender(), pvm_host.context()["value"])

    def enroll(self, payload: bytes):
        self._only_merchant()
        addresses = [bytes.fromhex(t.removeprefix("0x")) for t in json.loads(payload)]
        deposit, rest = divmod(pvm_host.context()["value"], len(addresses))
        if rest:
            pvm_host.revert("the value is not the same deposit for each")
        for address in addresses:
            if len(address) != 20:
                pvm_host.revert("an address is 20 bytes")
            self._enroll(address, deposit)

    def top_up(self):
        who = pvm_host.get_sender()
        deposit, due = self._customer(who)
        self._save(who, deposit + pvm_host.context()["value"], due)

    def cancel(self):
        who = pvm_host.get_sender()
        deposit, due = self._customer(who)
        self._leave(who, deposit, due)

    def collect(self):
        now, price = pvm_host.block_height(), self.storage["price"]
        charged = 0
        for key, _ in pvm_host.state_scan_prefix(b"due:", self.BATCH):
            due, who = int.from_bytes(key[4:12], "big"), key[12:]
            if due > now:
                break
            deposit, _ = self._customer(who)
            if deposit < price:
                self._leave(who, deposit, due)
                pvm_host.emit_event("lapsed", who)
            else:
                pvm_host.delete_state(key)
                self._save(who, deposit - price, due + self.storage["blocks"])
                charged += price
        self.storage["earned"] += charged
        following = pvm_host.state_scan_prefix(b"due:", 1)
        return int.from_bytes(following[0][0][4:12], "big") if following else 0

    def withdraw(self):
        self._only_merchant()
        earned = self.storage["earned"]
        self.storage["earned"] = 0
        pvm_host.transfer(self.deployer, earned)

    def customer(self, payload: bytes):
        address = bytes.fromhex(payload.decode().removeprefix("0x"))
        deposit, due = self._customer(address)
        return {"deposit": deposit, "due": due}

    def _enroll(self, who: bytes, deposit: int):
        price = self.storage["price"]
        if pvm_host.get_state(b"customer:" + who) is not None:
            pvm_host.revert("is a customer already")
        if deposit < price:
            pvm_host.revert(f"a deposit is {price} or more")
        self.storage["customers"] += 1
        self.storage["earned"] += price  # the first period begins now
        due = pvm_host.block_height() + self.storage["blocks"]
        self._save(who, deposit - price, due)

    def _customer(self, who: bytes):
        record = pvm_host.get_state(b"customer:" + who)
        if record is None:
            pvm_host.revert("is no customer")
        return pvm_host.cbor_decode(record)

    def _save(self, who: bytes, deposit: int, due: int):
        pvm_host.set_state(b"customer:" + who, pvm_host.cbor_encode([deposit, due]))
        pvm_host.set_state(b"due:" + due.to_bytes(8, "big") + who, b"")

    def _leave(self, who: bytes, deposit: int, due: int):
        pvm_host.delete_state(b"customer:" + who)
        pvm_host.delete_state(b"due:" + due.to_bytes(8, "big") + who)
        self.storage["customers"] -= 1
        pvm_host.transfer(who, deposit)

    def _only_merchant(self):
        if pvm_host.get_sender() != self.deployer:
            pvm_host.revert("only the merchant may do this")
