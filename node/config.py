"""NodeConfig: what the operator chooses, checked once, before anything starts.

Every operational limit of the node is here: a layer's limits are a frozen class of
that layer, and `NodeConfig` puts them together. Nothing here is consensus, but for
the genesis that a fresh folder begins from.

Rules: a wrong value is a `ConfigError` with a sentence that says what to write
instead.
"""

import json
import re
from enum import StrEnum
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace
from typing_extensions import override

import node
from node.chain.errors import InvalidGenesis
from node.chain.genesis import ACCOUNTS_MAX, Genesis, parse_genesis
from node.chain.genesis import override as override_genesis
from node.chain.timers.rules import RULE_SETS
from node.mempool import PoolLimits
from node.primitives import amounts
from node.primitives.types import Amount
from node.rpc.access import Access, AccessError, read_certificate, read_token
from node.rpc.limits import RpcLimits
from node.runtime.settings import (
    Confinement,
    FeedLimits,
    HttpAccess,
    HttpLimits,
    MiningMode,
)

__all__ = [
    "DEFAULT_GENESIS",
    "ConfigError",
    "GenesisChoice",
    "Listen",
    "LogFormat",
    "LogLevel",
    "NodeConfig",
    "genesis_folder",
    "load_genesis",
    "parse_access",
    "parse_amount",
    "parse_duration_ms",
    "parse_http_access",
    "parse_listen",
    "parse_memory_max",
]

DEFAULT_GENESIS = "devnet"

GENESIS_BYTES_MAX = 16 << 20
"""Of a genesis file: some hundred thousand balances."""

PORT_MAX = 65_535
KEEP_BLOCKS_MIN = 64
"""As many as can be taken back without a named snapshot."""

MEMORY_MAX_LEAST = 256 << 20
"""A node has 150 MiB when it is idle."""

PACE_MS_MAX = 3_600_000
"""An hour between two blocks; longer is mode `manual`."""


class ConfigError(Exception):
    """The operator asked for something that cannot be; the message says what can."""


class LogFormat(StrEnum):
    """How the log looks."""

    AUTO = "auto"
    """`console` for a terminal, else `json`."""
    CONSOLE = "console"
    JSON = "json"


