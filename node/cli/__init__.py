"""The command line `cowboy-devnet`: `start` runs a node, all else is a client of it.

Rules: a command's module is imported when the command is used, so that `start` loads
no printer of tables and a client no database. Output is tables for people and JSON
with `--json`. Exit codes: 0 done, 1 the chain said no, 2 usage, 3 no
node there, 130 Ctrl-C; who has read enough of the output has not failed. Every flag
has a variable COWBOY_DEVNET_<FLAG>.
"""

import errno
import os
import sys
from difflib import get_close_matches
from importlib import import_module

import click
from typing_extensions import override

from node import __version__

__all__ = ["Group", "main"]

_ENVIRONMENT_PREFIX = "COWBOY_DEVNET"

_COMMANDS = {
    "start": ("start", "Run a node."),
    "status": ("queries", "The chain's head, fees and pool."),
    "accounts": ("queries", "The development accounts."),
    "faucet": ("development", "Mint to an account."),
    "transfer": ("transactions", "Send an amount."),
    "new": ("new", "Make a project: an actor, its tests, a recipe for CI."),
    "check": ("check", "Read actors' files as a deployment would; needs no node."),
    "deploy": ("transactions", "Create an actor from a file."),
    "upgrade": ("transactions", "Give an actor new code from a file."),
    "rehearse-upgrade": (
        "rehearsal",
        "What would differ with new code, over the same blocks.",
    ),
    "call": ("transactions", "Call an actor's handler in a transaction."),
    "read": ("queries", "Call an actor's handler, and keep nothing."),
    "actor": ("queries", "What an actor is and has."),
    "storage": ("queries", "What an actor has stored."),
    "set-storage": ("development", "Write what an actor has stored, as it is."),
    "set-code": ("development", "Replace an actor's code, as it is."),
    "timers": ("timers", "Timers that wait, and how others ended."),
    "fees": ("heights", "Basefees and lanes of the last heights, as a chart."),
    "events": ("events", "What happened lately, or as it happens."),
    "output": ("output_stream", "What actors print, as they print it."),
    "block": ("queries", "A block and what came of it."),
    "tx": ("queries", "What became of a transaction."),
    "costs": ("costs", "What lines of actors cost in a range of heights."),
    "mine": ("development", "Make blocks now."),
    "advance": ("development", "Let time pass."),
    "mining": ("development", "When blocks are made."),
    "dev": ("loop.command", "Deploy actors again whenever their files are saved."),
    "console": ("console", "Python's prompt on a chain: try, undo, save as a test."),
    "snapshot": ("snapshots", "Heights to return to."),
    "bundle": ("bundles", "A chain in one file, to be executed again anywhere."),
    "govern": ("govern", "Rules and parameters in force, and to come."),
    "coverage": ("coverage", "Which lines of actors a chain's blocks ran."),
    "replay": ("offline", "Execute a folder's blocks again, and compare."),
    "open": ("open_page", "Open a node's page in the browser."),
    "explore": (
        "explore",
        "Look at a bundle or a folder in the browser; needs no node.",
    ),
}
"""Every command, in the order of the help: the module that has it, and what it does."""

_FUNCTIONS = {"open": "open_page"}
"""What commands are called in their modules, where their own names are taken."""

_EXIT_INTERRUPTED = 130
"""As a shell says of a program that SIGINT ended."""


class Group(click.Group):
    """Commands of which one may be mistyped."""

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            likely = get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not likely:
                raise
            message = f"{error.message.rstrip('.')}. Did you mean '{likely[0]}'?"
            raise click.UsageError(message, ctx) from error


class _Commands(Group):
    """Commands whose modules are imported when they are used."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        if cmd_name != "start":  # gRPC's lines are an operator's; we have sentences
            os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        home, _ = _COMMANDS[cmd_name]
        module = import_module(f"node.cli.{home}")
        name = _FUNCTIONS.get(cmd_name, cmd_name.replace("-", "_"))
        command = getattr(module, name)
        assert isinstance(command, click.Command)
        _name_variables(command)
        return command

    @override
    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Read the arguments; `--help` and `--version` print, and end here."""
        try:
            words = _with_json_form(args)
            return super().make_context(info_name, words, parent, **extra)
        except OSError as error:
            _end_if_read_enough(error)
            raise

    @override
    def invoke(self, ctx: click.Context) -> object:
        """Say in a sentence what the system, or a text that is none, did not allow."""
        try:
            return super().invoke(ctx)
        except UnicodeEncodeError as error:
            raise click.UsageError(f"{error.object!r} is no text in Unicode") from error
        except KeyboardInterrupt:
            raise click.exceptions.Exit(_EXIT_INTERRUPTED) from None
        except OSError as error:
            _end_if_read_enough(error)
            message = f"{error.filename or 'standard output'}: {error.strerror}"
            raise click.UsageError(message) from error

    @override
    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, what) for name, (_, what) in _COMMANDS.items()])


def _with_json_form(words: list[str]) -> list[str]:
    """The words of a command line; `--json` is written out, and takes no next word."""
    end = words.index("--") if "--" in words else len(words)
    said = ("--json=human" if word == "--json" else word for word in words[:end])
    return [*said, *words[end:]]


def _end_if_read_enough(error: OSError) -> None:
    """End the command without a failure if whoever read the output has enough."""
    if error.errno == errno.EPIPE:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - to the end
        raise click.exceptions.Exit(0) from None


def _name_variables(command: click.Command) -> None:
    """Let each flag be set by COWBOY_DEVNET_<FLAG>, whichever command it is of."""
    command.context_settings["auto_envvar_prefix"] = _ENVIRONMENT_PREFIX
    if isinstance(command, click.Group):
        for part in command.commands.values():
            _name_variables(part)


@click.group(
    cls=_Commands,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "show_default": True,
        "max_content_width": 100,
    },
)
@click.version_option(__version__, prog_name="cowboy-devnet")
def main() -> None:
    """Run a local Cowboy chain, and talk to one.

    Flags can also be set as variables: --data-dir is COWBOY_DEVNET_DATA_DIR.
    """
