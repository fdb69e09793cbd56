"""Charts in a terminal: numbers beside bars, in the width that there is."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from node.chain.transition import head_globals
from node.cli import charts, heights, lane
from node.cli.charts import Bar, print_chart
from node.cli.output import Output
from node.client.labels import Labels
from node.query.explain.block import explain_trace
from node.query.height_ranges import DueBucket, DueTimers
from node.rpc import explanations
from node.rpc import heights as wire
from node.rpc.v1 import queries_pb2
from node.testing import Devnet

PAGE = Path(__file__).parents[2] / "docs" / "calendar.md"

ARM = """
import pvm_host

def arm(payload):
    for n in range(payload[0]):
        pvm_host.schedule_timer(20, b"", gas_limit=200_000{terms})

def later(payload):
    height = pvm_host.block_height() + payload[0]
    pvm_host.schedule_timer(height, b"", gas_limit=50_000{terms})

def handle_timer(payload):
    n = 0
    while n < 40_000:
        n += 1
"""


@pytest.fixture(scope="module", params=["fifo", "auction", "bidding"])
def rules(request):
    return request.param


@pytest.fixture(scope="module")
def chain(rules):
    """Fourteen timers for one height, by three actors who bid more and more."""
    activations = [{"height": 1, "rules": rules}]
    with Devnet(activations=[] if rules == "fifo" else activations) as chain:
        for index, count in enumerate((5, 3, 6)):
            terms = ""
            if rules == "auction":
                priority = 7 * index + 2
                terms = (
                    f", max_fee_per_cycle=5_000, max_priority_fee_per_cycle={priority}"
                )
            if rules == "bidding":
                terms = ", gba=pvm_host.self_address()"
            actor = chain.deploy(ARM.format(terms=terms), value="50 CBY")
            chain.label(actor, f"actor {index}")
            actor.call("arm", bytes([count]))
        chain.advance(height=24)
        for heights in (5, 2, 2):
            actor.call("later", bytes([heights]))
        yield chain


@pytest.fixture
def printed(monkeypatch):
    """What a function prints; to a terminal of so many columns, if that is said."""

    def show(function, *arguments, columns=None, labels=None):
        if columns is not None:
            is_terminal = property(lambda _: True)
            monkeypatch.setattr("rich.console.Console.is_terminal", is_terminal)
            monkeypatch.setenv("COLUMNS", str(columns))
            monkeypatch.setenv("TERM", "xterm")
        output = Output(None, labels)
        with CliRunner().isolation(color=columns is not None) as (out, *_):
            function(output, *arguments)
            return out.getvalue().decode()

    return show


def test_a_bar_is_as_long_as_its_part():
    assert Bar(((0.5, "red"),)).text(8).plain == "████    "
    assert Bar(((1.0, "red"),)).text(4).plain == "████"
    assert Bar(((0.3, ""), (0.2, "red"))).text(10).plain == "   ██     "
    assert Bar(((7.0, "red"),)).text(4).plain == "████"
    assert Bar(()).text(3).plain == "   "


def test_little_is_not_nothing():
    assert Bar(((1e-9, "red"),)).text(10).plain.strip() == "▏"
    assert not Bar(((0.0, "red"),)).text(10).plain.strip()


def test_parts_follow_one_another_without_a_gap():
    drawn = Bar(((0.33, "green"), (0.0, "red"), (0.41, "cyan"))).text(20)
    assert drawn.plain.rstrip() == "█" * 14 + "▊"
    assert {f"{span.style}" for span in drawn.spans} == {"green", "cyan"}
    drawn = Bar(((0.33, "green"), (0.0, "cyan"))).text(20)
    assert drawn.plain.rstrip() == "█" * 7


def test_a_chart_takes_the_width_of_its_terminal(printed):
    rows = [("a", "12", Bar(((1.0, "red"),)))]
    widths = {}
    for columns in (30, 60):
        text = printed(print_chart, "title", ("x", "n", ""), rows, columns=columns)
        widths[columns] = max(map(len, text.splitlines())), text.count("█")
    assert (widths[30][1], widths[60][1]) == (30 - 7, 60 - 7)


def test_a_chart_for_a_file_has_neither_colours_nor_a_terminals_width(printed):
    rows = [("a", "12", Bar(((1.0, "red"),))), "a line"]
    text = printed(print_chart, "title", ("x", "n", ""), rows)
    assert "\x1b" not in text
    title, head, row, line = text.splitlines()
    assert (title, head) == ("title", "x   n")
    assert row == "a  12  " + "█" * charts.BAR_COLUMNS_MAX
    assert line.startswith("── a line ───")


def test_a_narrow_terminal_folds_no_number(printed):
    rows = [("heights 1 to 2", "123,456,789", Bar(((1.0, "red"),)))]
    text = printed(print_chart, "", ("x", "n", ""), rows, columns=20)
    assert "123,456,789" in text
    assert text.count("█") == charts.BAR_COLUMNS_MIN


def test_names_are_shown_and_what_a_terminal_would_obey_is_not(printed):
    labels = Labels({b"\x07" * 20: "treasury"})
    rows = [("0x" + "07" * 20, "\x1b[31mred")]
    text = printed(print_chart, "\x1b]0;", ("x", "n"), rows, labels=labels)
    assert "treasury" in text
    assert "\x1b" not in text


def due_of(chain, first, last, buckets):
    return wire.due_timers_to_proto(chain.count_due(first, last, buckets), chain.head)


def test_the_calendar_is_drawn_with_its_tiers(chain, printed):
    text = printed(heights.show_calendar, due_of(chain, 0, 300, 128))
    lines = text.splitlines()
    assert lines[0] == "head 27: 3 timers pending"
    assert [line[3:].partition(" ─")[0] for line in lines if line.startswith("──")] == [
        "the past, to the head", "ring, to height 282", "epoch queue, to height 89,999",
    ]  # fmt: skip
    (row,) = (line for line in lines if line.startswith("20 to 23"))
    assert "14" in row
    assert "█" in row


def test_a_calendar_without_anything_says_so_in_a_line(printed):
    nothing = DueTimers((DueBucket(0, 3, 0),), 4, 255, 89_999, 0, 0, 0)
    with Devnet() as chain:
        shown = wire.due_timers_to_proto(nothing, chain.head)
    shown.queued, shown.pending = 3, 1
    text = printed(heights.show_calendar, shown)
    assert text == (
        "head 0: 1 timer pending, 3 fires queued in the Globalbox\n"
        "no timer is or was due at heights 0 to 3\n"
    )


@pytest.mark.parametrize("ahead", [4, 300, 100_000])
def test_a_calendar_without_heights_ends_with_the_last_timer(ahead):
    """In the ring, the epoch queue and the overflow: its row is as small as can be."""
    with Devnet() as chain:
        chain.deploy(
            "import pvm_host\n"
            "def deploy(self):\n"
            "    pvm_host.schedule_timer(pvm_host.block_height() + 2, b'')\n"
            f"    pvm_host.schedule_timer(pvm_host.block_height() + {ahead}, b'')\n",
            value="5 CBY",
        )
        answer = heights.all_that_waits(
            lambda first, last: due_of(chain, first, last, 32), None
        )
    *_, bucket = answer.buckets
    assert sum(one.pending for one in answer.buckets) == answer.pending == 2
    assert bucket.pending == 1
    assert bucket.from_height <= 1 + ahead <= bucket.to_height
    assert 8 * (bucket.to_height - bucket.from_height) <= ahead


def fees_of(chain, buckets):
    answer = wire.lane_use_to_proto(chain.lane_use(buckets=buckets), chain.head)
    following = head_globals(chain.state)
    status = queries_pb2.GetStatusResponse(
        next_basefee_cycle=str(following.basefee_cycle),
        next_basefee_cell=str(following.basefee_cell),
        next_basefee_lane=str(following.basefee_lane),
    )
    return answer, status


def test_fees_are_drawn_with_the_parts_of_the_lanes(chain, printed):
    use = chain.lane_use(buckets=8)
    text = printed(heights.show_fees, *fees_of(chain, 8))
    lines = text.splitlines()
    following = head_globals(chain.state)
    assert lines[0].startswith("head 27; basefees of the next block: ")
    assert f": {following.basefee_cycle} a cycle, {following.basefee_cell} " in lines[0]
    is_auction = any(one.totals and one.totals.basefee_lane.last for one in use.buckets)
    assert (" a cycle of the timer lane" in lines[0]) == is_auction
    told = [one for one in use.buckets if one.totals]
    assert len(lines) == 2 + len(told)
    for bucket, line in zip(told, lines[2:], strict=True):
        totals = bucket.totals
        words = line.split()
        assert words[: 3 if use.width > 1 else 1][0] == f"{bucket.first_height}"
        assert f"{totals.basefee_cycle.last:,}" in words
        permille = totals.timer_cycles * 1_000 // (2_000_000 * totals.heights)
        if permille:
            assert f"{permille / 10:.1f} %" in line


def lane_of(chain, height):
    told = explain_trace(height, chain.result_at(height).trace)
    return height, [explanations.block_explanation_to_proto(told, 0, 1_000)]


def test_a_lane_is_drawn_in_the_order_considered(chain, printed):
    text = printed(lane.show_lane, *lane_of(chain, 20), labels=chain.labels)
    lines = text.splitlines()
    trace = [one for one in chain.result_at(20).trace if one.due_height == 20]
    fired = sum(one.decision.value == "fired" for one in trace)
    assert lines[0] == (
        f"block 20: 14 due timers in the order considered, {fired} fired; the lane has "
        "2,000,000 cycles"
    )
    rows = [line for line in lines[2:] if not line.startswith("──")]
    assert len(rows) == 14
    assert all("actor " in row and "0x" in row for row in rows)
    cut = [at for at, line in enumerate(lines[2:]) if line.startswith("──")]
    assert (fired < 14) == bool(cut)
    if cut:
        (place,) = cut
        assert all(" fired " in row for row in rows[:place])
        assert "put off (lane)" in rows[place]


def test_a_block_without_due_timers_says_so(chain, printed):
    text = printed(lane.show_lane, *lane_of(chain, 24))
    assert text == "no timer was due in block 24\n"


def test_the_page_prints_what_is_printed(chain, rules, printed):
    """docs/calendar.md, for the chain of this file under `fifo` and `auction`."""
    shown = {
        "fifo": [
            printed(heights.show_calendar, due_of(chain, 0, 31, 8)),
            printed(lane.show_lane, *lane_of(chain, 20), labels=chain.labels),
        ],
        "auction": [printed(heights.show_fees, *fees_of(chain, 8))],
    }
    page = PAGE.read_text()
    for text in shown.get(rules, []):
        assert f"```\n{text}```\n" in page, text
