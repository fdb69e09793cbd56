"""The page while its chain goes on, goes back, stops, or wants to know who asks."""

import pytest

from tests.browser import actors
from tests.browser.looks import hex_place

pytestmark = pytest.mark.browser

TOKEN = "a-token-of-a-test"


def test_a_new_block_is_shown_without_asking_for_the_page_again(own_world, open_tab):
    world = own_world()
    tab = open_tab(world.origin)
    tab.wait_for_text(".strip", "height 0")
    documents = tab.requests.count(f"{world.origin}/")
    for height in (1, 2, 3):
        world.client.mine()
        tab.wait_for_text(".strip", f"height {height}")
    assert tab.requests.count(f"{world.origin}/") == documents


def test_blocks_that_come_faster_than_anybody_reads_are_not_followed(
    own_world, open_tab
):
    """The page leaves the stream, asks for the head meanwhile, and comes back."""
    world = own_world()
    world.client.deploy(actors.METRONOME, value="20 CBY")
    tab = open_tab(world.origin)
    world.client.advance(blocks=100)
    tab.wait_until(lambda: tab.streams_begun() >= 2)
    world.client.advance(blocks=1)
    tab.wait_for_text(".strip", "height 102")
    tab.wait_for_text("[aria-label='The latest blocks'] tr:first-child", "102")
    rows = tab.rows("The latest blocks")
    assert [int(row[0]) for row in rows] == [*range(102, 92, -1)]


def test_a_tab_that_nobody_sees_rests_and_catches_up(own_world, open_tab):
    world = own_world()
    tab = open_tab(world.origin)
    tab.wait_for_text(".strip", "live")
    tab.hide(is_hidden=True)
    tab.wait_for_text(".strip", "resting")
    tab.wait_until(lambda: not tab.streams)
    world.client.mine(3)
    assert "height 0" in tab.text(".strip")
    tab.hide(is_hidden=False)
    tab.wait_for_text(".strip", "height 3")


def test_four_tabs_follow_a_chain_and_others_ask_and_say_so(own_world, chromium):
    """A browser gives six connections to all tabs of an origin."""
    world = own_world()
    context = chromium.new_context()
    tabs = [context.new_page() for _ in range(6)]
    following, asking = tabs[:4], tabs[4:]
    for tab in tabs:
        tab.goto(world.origin)
        told = "live" if tab in following else "asks every 2 s"
        tab.wait_for_selector(f".strip:has-text('{told}')")
        assert tab.get_by_text("Four other tabs").count() == (tab in asking)
    world.client.mine()
    for tab in tabs:
        tab.wait_for_selector(".strip:has-text('height 1')")
    tabs[0].close()
    asking[0].wait_for_selector(".strip:has-text('live')")
    context.close()


def test_nothing_moves_on_a_page_to_which_nothing_comes(own_world, open_tab):
    """What moves by itself has the browser draw sixty times a second."""
    tab = open_tab(own_world().origin)
    tab.page.emulate_media(reduced_motion="no-preference")
    tab.wait_for_text(".strip", "live")
    assert tab.page.evaluate("document.getAnimations().length") == 0


def test_a_timer_is_told_anew_with_each_block_until_it_has_ended(own_world, open_tab):
    world = own_world()
    shop = world.client.deploy(actors.BROKE, value="5 CBY")
    (timer,) = world.client.timers(shop)
    tab = open_tab(world.origin, hex_place("timer", timer.timer_id))
    assert len(tab.stations()) == 1
    world.client.advance(height=timer.height)
    tab.wait_for_text(".life", "fired")
    assert tab.text("[aria-label='What it is'] .badge") == "fired"


def test_a_rewind_is_told_and_what_it_took_is_undone(own_world, open_tab):
    world = own_world()
    before = world.client.snapshot()
    sent = world.client.transfer(b"\xab" * 20, "3 CBY")
    tab = open_tab(world.origin, hex_place("transaction", sent.id))
    tab.excuse("404")
    assert tab.facts("Outcome")["height"] == f"{world.client.height:,}"
    before.revert()
    tab.wait_for_text(".notices", "The chain was taken back")
    tab.wait_for_text("main [role=alert]", "This transaction was undone")


def test_blocks_that_a_rewind_took_are_not_among_the_latest(own_world, open_tab):
    world = own_world()
    world.client.mine()
    before = world.client.snapshot()
    world.client.mine(4)
    tab = open_tab(world.origin)
    tab.wait_for_text("[aria-label='The latest blocks'] tr:first-child", "5")
    before.revert()
    tab.wait_for_text(".notices", "The chain was taken back")
    tab.wait_for_text("[aria-label='The latest blocks'] tr:first-child", "1")
    assert [row[0] for row in tab.rows("The latest blocks")] == ["1", "0"]


def test_a_timer_that_a_rewind_took_is_gone(own_world, open_tab):
    world = own_world()
    before = world.client.snapshot()
    broke = world.client.deploy(actors.BROKE)
    (timer,) = world.client.timers(broke)
    tab = open_tab(world.origin, hex_place("timer", timer.timer_id))
    tab.excuse("404")
    before.revert()
    tab.wait_for_text("main [role=alert]", "This timer is gone")


def test_an_actor_that_a_rewind_took_is_no_actor_any_more(own_world, open_tab):
    world = own_world()
    before = world.client.snapshot()
    till = world.client.deploy(actors.TILL)
    tab = open_tab(world.origin, hex_place("actor", till.address))
    assert tab.text("main h1").strip() == "Actor"
    before.revert()
    tab.wait_for_text(".notices", "The chain was taken back")
    tab.wait_for_text("main h1", "Account")


def test_a_node_that_is_gone_is_told_and_found_again(own_world, open_tab):
    world = own_world()
    tab = open_tab(world.origin, excused=("ERR_", "Failed to load resource"))
    world.node.stop()
    tab.wait_for_text(".notices", "The node does not answer")
    own_world("--http-listen", world.origin.removeprefix("http://")).client.mine()
    tab.wait_for_text(".strip", "height 1")


def test_a_token_is_asked_for_once_and_kept_for_the_tab(own_world, open_tab, tmp_path):
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    world = own_world("--token-file", str(file), token=TOKEN)
    tab = open_tab(world.origin, excused=("401",))
    assert "wants a token" in tab.text("main h1")
    tab.page.fill("input[type=password]", "no → token")
    tab.page.click("text=Go on")
    tab.wait_for_text("main", "does not know the one that was given")
    tab.reload()
    tab.wait_for_text("main", "is in the file")
    tab.page.fill("input[type=password]", "another")
    tab.page.click("text=Go on")
    tab.wait_for_text("main", "does not know the one that was given")
    tab.page.fill("input[type=password]", TOKEN)
    tab.page.click("text=Go on")
    tab.wait_for_text(".strip", "height 0")
    tab.reload()
    assert tab.text("main h1") == "Now"
    assert TOKEN not in tab.page.content()
