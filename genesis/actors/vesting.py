"""Vesting: a grant that is paid out in equal instalments at fixed heights.

Shows     many timers at once, all scheduled by one transaction of the deployer and so
          paid by the deployer (CIP-5 §4.2); amounts that follow from the height, so
          that a fire that is late or lost costs nobody anything; a grant that can be
          revoked.
Use       cowboy-devnet deploy vesting.py --value "12 CBY"
              'json:{"beneficiary": "0x…", "instalments": 12, "blocks": 100}'
          cowboy-devnet call ACTOR release    anybody: pays what is vested by now
          cowboy-devnet call ACTOR revoke     deployer: pays what is vested, takes back
                                              the rest, cancels the timers
          cowboy-devnet read ACTOR status
          The first instalment is due `blocks` after the deployment. What a division
          leaves over comes with the last one.
          Storage: beneficiary, grant, released, start, instalments, blocks.
Costs     `release`: about 3,900 cycles and 128 cells beside those of every transaction;
          fire: about 4,900 cycles and 71 cells, from the deployer's account, with 0.57
          CBY set aside while it runs at the genesis basefees. Each instalment makes the
          deployment 220 cycles dearer. `release` works without any fire.
"""

import json

import pvm_host
from cowboy_sdk import Actor


class Vesting(Actor):
    INSTALMENTS_MAX = 120
    GAS_LIMIT = 20_000  # cycles of a fire

    def deploy(self, payload: bytes):
        wanted = json.loads(payload)
        beneficiary = bytes.fromhex(wanted["beneficiary"].removeprefix("0x"))
        instalments, blocks = wanted["instalments"], wanted["blocks"]
        if len(beneficiary) != 20:
            pvm_host.revert("a beneficiary is an address of 20 bytes")
        if type(instalments) is not int or not 1 <= instalments <= self.INSTALMENTS_MAX:
            pvm_host.revert(f"instalments is 1 to {self.INSTALMENTS_MAX}")
        if type(blocks) is not int or blocks < 1:
            pvm_host.revert("blocks is 1 or more")
        grant, start = pvm_host.context()["value"], pvm_host.block_height()
        if grant == 0:
            pvm_host.revert("there is nothing to vest: send the grant along as value")
        self.storage["beneficiary"] = beneficiary
        self.storage["grant"] = grant
        self.storage["released"] = 0
        self.storage["start"] = start
        self.storage["instalments"] = instalments
        self.storage["blocks"] = blocks
        for number in range(1, instalments + 1):
            pvm_host.schedule_timer_ex(
                start + number * blocks,
                b"",
                fee_payer=self.deployer,
                gas_limit=self.GAS_LIMIT,
            )

    def handle_timer(self, payload: bytes):
        self._release()

    def release(self):
        if self._release() == 0:
            pvm_host.revert("nothing is due yet")

    def revoke(self):
        if pvm_host.get_sender() != self.deployer:
            pvm_host.revert("only the deployer may revoke the grant")
        self._release()
        for timer_id in pvm_host.list_timers():
            pvm_host.cancel_timer(timer_id)
        rest = self.storage["grant"] - self.storage["released"]
        self.storage["grant"] = self.storage["released"]
        pvm_host.transfer(self.deployer, rest)

    def status(self):
        return {
            "grant": self.storage["grant"],
            "released": self.storage["released"],
            "vested": self._vested(),
        }

    def _vested(self):
        instalments = self.storage["instalments"]
        passed = (pvm_host.block_height() - self.storage["start"]) // self.storage[
            "blocks"
        ]
        if self.storage["grant"] == self.storage["released"]:
            return self.storage["grant"]  # all paid, or revoked
        return self.storage["grant"] * min(passed, instalments) // instalments

    def _release(self):
        due = self._vested() - self.storage["released"]
        if due:
            self.storage["released"] += due
            pvm_host.transfer(self.storage["beneficiary"], due)
            pvm_host.emit_event("released", str(due).encode())
        return due
