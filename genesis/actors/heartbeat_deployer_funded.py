"""Heartbeat paid by its deployer, a period at a time (CIP-5, Appendix B, the variant).

Shows     `fee_payer`, and how far it reaches. A timer may be paid by the actor itself
          or by whoever signed the transaction that schedules it, nobody else: consent
          is given by a signature. In a fire nobody signs, so a fire can schedule only
          what the actor pays. An actor whose `deploy` passes fee_payer=self.deployer
          and whose `handle_timer` re-arms itself the same way therefore fires once
          at the deployer's cost, and its second schedule is refused.
          Two patterns work:
          1. this one: each period is scheduled in a transaction of the deployer
             (`deploy`, then `renew` before the period is over), all its fires at once;
          2. heartbeat.py: the actor pays, and the deployer transfers money to it.
Use       cowboy-devnet deploy heartbeat_deployer_funded.py
          cowboy-devnet call ACTOR renew      (deployer only; a further period)
          cowboy-devnet call ACTOR stop       (deployer only; cancels what is pending)
          Storage: beats, scheduled_until.
Costs     `renew`: about 2,400 cycles and 79 cells for six fires, beside those of every
          transaction; fire: about 1,840 cycles and 15 cells, of the deployer. A fire
          that is due sets aside 0.57 CBY of the deployer's balance at the genesis
          basefees until it has run; a deployer who does not have them loses the fire.
"""

import pvm_host
from cowboy_sdk import Actor


class DeployerFundedHeartbeat(Actor):
    INTERVAL = 10  # blocks
    FIRES = 6  # of a period
    GAS_LIMIT = 20_000  # cycles a fire may use

    def deploy(self):
        self.storage["beats"] = 0
        self.storage["scheduled_until"] = pvm_host.block_height()
        self._schedule_period()

    def handle_timer(self, payload: bytes):
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        self.storage["beats"] += 1
        # No schedule here: nobody signs a fire, so it could only be paid by the actor.

    def renew(self):
        self._only_deployer()
        self._schedule_period()
        return self.storage["scheduled_until"]

    def stop(self):
        self._only_deployer()
        for timer_id in pvm_host.list_timers():
            pvm_host.cancel_timer(timer_id)
        self.storage["scheduled_until"] = pvm_host.block_height()

    def _schedule_period(self):
        height = max(self.storage["scheduled_until"], pvm_host.block_height())
        for _ in range(self.FIRES):
            height += self.INTERVAL
            pvm_host.schedule_timer_ex(
                height,
                b"",
                fee_payer=self.deployer,  # who signs this transaction: accepted
                gas_limit=self.GAS_LIMIT,
                expires_at=height + self.INTERVAL,  # late by more than that: useless
            )
        self.storage["scheduled_until"] = height

    def _only_deployer(self):
        if pvm_host.get_sender() != self.deployer:
            pvm_host.revert("only the deployer may do this")
