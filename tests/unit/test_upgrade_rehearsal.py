"""A rehearsal finds what an upgrade would lose, and nothing where nothing is lost."""

import json

import pytest
from click.testing import CliRunner

from node.archive.upgrade_differences import DifferenceName
from node.archive.upgrade_rehearsal import RehearsalRefused
from node.chain.transaction import Transfer
from node.cli import main
from node.client.exceptions import BundleRefused, InvalidArgument
from node.testing import Devnet

KEEPER = '''
import pvm_host

class Keeper:
    """Beats every ten blocks, sweeps every thirty, and pays who asks."""

    def deploy(self):
        self._arm("beat", 10)
        self._arm("sweep", 30)

    def _arm(self, handler, blocks):
        payload = '{"_handler": "' + handler + '", "_payload": ""}'
        due = pvm_host.block_height() + blocks
        pvm_host.schedule_timer(due, payload.encode(), gas_limit=20_000)

    def beat(self, payload):
        self.storage["beats"] = self.storage.get("beats", 0) + 1
        pvm_host.emit_event("beat", b"")
        self._arm("beat", 10)

    def sweep(self, payload):
        self.storage["swept"] = pvm_host.block_height()
        self._arm("sweep", 30)

    def pay(self, payload):
        pvm_host.transfer(pvm_host.get_sender(), 1_000)
        return "paid"
'''
HEIGHTS = 100


@pytest.fixture(scope="module")
def lived():
    """A chain on which a keeper lived, to be rehearsed on by every test."""
    with Devnet() as chain:
        keeper = chain.deploy(KEEPER, value="50 CBY")
        for account in chain.accounts[1:4]:
            chain.advance(blocks=11)
            keeper.call("pay", sender=account)
        chain.advance(height=HEIGHTS)
        yield chain, keeper


@pytest.fixture
def rehearse(lived):
    chain, keeper = lived
    before = chain.head

    def rehearse_code(code, **options):
        return chain.rehearse_upgrade(keeper, code, **options)

    yield rehearse_code
    assert chain.head == before


def names(rehearsal):
    return {f"{one.name}:{one.subject}" for one in rehearsal.differences}


def test_the_same_behaviour_differs_in_nothing(rehearse):
    """Both chains are the same to the unit: fires, receipts, timers, money, state."""
    rehearsal = rehearse(f"{KEEPER}\n# read again\n")
    assert rehearsal.differences == rehearsal.refused == ()
    assert (rehearsal.first, rehearsal.last) == (2, HEIGHTS)
    assert str(rehearsal) == "heights 2 to 100: nothing differs"


def test_a_renamed_handler_is_found(rehearse):
    renamed = KEEPER.replace("def sweep(", "def clean(")
    rehearsal = rehearse(renamed)
    assert {"handlers:sweep", "stopped:sweep", "fires:sweep"} <= names(rehearsal)
    assert not any("beat" in name for name in names(rehearsal))
    (lost,) = [one for one in rehearsal.differences if one.name == "handlers"]
    assert (lost.height, lost.count) == (31, 1)
    assert "HandlerNotFound" in lost.text


def test_a_renamed_handler_is_found_before_its_timer_is_due(rehearse):
    renamed = KEEPER.replace("def sweep(", "def clean(")
    rehearsal = rehearse(renamed, over=range(95, HEIGHTS + 1))
    assert names(rehearsal) == {"handlers:sweep"}
    (lost,) = rehearsal.differences
    assert "due at height 121 will find no handler" in lost.text


