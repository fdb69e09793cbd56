"""Counter: the smallest actor that keeps something.

Shows     handlers, `self.storage`, a payload, an event, a refusal, a read.
Use       cowboy-devnet deploy counter.py
          cowboy-devnet call ACTOR increment            (by one)
          cowboy-devnet call ACTOR increment 5          (by five)
          cowboy-devnet read ACTOR value
          cowboy-devnet call ACTOR reset                (deployer only)
          Storage: value.
Costs     `increment`: about 1,540 cycles and 72 cells beside the 5,000 cycles and 500
          cells of every transaction. No timers.
"""

import pvm_host
from cowboy_sdk import Actor


class Counter(Actor):
    STEP_MAX = 1_000

    def deploy(self):
        self.storage["value"] = 0

    def increment(self, payload: bytes):
        step = int(payload) if payload else 1
        if not 1 <= step <= self.STEP_MAX:
            pvm_host.revert(f"a step is 1 to {self.STEP_MAX}, not {step}")
        self.storage["value"] += step
        value = self.storage["value"]
        pvm_host.emit_event("incremented", str(value).encode())
        return value

    def value(self):
        return self.storage["value"]

    def reset(self):
        if pvm_host.get_sender() != self.deployer:
            pvm_host.revert("only the deployer may reset the counter")
        self.storage["value"] = 0
