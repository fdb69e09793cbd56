"""Runs on the chain, not in your process: the language is that of Cowboy's actors."""

import json

import pvm_host
from cowboy_sdk import Actor


class StandingOrder(Actor):
    GAS_LIMIT = 60_000

    def deploy(self):
        self.storage["owner"] = pvm_host.get_sender()
        self.storage["payments"] = 0

    def start(self, payload: bytes):
        self._only_owner()
        wanted = json.loads(payload.decode())
        if wanted["every"] < 1 or wanted["amount"] < 1:
            pvm_host.revert("amount and every are at least 1")
        self.storage["to"] = bytes.fromhex(wanted["to"])
        self.storage["amount"] = wanted["amount"]
        self.storage["every"] = wanted["every"]
        self._schedule()

    def stop(self):
        self._only_owner()
        for timer_id in pvm_host.list_timers():
            pvm_host.cancel_timer(timer_id)

    def handle_timer(self, payload: bytes):
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        pvm_host.transfer(self.storage["to"], self.storage["amount"])
        self.storage["payments"] += 1
        pvm_host.emit_event("paid", self.storage["to"])
        self._schedule()

    def _schedule(self):
        due = pvm_host.block_height() + self.storage["every"]
        pvm_host.schedule_timer(due, b"", gas_limit=self.GAS_LIMIT)

    def _only_owner(self):
        if pvm_host.get_sender() != self.storage["owner"]:
            pvm_host.revert("only the owner does this")