class LogLevel(StrEnum):
    """What the log leaves out."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Listen(Struct, frozen=True):
    """Where a server listens; port 0 picks a free one."""

    host: str = "127.0.0.1"
    port: int = 50051

    @override
    def __str__(self) -> str:
        """`host:port`, with brackets around an IPv6 address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class GenesisChoice(Struct, frozen=True):
    """What the operator said about the genesis; None where nothing was said.

    What was said must be true of a folder that exists already; what was not said is
    taken from it, or from the preset `devnet` if the folder is fresh.
    """

    source: str | None = None
    """Name of a preset, or path of a file."""
    account_count: int | None = None
    account_balance: Amount | None = None
    block_interval_ms: int | None = None
    rules: str | None = None
    """Name of the timer rules that are in force from height 0 on (D1)."""
    document: Genesis | None = None
    """What `source` names, once it was read."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        count = self.account_count
        if count is not None and not 1 <= count <= ACCOUNTS_MAX:
            raise ConfigError(
                f"--accounts is from 1 to {ACCOUNTS_MAX}, {count} was given"
            )
        interval = self.block_interval_ms
        if interval is not None and not 1 <= interval <= PACE_MS_MAX:
            raise ConfigError("--block-time is from 1ms to 1h")
        if self.rules is not None and self.rules not in RULE_SETS:
            known = ", ".join(sorted(RULE_SETS))
            raise ConfigError(f"--rules is one of {known}, {self.rules!r} was given")

    def read(self) -> "GenesisChoice":
        """The same with the document read, if one is named: files come out of reach.

        Raises:
            ConfigError: No such preset or file, or it is not a genesis.
        """
        if self.source is None:
            return self
        return replace(self, document=load_genesis(self.source))

    def wanted(self, stored: Genesis | None) -> Genesis:
        """The genesis that was asked for; `stored` is that of the folder, if any.

        Raises:
            ConfigError: No such preset or file, or it is not a genesis.
        """
        if self.source is None and stored is not None:
            genesis = stored
        else:
            genesis = self.document or load_genesis(self.source or DEFAULT_GENESIS)
        try:
            return override_genesis(
                genesis,
                account_count=self.account_count,
                account_balance=self.account_balance,
                block_interval_ms=self.block_interval_ms,
                rules=self.rules,
            )
        except InvalidGenesis as error:
            raise ConfigError(f"the genesis cannot be made so: {error}") from error


class NodeConfig(Struct, frozen=True):
    """Everything that `start` needs to know."""

    data_dir: Path | None = Path("devnet-data")
    """None keeps nothing (`:memory:`)."""
    genesis: GenesisChoice = field(default_factory=GenesisChoice)
    grpc_listen: Listen = field(default_factory=Listen)
    mining: MiningMode = MiningMode.INTERVAL
    pace_ms: int | None = None
    """Wall time between blocks in mode `interval`; None: the genesis interval."""
    is_auto_timers: bool = False
    """Whether it advances to the next timer by itself when nothing is pending."""
    is_dev_served: bool = True
    """Whether a development chain serves `DevService` and impersonates senders."""
    keep_blocks: int | None = None
    """Of how many heights below the head all is kept; None: of all."""
    is_verified: bool = False
    """Whether everything the folder holds is recomputed before it is served."""
    ready_file: Path | None = None
    is_ended_by_input: bool = False
    """Whether it ends when standard input does: with whoever started it."""
    log_format: LogFormat = LogFormat.AUTO
    log_level: LogLevel = LogLevel.INFO
    confine: Confinement = Confinement.AUTO
    """Which walls are to stand around the process."""
    memory_max: int | None = None
    """Bytes that the process may write to; None: as many as there are."""
    http_listen: Listen | None = field(default_factory=lambda: Listen(port=8080))
    """Where operators ask; None: nowhere."""
    access: Access = field(default_factory=Access)
    """Token and certificate of both ports."""
    http_access: HttpAccess = field(default_factory=HttpAccess)
    """To whom the HTTP port answers, and whether it has the API."""
    rpc: RpcLimits = field(default_factory=RpcLimits)
    http: HttpLimits = field(default_factory=HttpLimits)
    pool: PoolLimits = field(default_factory=PoolLimits)
    feed: FeedLimits = field(default_factory=FeedLimits)

    def __post_init__(self) -> None:
        """Check what one field cannot know of itself."""
        if self.pace_ms is not None and not 1 <= self.pace_ms <= PACE_MS_MAX:
            raise ConfigError("--pace is from 1ms to 1h")
        if self.memory_max is not None and self.memory_max < MEMORY_MAX_LEAST:
            raise ConfigError("--memory-max is at least 256MiB, or `off`")
        if self.keep_blocks is not None and self.keep_blocks < KEEP_BLOCKS_MIN:
            raise ConfigError(
                f"--keep-blocks is at least {KEEP_BLOCKS_MIN}, which can be taken back"
            )
        for listen in (self.grpc_listen, self.http_listen):
            if listen is not None and not 0 <= listen.port <= PORT_MAX:
                raise ConfigError(f"a port is from 0 to {PORT_MAX}")
        if self.ready_file is not None and _is_something_else(self.ready_file):
            raise ConfigError(
                f"--ready-file {self.ready_file} is a folder or a device: name a file"
            )


def _is_something_else(path: Path) -> bool:
    """Whether there is something, and no file that may be replaced."""
    try:
        return path.exists() and not path.is_file()
    except OSError:
        return False  # whoever writes it is told why it cannot be


# --- texts → values ------------------------------------------------------------------

_DURATION = re.compile(r"(\d{1,20})(?:\.(\d{1,3}))?\s*(ms|s|m|h|d)", re.ASCII)
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def parse_amount(text: str) -> Amount:
    """Base units of an amount as `amounts.parse_amount` reads it.

    Raises:
        ConfigError: it is none; the message says what to write.
    """
    try:
        return amounts.parse_amount(text)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def parse_duration_ms(text: str) -> int:
    """Milliseconds of `500ms`, `1s`, `1.5s`, `10m`, `2h` or `1d`.

    Raises:
        ConfigError: Something else, or not a whole number of milliseconds.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ConfigError(
            f"{text!r} is no duration: write `500ms`, `1.5s`, `10m`, `2h`, `1d`"
        )
    whole, decimals, unit = match.groups()
    thousandths = int(whole) * 1_000 + int((decimals or "").ljust(3, "0"))
    milliseconds, rest = divmod(thousandths * _UNIT_MS[unit], 1_000)
    if rest:
        raise ConfigError(f"{text!r} is not a whole number of milliseconds")
    return milliseconds


