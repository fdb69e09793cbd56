"""Visitors: counts who comes, in one dict; visitors_2.py is its next version.

Shows     what an upgrade has to live with: storage whose form grows too large, and a
          timer that waits. `form` says in which form the storage is, so that the next
          version can tell.
Use       cowboy-devnet deploy visitors.py --value "5 CBY"
          cowboy-devnet call ACTOR visit
          cowboy-devnet read ACTOR visits_of 0x…        (an address)
          cowboy-devnet upgrade ACTOR visitors_2.py
          Storage: form, visits, days.
Costs     `visit`: about 1,030 cycles and 110 cells for the first visitor, and more with
          each, since all are read and written: some 12,000 and 5,300 for the 60th.
          A fire every 100 blocks counts the days; fire: about 2,080 cycles and 14
          cells.
"""

import pvm_host
from cowboy_sdk import Actor


class Visitors(Actor):
    DAY = 100  # blocks
    GAS_LIMIT = 20_000  # cycles a fire may use

    def deploy(self):
        self.storage["form"] = 1
        self.storage["visits"] = {}
        self.storage["days"] = 0
        self._arm()

    def visit(self):
        visits = self.storage["visits"]
        who = pvm_host.get_sender().hex()
        visits[who] = visits.get(who, 0) + 1
        self.storage["visits"] = visits
        return visits[who]

    def visits_of(self, payload: bytes):
        return self.storage["visits"].get(payload.decode().removeprefix("0x"), 0)

    def handle_timer(self, payload: bytes):
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        self.storage["days"] += 1
        self._arm()

    def _arm(self):
        pvm_host.schedule_timer(
            pvm_host.block_height() + self.DAY, b"", gas_limit=self.GAS_LIMIT
        )
