"""Visitors, the second version: each visitor has an entry of storage of their own.

Shows     storage that changes its form. `upgrade` moves what fits into one execution; a
          timer moves the rest, step by step. Until all has moved, a visitor's count is
          the sum of both forms, so nobody waits and nothing is lost. `upgrade` refuses
          a form that it does not know, which leaves the old code as it was, and
          `handle_timer` keeps its name, since a timer of the old code waits for it.
Use       cowboy-devnet rehearse-upgrade ACTOR visitors_2.py
          cowboy-devnet upgrade ACTOR visitors_2.py
          cowboy-devnet read ACTOR left                 (visitors that are to move)
          As visitors.py otherwise; it can also be deployed itself.
          Storage: form, visits (until all have moved), visits:ADDRESS, days.
Costs     `visit`: about 1,310 cycles and 110 cells, however many visitors there are.
          `move`: about 15,600 cycles and 2,610 cells for 25 of 50 visitors, and more
          in `upgrade`, when there are more. fire: about 2,150 cycles and 14 cells.
"""

import pvm_host
from cowboy_sdk import Actor


class Visitors(Actor):
    DAY = 100  # blocks
    GAS_LIMIT = 20_000  # cycles a fire may use
    STEP = 25  # visitors that are moved at once
    MOVE_GAS_LIMIT = 50_000
    MOVE = b'{"_handler": "move", "_payload": ""}'

    def deploy(self):
        self.storage["form"] = 2
        self.storage["days"] = 0
        self._arm()

    def upgrade(self, payload: bytes):
        if self.storage.get("form") != 1:
            pvm_host.revert("only storage of the form 1 can be moved")
        self.storage["form"] = 2
        self._move()

    def move(self, payload: bytes):
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        self._move()

    def _move(self):
        visits = self.storage["visits"]
        for who in list(visits)[: self.STEP]:
            self._add(who, visits.pop(who))
        if visits:
            self.storage["visits"] = visits
            pvm_host.schedule_timer(
                pvm_host.block_height() + 1, self.MOVE, gas_limit=self.MOVE_GAS_LIMIT
            )
        else:
            del self.storage["visits"]

    def left(self):
        return len(self.storage.get("visits", {}))

    def visit(self):
        who = pvm_host.get_sender().hex()
        self._add(who, 1)
        return self._count(who)

    def visits_of(self, payload: bytes):
        return self._count(payload.decode().removeprefix("0x"))

    def _add(self, who: str, count: int):
        self.storage[f"visits:{who}"] = self.storage.get(f"visits:{who}", 0) + count

    def _count(self, who: str):
        old = self.storage.get("visits", {})
        return self.storage.get(f"visits:{who}", 0) + old.get(who, 0)

    def handle_timer(self, payload: bytes):
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        self.storage["days"] += 1
        self._arm()

    def _arm(self):
        pvm_host.schedule_timer(
            pvm_host.block_height() + self.DAY, b"", gas_limit=self.GAS_LIMIT
        )
