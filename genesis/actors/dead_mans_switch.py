"""Dead man's switch: money that goes to an heir when its owner falls silent.

Shows     a timer that is meant never to fire: each sign of life cancels it and sets
          another. The actor pays for the fire, so that the switch does not depend on
          what is left in the owner's account; that is why some money stays behind when
          it fires (what was set aside comes back after the handler has run), and why
          `claim` is there.
Use       cowboy-devnet deploy dead_mans_switch.py --value "50 CBY"
              'json:{"heir": "0x…", "blocks": 1000}'
          cowboy-devnet call ACTOR alive              owner: another 1,000 blocks
          cowboy-devnet call ACTOR withdraw 5000      owner: base units, back to owner
          cowboy-devnet call ACTOR claim              anybody, once the time is up: all
                                                      that is there goes to the heir
          cowboy-devnet read ACTOR status
          Storage: heir, blocks, deadline, timer.
Costs     `alive`: about 2,700 cycles and 186 cells beside those of every transaction;
          fire: about 3,500 cycles and 27 cells. To run, it needs 0.57 CBY in the actor
          at the genesis basefees, most of which is then left for `claim`.
"""

import json

import pvm_host
from cowboy_sdk import Actor


class DeadMansSwitch(Actor):
    GAS_LIMIT = 20_000  # cycles of the fire

    def deploy(self, payload: bytes):
        wanted = json.loads(payload)
        heir = bytes.fromhex(wanted["heir"].removeprefix("0x"))
        if len(heir) != 20:
            pvm_host.revert("an heir is an address of 20 bytes")
        if type(wanted["blocks"]) is not int or wanted["blocks"] < 1:
            pvm_host.revert("blocks is 1 or more")
        self.storage["heir"] = heir
        self.storage["blocks"] = wanted["blocks"]
        self._arm()

    def alive(self):
        self._only_owner()
        if pvm_host.block_height() > self.storage["deadline"]:
            pvm_host.revert("too late: the heir may claim")
        if pvm_host.get_timer(self.storage["timer"]) is not None:
            pvm_host.cancel_timer(self.storage["timer"])
        self._arm()
        return self.storage["deadline"]

    def withdraw(self, payload: bytes):
        self._only_owner()
        if pvm_host.block_height() > self.storage["deadline"]:
            pvm_host.revert("too late: the heir may claim")
        pvm_host.transfer(self.deployer, int(payload))

    def handle_timer(self, payload: bytes):
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        self._pay_heir()

    def claim(self):
        if pvm_host.block_height() <= self.storage["deadline"]:
            pvm_host.revert(f"not before height {self.storage['deadline'] + 1}")
        self._pay_heir()

    def status(self):
        return {
            "heir": self.storage["heir"],
            "deadline": self.storage["deadline"],
            "balance": pvm_host.get_balance(self.address),
        }

    def _arm(self):
        deadline = pvm_host.block_height() + self.storage["blocks"]
        self.storage["deadline"] = deadline
        self.storage["timer"] = pvm_host.schedule_timer(
            deadline, b"", gas_limit=self.GAS_LIMIT
        )

    def _pay_heir(self):
        amount = pvm_host.get_balance(self.address)
        pvm_host.transfer(self.storage["heir"], amount)
        pvm_host.emit_event("inherited", str(amount).encode())

    def _only_owner(self):
        if pvm_host.get_sender() != self.deployer:
            pvm_host.revert("only the owner may do this")