_SIZE = re.compile(r"(\d{1,9})\s*([KMGT])(?:iB)?", re.ASCII)
_UNIT_BYTES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_memory_max(text: str) -> int | None:
    """Bytes of `512MiB`, `4GiB` or `4G`; None of `off`.

    Raises:
        ConfigError: Something else, or less than a node can begin with.
    """
    if text.strip() == "off":
        return None
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"{text!r} is no size: write `512MiB`, `4GiB`, or `off`")
    size = int(match[1]) * _UNIT_BYTES[match[2]]
    if size < MEMORY_MAX_LEAST:
        raise ConfigError("--memory-max is at least 256MiB, or `off`")
    return size


def parse_listen(text: str) -> Listen:
    """Host and port of `127.0.0.1:50051`, `[::1]:0` or `localhost:0`.

    Raises:
        ConfigError: Something else.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    is_port = port.isascii() and port.isdecimal() and int(port) <= PORT_MAX
    if not colon or not host or not is_port:
        raise ConfigError(f"{text!r} is no address: write `HOST:PORT`; port 0 is any")
    return Listen(host, int(port))


def parse_access(chain: Path | None, key: Path | None, token: Path | None) -> Access:
    """Token and certificate from their files, where they are named.

    Raises:
        ConfigError: One cannot be used, or of certificate and key one is missing.
    """
    if (chain is None) != (key is None):
        raise ConfigError("--tls-cert and --tls-key go together: give both")
    try:
        pair = None if chain is None or key is None else read_certificate(chain, key)
        return Access(None if token is None else read_token(token), pair)
    except AccessError as error:
        raise ConfigError(str(error)) from error


_HOST = re.compile(
    r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|(?=.*:.*:)[0-9a-f:]{2,45}", re.ASCII
)
_ORIGIN = re.compile(r"https?://(\[[0-9a-f:]{2,45}\]|[a-z0-9.-]{1,253})(:\d{1,5})?")


def parse_http_access(
    access: Access, *, is_api_served: bool, hosts: str | None, origins: str | None
) -> HttpAccess:
    """To whom the HTTP port answers: names and origins, each list with commas.

    Raises:
        ConfigError: One of them is no name, or no origin.
    """
    names, places = _entries(hosts), _entries(origins)
    for name in names:
        if _HOST.fullmatch(name) is None:
            raise ConfigError(
                f"--http-hosts {name}: write names or addresses alone, as "
                "`devnet.example,node`: no port, no scheme, no wildcard"
            )
    for origin in places:
        if _ORIGIN.fullmatch(origin) is None:
            raise ConfigError(
                f"--http-origins {origin}: write `http://HOST:PORT` or "
                "`https://HOST`, without a path or a wildcard"
            )
    certificate = access.certificate
    tls = None if certificate is None else certificate.context
    return HttpAccess(is_api_served, names, places, tls)


def _entries(text: str | None) -> frozenset[str]:
    """What a list names, in lower case."""
    entries = (entry.strip().lower() for entry in (text or "").split(","))
    return frozenset(entry for entry in entries if entry)


# --- the genesis ---------------------------------------------------------------------


def genesis_folder() -> Path:
    """Where presets and example actors lie: in a wheel, or in the checkout."""
    package = Path(node.__file__).parent
    packaged = package / "_genesis"
    return packaged if packaged.is_dir() else package.parent / "genesis"


def load_genesis(source: str) -> Genesis:
    """The genesis of a preset's name or a file's path.

    Raises:
        ConfigError: There is no such thing, or it cannot start a chain.
    """
    path = genesis_folder() / f"{source}.json"
    if not source.isidentifier() or not path.is_file():
        path = Path(source)
        if not path.is_file():
            raise ConfigError(
                f"--genesis {source} is neither a preset ({', '.join(_presets())}) nor "
                "a file"
            )
    try:
        if path.stat().st_size > GENESIS_BYTES_MAX:
            raise ConfigError(f"{path} has more than {GENESIS_BYTES_MAX} bytes")
        return parse_genesis(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not JSON: {error}") from error
    except InvalidGenesis as error:
        raise ConfigError(f"{path} is not a genesis: {error}") from error


def _presets() -> list[str]:
    return sorted(path.stem for path in genesis_folder().glob("*.json"))