def test_timers_that_are_queued_at_the_end_wait_as_those_of_the_calendar():
    """A due timer that the quotas leave in the Globalbox is live (D52)."""
    late = KEEPER.replace(
        'self._arm("sweep", 30)\n\n    def _arm',
        'self._arm("sweep", 10)\n        self._arm("sweep", 10)\n\n    def _arm',
    )
    assert late != KEEPER
    quotas = {"globalbox_config": {"max_fires_per_block": 1}}
    activations = [{"height": 0, "rules": "globalbox"}]
    with Devnet(activations=activations, **quotas) as chain:
        keeper = chain.deploy(late, value="50 CBY")
        chain.mine_until(11)
        assert len(chain.queue()) == 2
        same = chain.rehearse_upgrade(keeper, f"{late}\n# read again\n")
        assert same.differences == ()
        renamed = late.replace("def sweep(", "def clean(")
        told = chain.rehearse_upgrade(keeper, renamed).differences
        assert ("handlers", "sweep", 2) in [(d.name, d.subject, d.count) for d in told]
        assert "stopped:sweep" not in {f"{d.name}:{d.subject}" for d in told}
        once = late.replace(
            "def _arm(self, handler, blocks):",
            """def upgrade(self):
        for timer_id in pvm_host.list_timers():
            pvm_host.cancel_timer(timer_id)

    def _arm(self, handler, blocks):""",
        )
        over = range(11, 12)
        stopped = chain.rehearse_upgrade(keeper, once, over=over)
        assert "stopped:sweep" in names(stopped)


WATCHER = """
import pvm_host

def deploy():
    pvm_host.set_state_watch(
        pvm_host.self_address(), ["price"], b"", gas_limit=20_000, expires_at=500
    )

def upgrade():
    pass

def handle_timer(payload):
    pvm_host.emit_event("seen", b"")
"""


@pytest.mark.parametrize(
    ("again", "label", "text"),
    [
        ("", "stopped:handle_timer", "the next one at a change of 1 watch key; now"),
        (
            'pvm_host.set_state_watch(me, ["cost"], b"", None, None, None, 500)',
            "timers:handle_timer",
            "due at a change of 1 watch key, now at a change",
        ),
    ],
)
def test_a_watch_that_is_lost_or_watches_something_else_is_found(again, label, text):
    with Devnet(activations=[{"height": 0, "rules": "globalbox"}]) as chain:
        watcher = chain.deploy(WATCHER, value="5 CBY")
        chain.advance(blocks=20)
        same = f"{WATCHER}\n# read again\n"
        assert chain.rehearse_upgrade(watcher, same).differences == ()
        lost = f"""
    me, watch = pvm_host.self_address(), pvm_host.set_state_watch
    pvm_host.cancel_timer(pvm_host.list_timers()[0])
    {again}
"""
        code = WATCHER.replace("def upgrade():\n    pass\n", f"def upgrade():{lost}")
        told = [f"{one}" for one in chain.rehearse_upgrade(watcher, code).differences]
        assert [one for one in told if one.startswith(label) and text in one], told


def test_a_forgotten_re_arm_is_found(rehearse):
    forgetful = KEEPER.replace(
        '        self._arm("sweep", 30)\n\n    def pay', "    def pay"
    )
    assert forgetful != KEEPER
    rehearsal = rehearse(forgetful)
    stopped = [one for one in rehearsal.differences if one.name == "stopped"]
    assert [one.subject for one in stopped] == ["sweep"]
    assert "will never fire again" in stopped[0].text


def test_what_is_due_later_is_seen_when_further_heights_pass(rehearse):
    forgetful = KEEPER.replace(
        '        self._arm("sweep", 30)\n\n    def pay', "    def pay"
    )
    over = range(95, HEIGHTS + 1)
    assert rehearse(forgetful, over=over).differences == ()
    rehearsal = rehearse(forgetful, over=over, further=40)
    assert "stopped:sweep" in names(rehearsal)
    assert rehearsal.last == HEIGHTS + 40


def test_a_dearer_fire_is_found_and_may_be_allowed(rehearse):
    dearer = KEEPER.replace(
        "    def beat(self, payload):\n",
        "    def beat(self, payload):\n        pvm_host.charge_gas(1_000)\n",
    )
    rehearsal = rehearse(dearer)
    assert names(rehearsal) == {"dearer:beat"}
    (found,) = rehearsal.refused
    assert (found.height, found.count) == (11, 9)
    assert "cycles and 50 cells, now" in found.text
    assert rehearse(dearer, costs_within=41).differences == ()
    assert rehearse(dearer, costs_within=39).differences == (found,)
    for allow in ("dearer", ["dearer:beat"]):
        allowed = rehearse(dearer, allow=allow)
        assert allowed.refused == ()
        assert str(allowed).endswith("(allowed)")
    assert rehearse(dearer, allow=["dearer:sweep", "cheaper"]).refused == (found,)


