"""The buttons of a development chain: what each does to it, and what it says."""

import pytest

pytestmark = pytest.mark.browser

CARD = "[aria-label='This is a development chain']"
HELD = ".strip:has-text('time is held')"
ONCE = """
import pvm_host

class Once:
    def deploy(self):
        pvm_host.schedule_timer(pvm_host.block_height() + 50, b"")
    def handle_timer(self, payload):
        pass
"""


class Controls:
    """The buttons and fields, and what they said last."""

    def __init__(self, tab):
        self.tab = tab
        self._card = tab.page.locator(CARD)

    def press(self, button, said):
        """Press a button, and wait for what comes of it."""
        self._card.locator(f"button:text-is('{button}')").click()
        self.tab.wait_for_text(CARD, said)

    def fill(self, **fields):
        for name, text in fields.items():
            self._card.locator(f"input[name={name}]").fill(text)


@pytest.fixture
def world(own_world):
    return own_world("--mining", "manual")


@pytest.fixture
def controls(world, open_tab):
    tab = open_tab(world.origin)
    tab.wait_for_text(".strip", "height 0")
    return Controls(tab)


def test_time_passes_by_blocks_to_the_next_timer_and_until_nothing_waits(
    own_world, open_tab
):
    world = own_world("--mining", "instant")
    controls = Controls(open_tab(world.origin))
    actor = world.client.deploy(ONCE, value="5 CBY")
    (timer,) = world.client.timers(actor)
    controls.press("Mine a block", "The head is block 2.")
    controls.press("Mine ten", "The head is block 12.")
    told = f"The head is block {timer.height:,}: 1 fire, 0 put-offs"
    controls.press("To the next timer", told)
    controls.fill(blocks="1,000")
    head = timer.height + 1_000
    controls.press("Advance", f"The head is block {head:,}: ")
    controls.press("Until idle", f"The head is block {head:,}: 0 fires")
    assert world.client.height == head


def test_time_is_held_for_as_long_as_the_button_is_down(world, controls):
    controls.press("Hold time", "Let time go on")
    controls.tab.page.locator(HELD).wait_for()
    assert world.client.api.status().time_holds == 1
    controls.press("Let time go on", "Hold time")
    controls.tab.page.locator(HELD).wait_for(state="detached")
    assert world.client.api.status().time_holds == 0


def test_an_account_is_funded_by_its_address_or_its_whole_name(own_world, open_tab):
    """Of a part of a name nobody knows whose it is: it is refused."""
    world = own_world("--mining", "instant")
    controls = Controls(open_tab(world.origin))
    first, second = (account.address for account in world.client.accounts[:2])
    before = world.client.balance(first), world.client.balance(second)
    controls.fill(to="Account 1", amount="7 CBY")
    controls.press("Fund", "Minted, in block 1.")
    controls.fill(to="account", amount="7 CBY")
    controls.press("Fund", "To whom? Give an address of 40 hex digits, or a name.")
    controls.fill(to=f"0x{first.hex()}", amount="3")
    controls.press("Fund", "Minted, in block 2.")
    after = world.client.balance(first), world.client.balance(second)
    assert after == (before[0] + 3, before[1] + 7 * 10**9)


def test_a_height_is_kept_returned_to_and_forgotten(world, controls):
    controls.tab.page.click("summary:has-text('Snapshots')")
    controls.fill(name="before")
    controls.press("Keep this height", "Height 0 can be returned to as before.")
    controls.press("Mine a block", "The head is block 1.")
    controls.press("Go back there", "The chain was taken back to height 0.")
    assert world.client.height == 0
    controls.press("Delete", "Snapshot before is deleted.")
    assert not world.client.api.snapshots()
