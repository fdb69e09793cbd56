"""Sources of the actors that the page is looked at with; none is in a fixture's way."""

SHOP = '''
"""A shop that keeps its stock, and asks a till of its own for the money."""

import pvm_host


class Shop:
    GAS_LIMIT = 60_000
    EVERY = 5

    def deploy(self, payload):
        self.storage["till"] = payload
        self.storage["stock"] = {"apples": 40, "pears": 25}
        self.storage["sold"] = 0

    def buy(self, payload):
        kind = payload.decode()
        print("somebody wants", kind)
        stock = self.storage["stock"]
        stock[kind] -= 1
        self.storage["stock"] = stock
        self.storage["sold"] += 1
        self._pay(kind)
        pvm_host.emit_event("sold", payload)
        return self.storage["sold"]

    def open(self):
        self._arm()

    def handle_timer(self, payload):
        for kind in self.storage["stock"]:
            self._pay(kind)
        self._arm()

    def late(self):
        height = pvm_host.block_height()
        me = self.address
        doomed = pvm_host.schedule_timer(
            height + 9, b"", None, 50_000, height + 3, gba=me
        )
        dropped = pvm_host.schedule_timer(height + 200, b"", None, 50_000, gba=me)
        pvm_host.cancel_timer(dropped)
        return [doomed, dropped]

    def _pay(self, kind):
        pvm_host.call_actor(self.storage["till"], "take", kind.encode(), 30_000)

    def _arm(self):
        pvm_host.schedule_timer(
            pvm_host.block_height() + self.EVERY,
            b"restock",
            gas_limit=self.GAS_LIMIT,
            gba=self.address,
        )

    def get_gas_bid(self, context):
        market = context.get("basefee_lane_timer", context["basefee_cycle"])
        return {
            "max_fee_per_cycle": 2 * market + 700,
            "max_priority_fee_per_cycle": 700,
            "tip_per_cycle": 700,
        }
'''

TILL = '''
"""A till: it knows prices, and counts what it took."""

import pvm_host

PRICES = {"apples": 3, "pears": 4}


class Till:
    def deploy(self):
        self.storage["taken"] = 0

    def take(self, payload):
        price = self._price(payload.decode())
        self.storage["taken"] += price
        self.storage["last"] = {"kind": payload.decode(), "price": price}
        total = 0
        for step in range(40):
            total += step * price
        pvm_host.log("info", "took " + str(price))
        return total

    def _price(self, kind):
        return PRICES[kind]
'''

COURIER = """
import json

import pvm_host


class Courier:
    EVERY = 40
    GAS_LIMIT = 200_000

    def deploy(self, payload):
        wanted = json.loads(payload)
        self.storage["tip"] = wanted["tip"]
        self._schedule(wanted["first"])

    def handle_timer(self, payload):
        self.storage["delivered"] = pvm_host.block_height()
        self._schedule(pvm_host.block_height() + self.EVERY)
        pvm_host.charge_gas(pvm_host.gas_left() - 100)

    def get_gas_bid(self, context):
        tip = self.storage["tip"]
        market = context.get("basefee_lane_timer", context["basefee_cycle"])
        return {
            "max_fee_per_cycle": 2 * market + tip,
            "max_priority_fee_per_cycle": tip,
            "tip_per_cycle": tip,
        }

    def _schedule(self, height):
        pvm_host.schedule_timer(
            height, b"", gas_limit=self.GAS_LIMIT, gba=self.address
        )
"""

WATCHER = """
import pvm_host


class Watcher:
    def deploy(self, payload):
        self.storage["rung"] = 0
        pvm_host.set_state_watch(
            self.address, [(payload, "stock")], b"", gas_limit=20_000
        )

    def handle_timer(self, payload):
        self.storage["rung"] += 1
        pvm_host.emit_event("rang", b"")
"""

CROWD = """
import pvm_host


class Crowd:
    def deploy(self):
        for _ in range(12):
            pvm_host.schedule_timer(
                pvm_host.block_height() + 4, b"", None, 20_000, gba=self.address
            )

    def handle_timer(self, payload):
        pass
"""

METRONOME = """
import pvm_host


class Metronome:
    def deploy(self):
        self._beat()

    def handle_timer(self, payload):
        self._beat()

    def _beat(self):
        pvm_host.schedule_timer(pvm_host.block_height() + 1, b"", None, 20_000)
"""

BROKE = """
import pvm_host


class Broke:
    def deploy(self):
        height = pvm_host.block_height() + 3
        pvm_host.schedule_timer(height, b"", gas_limit=20_000, gba=self.address)

    def handle_timer(self, payload):
        pass

    def get_gas_bid(self, context):
        market = context.get("basefee_lane_timer", context["basefee_cycle"])
        return {
            "max_fee_per_cycle": 2 * market + 700,
            "max_priority_fee_per_cycle": 700,
            "tip_per_cycle": 700,
        }
"""

HOSTILE = '''
"""<script>attacked()</script> \u202e </pre><img src=x onerror=attacked()>"""

import pvm_host

MARKUP = "<img src=x onerror=attacked()><script>attacked()</script>"
BIDI = "\\u202emoc.live\\u2066\\u200f"
CONTROL = "\\x00\\x1b[31m\\x07\\x7f\\u2028\\x9b"
TEMPLATE = "${attacked()} {{attacked()}} javascript:attacked()"
HUGE = "<b>" * 15_000


def everything():
    return [MARKUP, BIDI, CONTROL, TEMPLATE, "\\"'`&lt;&#x3c;"]


def say(payload):
    for index, text in enumerate(everything()):
        print(text)
        pvm_host.log("error", text)
        pvm_host.emit_event(text[:60] or str(index), text.encode())
        pvm_host.set_state(text.encode()[:200], text.encode())
    pvm_host.set_state(b"huge", HUGE.encode())
    pvm_host.emit_event("huge", HUGE[:4_000].encode())
    print(HUGE[:900])
    pvm_host.schedule_timer(
        pvm_host.block_height() + 50, MARKUP.encode(), None, 50_000
    )
    return MARKUP.encode()


def fail(payload):
    markup = MARKUP + BIDI + CONTROL
    raise ValueError(markup)


def handle_timer(payload):
    raise ValueError(payload.decode() + BIDI)


class Markup:
    def store(self):
        self.storage[MARKUP] = MARKUP
        self.storage[BIDI] = {MARKUP: [CONTROL, TEMPLATE]}
'''
