"""A client of a debugger, as an editor is one: the Debug Adapter Protocol on stdio."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["DebugAdapter"]


class DebugAdapter:
    """debugpy's adapter, which starts what is to be debugged; as VS Code uses it."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "debugpy.adapter"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0
        self._events: list[Mapping] = []
        self.output = ""
        """What the debugged program printed."""

    def __enter__(self) -> Self:
        """The adapter itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it, and what it started."""
        self._process.kill()
        self._process.communicate()

    def send(self, command: str, **arguments: object) -> int:
        """A request; the number that its response names."""
        self._number += 1
        message = {"seq": self._number, "type": "request", "command": command}
        body = json.dumps(message | {"arguments": arguments}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()
        return self._number

    def ask(self, command: str, **arguments: object) -> Mapping:
        """The body of the response to a request."""
        return self.answer(self.send(command, **arguments))

    def answer(self, number: int) -> Mapping:
        while True:
            message = self._read()
            if message["type"] == "response" and message["request_seq"] == number:
                assert message["success"], message
                return message.get("body", {})
            self._events.append(message)

    def event(self, *names: str) -> Mapping:
        """The next event of one of these names, also of those that came before."""
        while True:
            for index, message in enumerate(self._events):
                if message.get("event") in names:
                    return self._events.pop(index)
            self._events.append(self._read())

    def _read(self) -> Mapping:
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the adapter ended"
        message = json.loads(self._process.stdout.read(length))
        if message.get("event") == "output":
            self.output += message["body"].get("output", "")
        return message

    # --- what a person does in an editor ---------------------------------------------

    def launch(
        self, breakpoints: Mapping[Path, list[int]], **configuration: object
    ) -> None:
        """Start a program with breakpoints, as a `launch.json` says."""
        self.ask("initialize", adapterID="debugpy", pathFormat="path")
        started = self.send("launch", **configuration)
        self.event("initialized")
        for path, lines in breakpoints.items():
            self.ask(
                "setBreakpoints",
                source={"path": str(path)},
                breakpoints=[{"line": line} for line in lines],
            )
        self.ask("configurationDone")
        self.answer(started)

    def stopped(self) -> tuple[Mapping, dict[str, str]] | None:
        """The top frame where it stops next, and its locals; None when it has ended."""
        event = self.event("stopped", "terminated")
        if event["event"] == "terminated":
            return None
        thread = event["body"]["threadId"]
        frame = self.ask("stackTrace", threadId=thread)["stackFrames"][0]
        scopes = self.ask("scopes", frameId=frame["id"])["scopes"]
        reference = scopes[0]["variablesReference"]
        found = self.ask("variables", variablesReference=reference)["variables"]
        self._thread = thread
        return frame, {one["name"]: one["value"] for one in found}

    def resume(self, how: str = "continue") -> None:
        """`continue`, `next`, `stepIn` or `stepOut`."""
        self.send(how, threadId=self._thread)