def test_a_fire_that_no_longer_fits_its_limit_is_found(rehearse):
    burning = KEEPER.replace(
        "    def beat(self, payload):\n",
        "    def beat(self, payload):\n        pvm_host.charge_gas(30_000)\n",
    )
    rehearsal = rehearse(burning)
    assert {"failures:beat", "stopped:beat", "storage:beats"} <= names(rehearsal)
    assert next(iter(rehearsal.differences)).name == "stopped"  # the gravest first


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('emit_event("beat"', 'emit_event("pulse"', {"events:beat", "events:pulse"}),
        ('["swept"]', '["cleaned"]', {"storage:swept", "storage:cleaned"}),
        ('return "paid"', 'return "done"', {"values:pay"}),
        ('self._arm("beat", 10)\n\n', 'self._arm("beat", 12)\n\n', {"timers:beat"}),
    ],
)
def test_each_difference_has_its_name(rehearse, old, new, expected):
    changed = KEEPER.replace(old, new)
    assert changed != KEEPER
    assert expected <= names(rehearse(changed))


def test_money_that_is_not_paid_is_found_whatever_it_cost(rehearse, lived):
    chain, keeper = lived
    stingy = KEEPER.replace("get_sender(), 1_000", "get_sender(), 999")
    found = [one for one in rehearse(stingy).differences if one.name == "money"]
    assert {one.subject for one in found} == {
        f"0x{who.address.hex()}" for who in (keeper, *chain.accounts[1:4])
    }
    assert {one.text for one in found} == {
        "+3 base units, fees aside", "-1 base units, fees aside",
    }  # fmt: skip
    dear = KEEPER.replace(
        'return "paid"', 'pvm_host.charge_gas(99)\n        return "paid"'
    )
    assert names(rehearse(dear)) == {"dearer:pay"}


def test_the_upgrade_handler_runs_first_and_is_no_part_of_the_blocks(rehearse):
    migrating = f"""{KEEPER}
    def upgrade(self, payload):
        self.storage["version"] = payload
        pvm_host.emit_event("migrated", payload)
"""
    rehearsal = rehearse(migrating, payload=b"two", costs_within=5)
    assert names(rehearsal) == {"storage:version"}
    assert str(rehearsal).endswith("nothing, now b'two'")
    # A method more makes each instance a little dearer.
    told = names(rehearse(migrating, allow=["storage:version"]))
    assert told == {"storage:version", "dearer:beat", "dearer:sweep", "dearer:pay"}


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("import os\n", "CompileError"),
        (KEEPER, "SameCode: the actor has this code already"),
        (
            f"{KEEPER}\n    def upgrade(self, payload):\n        return 1 // 0\n",
            "ZeroDiv",
        ),
    ],
)
def test_an_upgrade_that_fails_is_the_one_difference(rehearse, code, text):
    rehearsal = rehearse(code)
    (failed,) = rehearsal.refused
    assert failed.name is DifferenceName.UPGRADE
    assert text in failed.text


@pytest.mark.parametrize("first", [3, 20, 45, HEIGHTS])
def test_it_may_begin_at_any_height_also_inside_a_run(rehearse, first):
    over = range(first, HEIGHTS + 1)
    assert rehearse(f"{KEEPER}\n#\n", over=over).differences == ()
    assert rehearse(f"{KEEPER}\n#\n", over=range(first, first + 1)).differences == ()


def test_a_transaction_that_cannot_be_included_is_found():
    """A sender whom the new code no longer pays cannot pay for what follows."""
    with Devnet() as chain:
        keeper = chain.deploy(KEEPER.replace("1_000", "4 * 10**9"), value="50 CBY")
        poor = b"\x66" * 20
        chain.fund(poor, "2 CBY")
        keeper.call("pay", sender=poor)
        chain.execute(Transfer(b"\1" * 20, 5 * 10**9), sender=poor)
        rehearsal = chain.rehearse_upgrade(keeper, KEEPER)
    assert "refused:0x0101010101010101010101010101010101010101.transfer" in names(
        rehearsal
    )


