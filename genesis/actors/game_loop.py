"""Game loop: a coin hunt on a small board, where the chain beats the time.

Shows     a loop of ticks on a fixed beat. Players say where they want to go; at each
          tick all moves are made at once, in the order in which players joined, and
          whoever reaches the coin has it. A tick that comes late is played once, the
          next one is on the beat again, and beats that were missed are counted: so a
          full lane slows the game down, and never lets it drift. The loop ends when
          nobody is left and begins with the next player, so that an empty board costs
          nothing. Its agent bids little, and more once a whole beat is lost.
Use       cowboy-devnet deploy game_loop.py --value "20 CBY"
          cowboy-devnet call ACTOR join
          cowboy-devnet call ACTOR move north        or east, south, west
          cowboy-devnet call ACTOR leave
          cowboy-devnet call ACTOR start             anybody, after a loop ran dry
          cowboy-devnet read ACTOR board
          The actor pays for its ticks and holds nobody's money.
          Storage: beat, ticks, missed, coin, players.
Costs     `join`: about 2,700 cycles and 157 cells; `move`: about 2,250 cycles and
          324 cells, beside those of every transaction; fire: about 5,800 cycles and
          323 cells with two players; a question to its agent: about 1,800 cycles.
"""

import pvm_host
from cowboy_sdk import Actor

MOVES = (b"north", b"east", b"south", b"west")
STEPS = ((0, -1), (1, 0), (0, 1), (-1, 0))


class GameLoop(Actor):
    SIZE = 8  # fields of a side
    PLAYERS_MAX = 16
    TICK = 5  # blocks from beat to beat
    GAS_LIMIT = 60_000  # cycles of a tick
    TIP = 10  # base units a cycle for a tick in time
    TIP_LATE = 500  # once a beat is lost

    def deploy(self):
        self.storage["ticks"] = 0
        self.storage["missed"] = 0
        self.storage["coin"] = self._anywhere(b"first")
        self.storage["players"] = {}

    def join(self):
        players, name = self.storage["players"], pvm_host.get_sender().hex()
        if name in players:
            pvm_host.revert("you play already")
        if len(players) == self.PLAYERS_MAX:
            pvm_host.revert(f"{self.PLAYERS_MAX} players are the most")
        players[name] = {"at": [0, 0], "coins": 0, "move": b""}
        self.storage["players"] = players
        self._run()

    def move(self, payload: bytes):
        players, name = self.storage["players"], pvm_host.get_sender().hex()
        if name not in players:
            pvm_host.revert("join first")
        if payload not in MOVES:
            pvm_host.revert("a move is north, east, south or west")
        players[name]["move"] = payload
        self.storage["players"] = players

    def leave(self):
        players = self.storage["players"]
        if players.pop(pvm_host.get_sender().hex(), None) is None:
            pvm_host.revert("you do not play")
        self.storage["players"] = players

    def start(self):
        if pvm_host.list_timers() or not self.storage["players"]:
            pvm_host.revert("the game runs, or nobody plays")
        self._run()

    def handle_timer(self, payload: bytes):
        if pvm_host.get_sender() != self.address:
            pvm_host.revert("only a timer calls this")
        height, players = pvm_host.block_height(), self.storage["players"]
        self.storage["missed"] += (height - self.storage["beat"]) // self.TICK
        self.storage["ticks"] += 1
        if players:
            self._arm()
        for name, player in players.items():
            if player["move"]:
                (dx, dy), (x, y) = STEPS[MOVES.index(player["move"])], player["at"]
                player["at"] = [(x + dx) % self.SIZE, (y + dy) % self.SIZE]
                player["move"] = b""
            if player["at"] == self.storage["coin"]:
                player["coins"] += 1
                self.storage["coin"] = self._anywhere(name.encode())
                pvm_host.emit_event("coin", bytes.fromhex(name))
        self.storage["players"] = players

    def board(self):
        return {
            name: self.storage[name] for name in ("ticks", "missed", "coin", "players")
        }

    def get_gas_bid(self, context: dict[str, int]):
        late = context["current_block_height"] - context["trigger_block_height"]
        tip = self.TIP if late < self.TICK else self.TIP_LATE
        market = context.get("basefee_lane_timer", context["basefee_cycle"])
        return {
            "max_fee_per_cycle": 2 * market + tip,
            "max_priority_fee_per_cycle": tip,  # as `auction` calls it
            "tip_per_cycle": tip,  # as `bidding` calls it
        }

    def _run(self):
        if not pvm_host.list_timers():
            self.storage["beat"] = pvm_host.block_height()
            self._arm()

    def _arm(self):
        passed = pvm_host.block_height() - self.storage["beat"]
        self.storage["beat"] += (passed // self.TICK + 1) * self.TICK
        pvm_host.schedule_timer(
            self.storage["beat"], b"", gas_limit=self.GAS_LIMIT, gba=self.address
        )

    def _anywhere(self, domain: bytes):
        # Everybody can predict it (language.md); a game for stakes needs more.
        drawn = pvm_host.randomness(domain)
        return [drawn[0] % self.SIZE, drawn[1] % self.SIZE]
