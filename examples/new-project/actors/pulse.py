"""Pulse: beats every so many blocks, and counts.

It runs on the chain, not in your process: the language is that of Cowboy's actors.
"""

import json

import pvm_host
from cowboy_sdk import Actor


class Pulse(Actor):
    EVERY = 10  # blocks from one beat to the next, if the deployment says nothing
    GAS_LIMIT = 20_000  # cycles of a beat

    def deploy(self, payload: bytes) -> None:
        every = json.loads(payload)["every"] if payload else self.EVERY
        if type(every) is not int or every < 1:
            pvm_host.revert("every is a number of blocks, 1 or more")
        self.storage["every"] = every
        self.storage["beats"] = 0
        self._arm()

    def handle_timer(self, payload: bytes) -> None:
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        self._arm()
        self.storage["beats"] += 1
        pvm_host.emit_event("beat", str(self.storage["beats"]).encode())

    def stop(self) -> None:
        if pvm_host.get_sender() != self.deployer:
            pvm_host.revert("only the deployer stops it")
        for timer_id in pvm_host.list_timers():
            pvm_host.cancel_timer(timer_id)

    def beats(self) -> int:
        beats: int = self.storage["beats"]
        return beats

    def _arm(self) -> None:
        due: int = pvm_host.block_height() + self.storage["every"]
        pvm_host.schedule_timer(due, b"", gas_limit=self.GAS_LIMIT)