@pytest.mark.parametrize("over", [range(5), range(5, 5), range(1, 9, 2), 7, "", b"x"])
def test_heights_are_one_after_another(rehearse, over):
    with pytest.raises(InvalidArgument, match=r"^over: "):
        rehearse(KEEPER, over=over)


def test_what_is_not_there_is_refused(lived, tmp_path):
    chain, keeper = lived
    with pytest.raises(RehearsalRefused, match="heights 200 to 100 are wanted"):
        chain.rehearse_upgrade(keeper, KEEPER, over=range(200, 300))
    with pytest.raises(RehearsalRefused, match="no actor was deployed at 0x7777"):
        chain.rehearse_upgrade(b"\x77" * 20, KEEPER)
    with pytest.raises(InvalidArgument, match="allow: one of upgrade, stopped"):
        chain.rehearse_upgrade(keeper, KEEPER, allow=["anything"])
    with pytest.raises(InvalidArgument, match="further"):
        chain.rehearse_upgrade(keeper, KEEPER, further=-1)
    with pytest.raises(InvalidArgument, match="farther: further and costs_within"):
        chain.rehearse_upgrade(keeper, KEEPER, farther=1)
    with pytest.raises(BundleRefused):
        chain.rehearse_upgrade(keeper, KEEPER, over=tmp_path / "none.bundle")


def test_after_an_upgrade_it_begins_where_the_code_is_the_present_one():
    with Devnet() as chain:
        keeper = chain.deploy(KEEPER, value="50 CBY")
        chain.advance(blocks=20)
        keeper.upgrade(f"{KEEPER}\n# two\n")
        chain.advance(blocks=20)
        rehearsal = chain.rehearse_upgrade(keeper, f"{KEEPER}\n# three\n")
        assert (rehearsal.first, rehearsal.differences) == (23, ())


# --- on a bundle --------------------------------------------------------------


@pytest.fixture(scope="module")
def bundle(lived, tmp_path_factory):
    chain, _ = lived
    return chain.export_bundle(tmp_path_factory.mktemp("rehearsal") / "chain.bundle")


def test_a_bundle_tells_the_same_as_its_chain(rehearse, lived, bundle):
    _, keeper = lived
    renamed = KEEPER.replace("def sweep(", "def clean(")
    told = rehearse(renamed)
    with Devnet() as elsewhere:
        assert elsewhere.rehearse_upgrade(keeper, renamed, over=bundle) == told


@pytest.fixture
def run(lived, bundle, tmp_path):
    _, keeper = lived

    def run_command(code, *words):
        file = tmp_path / "new.py"
        file.write_text(code)
        where = ["--bundle", str(bundle), "--confine", "off"]
        return CliRunner().invoke(
            main,
            [
                "rehearse-upgrade",
                f"0x{keeper.address.hex()}",
                str(file),
                *where,
                *words,
            ],
            prog_name="cowboy-devnet",
        )

    return run_command


def test_the_command_ends_with_1_on_what_is_not_allowed(run):
    """Exit code 1 on a difference that was not allowed by name."""
    same = run(f"{KEEPER}\n#\n")
    assert (same.exit_code, same.stdout) == (0, "heights 2 to 100: nothing differs\n")
    renamed = KEEPER.replace("def sweep(", "def clean(")
    found = run(renamed)
    assert found.exit_code == 1
    assert "handlers:sweep at height 31" in found.stdout
    assert "are not allowed" in found.stderr
    told = run(renamed, "--json", "--first", "95", "--last", "100")
    assert told.exit_code == 1
    answer = json.loads(told.stdout)
    assert (answer["first"], answer["last"]) == (95, 100)
    (one,) = answer["differences"]
    assert (one["name"], one["subject"], one["is_allowed"]) == (
        "handlers", "sweep", False,
    )  # fmt: skip
    allowed = run(renamed, "--first", "95", "--allow", "handlers:sweep")
    assert allowed.exit_code == 0


def test_the_command_ends_with_2_on_what_cannot_be_done(run, tmp_path):
    assert run(KEEPER, "--first", "500").exit_code == 2
    assert run(KEEPER, "--allow", "anything").exit_code == 2
    assert run(KEEPER, "--bundle", str(tmp_path / "new.py")).exit_code == 2
