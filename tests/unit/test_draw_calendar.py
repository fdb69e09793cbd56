"""The picture of docs/calendar.md is what a chain shows today."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "calendar.svg"


def test_the_script_still_draws_the_same_bytes():
    command = [sys.executable, str(ROOT / "scripts" / "draw_calendar.py"), "--check"]
    assert subprocess.run(command, check=False, cwd=ROOT).returncode == 0


def test_the_picture_shows_timers_of_every_tier():
    root = ET.fromstring(PICTURE.read_text("utf-8"))
    titles = [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}title")]
    tiers = {title.partition(": ")[2].partition(" ")[0] for title in titles}
    assert tiers == {"ring", "epoch", "overflow"}
    # Two of five that were due at 17 did not fit the lane, and stand in its slot.
    assert titles.count("due 17: ring 1") == 2 + 5
