"""Draw docs/calendar.svg: the tiers of a real chain at three heights.

    python scripts/draw_calendar.py [--check]

The chain is made in this process: an actor schedules, time passes, timers fire. Each
of them is drawn in the bucket in which the node holds it. Same code, same bytes; with
`--check` nothing is written, and a picture that differs makes the exit code 1.
"""

import argparse
import sys
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

from msgspec import Struct

from node import query
from node.chain.transition import calendar_of
from node.primitives import codec
from node.state import keys
from node.testing import Devnet

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "calendar.svg"
SIZES = {"ring_size": 16, "epoch_length": 20, "epochs": 2}
DUES = (
    8,
    9,
    9,
    12,
    15,
    17,
    17,
    17,
    17,
    17,
    22,
    24,
    30,
    31,
    38,
    44,
    44,
    47,
    55,
    61,
    63,
    63,
)
FAR = (70, 74, 78, 83, 90, 95)
HEIGHTS = (6, 17, 40)
ACTOR = """
import pvm_host

def arm(payload):
    for height in pvm_host.cbor_decode(payload):
        pvm_host.schedule_timer(height, b"", None, 550_000)

def handle_timer(payload):
    pass
"""

_SHOWN_HEIGHTS = 100
_SCALE, _LEFT, _ROW, _CELL = 8, 90, 120, 6
_COLOURS = {"ring": "#c0392b", "epoch": "#2471a3", "overflow": "#7d8791"}


class Look(Struct, frozen=True):
    """What the calendar shows at a height."""

    height: int
    ring_last: int
    epoch_last: int
    timers: tuple[tuple[int, str, int | None], ...]
    """Due height, tier, bucket; in due order."""


def look(chain: Devnet) -> Look:
    """The calendar of a chain, as its views and the read model show it."""
    tiered = calendar_of(chain.state)
    held = sorted(tiered.held(), key=itemgetter(2))
    timers = [
        (keys.timer_height(key), tier.value, bucket) for tier, bucket, key in held
    ]
    timers += [(one.height, "overflow", None) for one in tiered.overflow()]
    page = query.live_timers_page(chain.state, query.TimerCriteria(), b"", 1_000)
    assert timers == [(v.timer.height, v.tier.value, v.bucket) for v in page.items]
    return Look(chain.height, tiered.ring_last, tiered.epoch_last, tuple(timers))


def looks() -> list[Look]:
    """A chain that lives through the heights of the picture."""
    with Devnet(calendar=SIZES) as chain:
        actor = chain.deploy(ACTOR, value="100 CBY")
        payload = codec.encode([*DUES, *FAR])
        actor.call("arm", payload, cycles_limit=900_000, cells_limit=90_000)
        found = []
        for height in HEIGHTS:
            chain.mine_until(height)
            found.append(look(chain))
        return found


def draw(found: list[Look]) -> str:
    """The picture."""
    width, height = _LEFT + _SCALE * _SHOWN_HEIGHTS + 20, _ROW * len(found) + 46
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    font = 'font-family="sans-serif" font-size="12"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for row, one in enumerate(found):
        lines += _draw_look(one, _ROW * row + 80)
    lines += _legend(_ROW * len(found) + 28)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _draw_look(one: Look, base: int) -> Iterator[str]:
    yield f'<text x="8" y="{base}" fill="#222222">height {one.height}</text>'
    ends = {
        "ring": (one.height, one.ring_last),
        "epoch": (one.ring_last + 1, one.epoch_last),
        "overflow": (one.epoch_last + 1, _SHOWN_HEIGHTS - 1),
    }
    for tier, (first, last) in ends.items():
        x, span = _x(first), _SCALE * (last - first + 1)
        colour = _COLOURS[tier]
        yield (
            f'<rect x="{x}" y="{base + 4}" width="{span}" height="5" fill="{colour}"/>'
        )
        yield (
            f'<text x="{x}" y="{base + 24}" fill="{colour}">{first} … '
            f"{'' if tier == 'overflow' else last}</text>"
        )
    stacked: dict[int, int] = {}
    for due, tier, bucket in one.timers:
        level = stacked[due] = stacked.get(due, -1) + 1
        title = tier if bucket is None else f"{tier} {bucket}"
        yield (
            f'<rect x="{_x(due) + 1}" y="{base - _CELL - 2 - level * (_CELL + 2)}" '
            f'width="{_CELL}" height="{_CELL}" fill="{_COLOURS[tier]}">'
            f"<title>due {due}: {title}</title></rect>"
        )


def _legend(base: int) -> Iterator[str]:
    texts = {
        "ring": f"ring: the next {SIZES['ring_size']} heights, one slot each; overdue "
        "timers stand in the present one",
        "epoch": f"epoch queue: epochs of {SIZES['epoch_length']} heights, "
        f"{SIZES['epochs']} ahead",
        "overflow": "overflow set",
    }
    x = 8
    for tier, text in texts.items():
        colour = _COLOURS[tier]
        yield f'<rect x="{x}" y="{base - 9}" width="9" height="9" fill="{colour}"/>'
        yield f'<text x="{x + 14}" y="{base}" fill="#222222">{text}</text>'
        x += 14 + 7 * len(text)


def _x(height: int) -> int:
    return _LEFT + _SCALE * height


def main() -> int:
    """Exit code: 1 if the picture is to be drawn anew."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    is_check = parser.parse_args().check
    drawn = draw(looks())
    if is_check:
        return 0 if PICTURE.read_text("utf-8") == drawn else 1
    PICTURE.write_text(drawn, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
