"""What a native module is made from: one execution, seen from inside."""

from dataclasses import dataclass

from pvm.host import Host
from pvm.meter import Meter
from pvm.types import Message


@dataclass(frozen=True, slots=True)
class ModuleContext:
    """One execution, for which a native module is made afresh."""

    meter: Meter
    """Charged by everything the module does."""
    host: Host
    message: Message
    handler: str
    """The handler that was chosen of `message.handlers`."""
