"""The composition root: the one place where the parts of the node meet.

`run` opens the store, starts the engine and the server, says that it serves, waits
for a signal, and takes everything down again, in an order that loses nothing: the
block in hand is finished and synced, streams end, the server closes, then the worker,
then the store.

Rules: every task has its owner in the one TaskGroup here. What the operator can put
right ends with a sentence and exit code 2; a defect ends with one line in the log and
exit code 1. A second signal exits at once.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

import uvloop
from msgspec import Struct
from msgspec.structs import replace

import pvm
from node.archive.opening import (
    DamagedChain,
    ForeignGenesis,
    Opened,
    open_chain,
    require_chain,
    whole_state,
)
from node.archive.verification import verify
from node.chain.consensus import CONSENSUS_NUMBER
from node.chain.transition import State
from node.config import ConfigError, Listen, NodeConfig
from node.http.metrics import Metrics
from node.http.server import HttpHandler, HttpPort, HttpSite, Probes
from node.http.server import cannot_listen as cannot_listen_for_http
from node.rpc.guard import CallWatch
from node.rpc.server import RpcServer, cannot_listen
from node.runtime.clock import Clock, SystemClock
from node.runtime.confinement.tripwire import stand_watch
from node.runtime.confinement.walls import (
    CannotConfine,
    Needs,
    Walls,
    confine,
    refuse_links,
)
from node.runtime.engine import Engine, EngineParts, EngineSettings
from node.runtime.log import NodeLog
from node.runtime.memory_exhaustion import (
    EXIT_MEMORY,
    Exhausted,
    end_process,
    find_note,
    leave_note,
)
from node.runtime.reads import on_worker
from node.runtime.settings import Confinement, MiningMode
from node.runtime.shared_store import SharedStore
from node.runtime.stats import NodeStats
from node.runtime.types import CannotListen, NodeStatus
from node.state.errors import (
    StoreError,
    StoreForeign,
    StoreLocked,
    StoreUnavailable,
    StoreUnwritable,
)
from node.state.store import Store, StoreSnapshot
from pvm import HostMemoryExhausted
from pvm.worker import Worker

__all__ = ["EXIT_DONE", "EXIT_INTERNAL", "EXIT_USAGE", "Ready", "run"]

EXIT_DONE = 0
EXIT_INTERNAL = 1
EXIT_USAGE = 2

_STANDARD_INPUT, _STDERR = 0, 2

_INPUT_BYTES = 4_096
"""Read at a time of what means nothing: only its end does."""

LATE_SECONDS = 0.5
"""After the node serves, until its log opens and the HTTP port answers: the first
callers are not kept waiting while their libraries are imported."""

_GARBAGE_THRESHOLD = 20_000
"""Container objects made and not freed before the interpreter looks for cycles: its
own 700 are those of a few transactions, which pay for each look."""

_SWITCH_SECONDS = 0.001
"""How long the executing thread keeps the interpreter when the event loop wants it.
Each call wants it several times: with Python's own 5 ms, one `GetStatus` in a hundred
took 30 to 45 ms while full blocks executed, with this one 9 to 13."""

_PUT_RIGHT_BY_OPERATOR = (
    CannotConfine,
    CannotListen,
    ConfigError,
    ForeignGenesis,
    StoreForeign,
    StoreLocked,
    StoreUnavailable,
    StoreUnwritable,
)


class Ready(Struct, frozen=True):
    """A node that serves, as it is when it begins to."""

    config: NodeConfig
    opened: Opened
    status: NodeStatus
    grpc_listen: Listen
    """Where the server listens: the port is the system's choice if 0 was asked for."""
    http_listen: Listen | None
    """Where operators ask; None if they cannot."""
    is_dev_served: bool
    """Whether anybody who may call may also mint, impersonate and reset."""
    walls: Walls
    """Which stand around the process."""
    held: Exhausted | None = None
    """Why it makes no block by itself, if so: there was no memory for one, twice."""

    def warnings(self) -> list[str]:
        """What whoever started it should know."""
        held = [] if self.held is None else [self.held.advice()]
        return [*self.walls.warnings(), *held]


def run(config: NodeConfig, announce: Callable[[Ready], None]) -> int:
    """Run a node until a signal ends it; the exit code.

    `announce` is called once, when the node serves; it may raise `ConfigError`.
    """
    _fill_standard_descriptors()
    clock = SystemClock()
    log = _make_log(config, clock)
    try:
        config = replace(config, genesis=config.genesis.read())
        _require_listenable(config)
        walls = _confine(config)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(config, walls, announce, clock, log))
    except BaseExceptionGroup as group:
        return _explain(_first_of(group), log)
    except (
        *_PUT_RIGHT_BY_OPERATOR,
        DamagedChain,
        StoreError,
        HostMemoryExhausted,
        MemoryError,
    ) as error:
        return _explain(error, log)
    finally:
        log.close()
    return EXIT_DONE


def _require_listenable(config: NodeConfig) -> None:
    """Refuse an address that is taken before a folder is made for nothing.

    Of a folder with a chain it is said by what listens there, after all that may be
    wrong with the folder.

    Raises:
        CannotListen: The address is taken, or not ours.
    """
    with suppress(OSError):
        if config.data_dir is None or any(config.data_dir.iterdir()):
            return
    if not _is_listenable(config.grpc_listen):
        raise cannot_listen(str(config.grpc_listen))
    http = config.http_listen
    if http is not None and not _is_listenable(http):
        raise cannot_listen_for_http(f"{http.host}:{http.port}")


def _is_listenable(listen: Listen) -> bool:
    """Whether nothing listens there yet; others refuse a name that is none."""
    try:
        addresses = socket.getaddrinfo(
            listen.host, listen.port, type=socket.SOCK_STREAM
        )
    except OSError:
        return True
    family, _, _, _, address = addresses[0]
    try:
        socket.create_server(address[:2], family=family).close()
    except OSError:
        return False
    return True


def _confine(config: NodeConfig) -> Walls:
    """Give up what the node does not need, before it has a second thread.

    Raises:
        CannotConfine: A wall is required that this machine does not have.
    """
    listens = [place for place in (config.grpc_listen, config.http_listen) if place]
    folders = [] if config.data_dir is None else [config.data_dir]
    for folder in folders:
        with suppress(OSError):  # whoever opens the store says what is wrong
            folder.mkdir(parents=True, exist_ok=True)
    walls = confine(
        Needs(
            folders=tuple(folders),
            replaced=() if config.ready_file is None else (config.ready_file,),
            ports=tuple(listen.port for listen in listens),
            memory_max=config.memory_max,
        ),
        config.confine,
    )
    if config.confine is not Confinement.OFF:
        stand_watch()
        walls = walls.with_wall("tripwire")
    return walls


def _fill_standard_descriptors() -> None:
    """Let no file of the store get a number to which libraries write messages."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        continue
    os.close(descriptor)


def _make_log(config: NodeConfig, clock: Clock) -> NodeLog:
    is_console = config.log_format == "console" or (
        config.log_format == "auto" and os.isatty(_STDERR)
    )
    log = NodeLog(
        clock, level=config.log_level, is_console=is_console, descriptor=_STDERR
    )
    logging.getLogger().addHandler(log.handler())
    return log


def _first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _explain(error: BaseException, log: NodeLog) -> int:
    """Say why the node ends, after the lines that led to it; the exit code."""
    if isinstance(error, _PUT_RIGHT_BY_OPERATOR):
        log.sentence(f"cowboy-devnet: {error}")
        return EXIT_USAGE
    if isinstance(error, HostMemoryExhausted | MemoryError):
        for_what = f" for {error}" if str(error) else ""
        log.sentence(
            f"cowboy-devnet: there is no memory left{for_what}: give it a larger "
            "--memory-max"
        )
        return EXIT_MEMORY
    if isinstance(error, StoreError | DamagedChain):
        log.sentence(f"cowboy-devnet: {error}")
        return EXIT_INTERNAL
    lines = traceback.format_exception(error)
    log.error("node_failed", error=repr(error), traceback="".join(lines))
    return EXIT_INTERNAL


async def _serve(
    config: NodeConfig,
    walls: Walls,
    announce: Callable[[Ready], None],
    clock: Clock,
    log: NodeLog,
) -> None:
    stop = _stop_on_request(config)
    with ExitStack() as parts:
        inspection = _Inspection(config, clock, log)
        store = await _open_store(config, walls, inspection)
        parts.callback(store.close)
        _forget(config.ready_file)  # of a node that was killed: the folder is ours
        worker = parts.enter_context(Worker())
        opened = await on_worker(
            worker, partial(open_chain, store, config.genesis.wanted)
        )
        await on_worker(worker, partial(inspection.complete, opened))
        config, held = _hold(config, opened.state)
        stats = NodeStats()
        on_exhausted = partial(_end_exhausted, config, log)
        used = store, worker, clock, log, stats, on_exhausted
        engine = _make_engine(config, walls, opened, EngineParts(*used))
        is_dev = opened.genesis.params.dev and config.is_dev_served
        server = _make_server(engine, config, CallWatch(stats, clock), is_dev=is_dev)
        metrics = Metrics(engine, stats, clock, partial(_size_of, config.data_dir))
        alive = asyncio.Event()
        probes = replace(
            _probes(engine, server, metrics, alive), note_answer=stats.note_http
        )
        port = _make_port(config, probes, server)
        try:
            http_listen = _bind(port, config.http_listen)
            number = await server.start(str(config.grpc_listen))
            listens = replace(config.grpc_listen, port=number), http_listen
            ready = Ready(config, opened, engine.status, *listens, is_dev, walls, held)
            async with asyncio.TaskGroup() as tasks:
                engine_task = tasks.create_task(_run(engine, alive), name="engine")
                late = _serve_late(worker, log, port, http_listen)
                helpers = [
                    tasks.create_task(_stop_when(stop, engine), name="stop"),
                    tasks.create_task(late, name="late"),
                    tasks.create_task(server.keep(partial(_tell, log)), name="server"),
                ]
                await server.announce()
                announce(ready)
                _tune_interpreter()
                _log_start(ready, log)
                await engine_task
                for helper in helpers:
                    helper.cancel()
        finally:
            await server.stop()  # a server that is left alone keeps the process
            await port.close()
        log.info("node_stopped", height=engine.state.head.height)


def _tune_interpreter() -> None:
    """Let calls be answered while a block executes, and few collections be made.

    None looks at what was imported, which lives as long as the node.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.freeze()
    gc.set_threshold(_GARBAGE_THRESHOLD)


def _hold(config: NodeConfig, state: State) -> tuple[NodeConfig, Exhausted | None]:
    """How to run, and why it makes no block by itself, if so."""
    folder, held = config.data_dir, None
    if folder is not None:
        held = find_note(folder, state.head.height, config.memory_max)
    if held is not None:
        config = replace(config, mining=MiningMode.MANUAL, is_auto_timers=False)
    return config, held


def _end_exhausted(config: NodeConfig, log: NodeLog, exhausted: Exhausted) -> NoReturn:
    """A block found no memory: say what it executed, and end; called on the worker."""
    exhausted = replace(exhausted, memory_max=config.memory_max)
    if exhausted.is_in_state and config.data_dir is not None:
        exhausted = leave_note(config.data_dir, exhausted)
    log.error(
        "memory_exhausted",
        height=exhausted.height,
        kind=exhausted.kind,
        actor=exhausted.actor,
        id=exhausted.id,
        memory_max=exhausted.memory_max,
        times=exhausted.times,
    )
    with suppress(ConfigError):
        _forget(config.ready_file)
    log.close()
    end_process()


class _Inspection:
    """What is looked at in a folder before LevelDB may change its files."""

    def __init__(self, config: NodeConfig, clock: Clock, log: NodeLog) -> None:
        self._config = config
        self._clock = clock
        self._log = log
        self.is_verified = False
        """Whether all of it was, as it is."""

    def inspect(self, snapshot: StoreSnapshot) -> None:
        """Refuse what the node cannot go on with; on the worker if all is verified."""
        require_chain(snapshot, self._config.genesis.wanted)
        state = whole_state(snapshot) if self._config.is_verified else None
        if state is not None:
            self.verify(state)

    def complete(self, opened: Opened) -> None:
        """Say what was added to the folder, and verify what could not be before.

        On the worker; verified is only if all is to be.
        """
        if opened.totals_made:
            self._log.info("totals_made", blocks=opened.totals_made)
        if self._config.is_verified and not self.is_verified:
            self.verify(opened.state)

    def verify(self, state: State) -> None:
        """Recompute the chain of a state, and say so; on the worker."""
        began = self._clock.monotonic()
        verified = verify(state)
        self.is_verified = True
        self._log.info(
            "chain_verified",
            height=state.head.height,
            blocks=verified.blocks,
            transactions=verified.transactions,
            accounts=verified.accounts,
            timers=verified.timers,
            seconds=round(self._clock.monotonic() - began, 3),
        )


def _forget(ready_file: Path | None) -> None:
    if ready_file is None:
        return
    try:
        ready_file.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"--ready-file {ready_file}: {error.strerror}") from error


async def _open_store(
    config: NodeConfig, walls: Walls, inspection: _Inspection
) -> Store:
    folder = config.data_dir
    if folder is None:
        refuse_links(walls)
        return SharedStore()
    from node.state.leveldb import LevelStore  # noqa: PLC0415 - needs LevelDB

    if config.is_verified:  # it may take minutes, in which a second signal is heard
        with Worker() as opener:
            store = await on_worker(
                opener, lambda: LevelStore(folder, inspect=inspection.inspect)
            )
    else:
        store = LevelStore(folder, inspect=inspection.inspect)
    refuse_links(walls)  # its trial, which is over, lays some
    return store


def _make_engine(
    config: NodeConfig, walls: Walls, opened: Opened, parts: EngineParts
) -> Engine:
    interval_ms = opened.genesis.params.block_interval_ms
    settings = EngineSettings(
        mode=config.mining,
        pace_ms=interval_ms if config.pace_ms is None else config.pace_ms,
        is_dev_admitted=config.is_dev_served,
        is_auto_timers=config.is_auto_timers,
        keep_blocks=config.keep_blocks,
        pool=config.pool,
        feed=config.feed,
        walls=walls.standing,
        folder=config.data_dir,
    )
    return Engine(parts, opened.genesis, opened.state, settings)


def _make_server(
    engine: Engine, config: NodeConfig, watch: CallWatch, *, is_dev: bool
) -> RpcServer:
    access = config.access
    return RpcServer(engine, config.rpc, is_dev=is_dev, access=access, watch=watch)


def _bind(port: HttpPort, listen: Listen | None) -> Listen | None:
    """Where the HTTP port listens, if one is wanted."""
    if listen is None:
        return None
    return replace(listen, port=port.bind(listen.host, listen.port))


async def _run(engine: Engine, alive: asyncio.Event) -> None:
    alive.set()
    try:
        await engine.run()
    finally:
        alive.clear()


def _probes(
    engine: Engine, server: RpcServer, metrics: Metrics, alive: asyncio.Event
) -> Probes:
    return Probes(
        is_alive=alive.is_set,
        is_ready=lambda: server.is_announced and not engine.is_stopping,
        height=lambda: engine.state.head.height,
        metrics=metrics.render,
    )


def _make_port(config: NodeConfig, probes: Probes, server: RpcServer) -> HttpPort:
    """The HTTP port, with the API and the page unless the operator wants neither."""
    access = config.http_access
    if not access.is_api_served:
        return HttpPort(probes, config.http, HttpSite(access=access))

    def load() -> tuple[HttpHandler, ...]:
        # Imported late: see `LATE_SECONDS`.
        from node.explorer.page_files import PageFiles  # noqa: PLC0415
        from node.http.static_answer import handler_of  # noqa: PLC0415
        from node.rpc.connect.endpoint import ConnectEndpoint  # noqa: PLC0415

        endpoint = ConnectEndpoint(server.services, server.answers, config.rpc)
        return endpoint.answer, handler_of(PageFiles().answer)

    return HttpPort(probes, config.http, HttpSite(load, access))


def _size_of(data_dir: Path | None) -> int:
    """Bytes of the files in a folder; a file may go while it is looked at."""
    total = 0
    with suppress(OSError), os.scandir(data_dir or os.devnull) as entries:
        for entry in entries:
            with suppress(OSError):
                total += entry.stat().st_size
    return total


async def _serve_late(
    worker: Worker, log: NodeLog, port: HttpPort, listen: Listen | None
) -> None:
    """What may begin when the first callers were answered."""
    await asyncio.sleep(LATE_SECONDS)
    await on_worker(worker, lambda: (pvm.execute, pvm.compile_actor))
    log.open()
    if listen is not None:
        await port.serve()


def _tell(log: NodeLog, error: BaseException) -> None:
    log.warning("grpc_restarted", error=repr(error))


async def _stop_when(stop: asyncio.Event, engine: Engine) -> None:
    await stop.wait()
    engine.stop()


def _log_start(ready: Ready, log: NodeLog) -> None:
    genesis, state = ready.opened.genesis, ready.opened.state
    log.info(
        "node_serves",
        grpc=str(ready.grpc_listen),
        http=None if ready.http_listen is None else str(ready.http_listen),
        chain=genesis.name,
        chain_id=genesis.params.chain_id,
        height=state.head.height,
        is_fresh=ready.opened.is_fresh,
        walls=list(ready.walls.standing),
    )
    if ready.opened.consensus != CONSENSUS_NUMBER:
        log.warning(
            "chain_only_read", consensus=ready.opened.consensus, own=CONSENSUS_NUMBER
        )
    for warning in ready.warnings():
        log.warning("beware", text=warning)


def _stop_on_request(config: NodeConfig) -> asyncio.Event:
    """What is set by a signal, or by the end of standard input if that is wanted."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)  # what was acknowledged is on disk already
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    if config.is_ended_by_input:
        _stop_at_end_of_input(stop)
    return stop


def _stop_at_end_of_input(stop: asyncio.Event) -> None:
    """Stop when nobody can write to standard input any more.

    The kernel closes a pipe with the process that has its other end, however that one
    ended, and on every platform.
    """
    loop = asyncio.get_running_loop()

    def on_readable() -> None:
        try:
            is_open = bool(os.read(_STANDARD_INPUT, _INPUT_BYTES))
        except OSError:  # of a terminal that is gone
            is_open = False
        if not is_open:
            loop.remove_reader(_STANDARD_INPUT)
            stop.set()

    try:
        loop.add_reader(_STANDARD_INPUT, on_readable)
    except OSError as error:
        raise ConfigError(
            "--end-with-stdin: standard input is no pipe and no terminal, so its end "
            "says nothing"
        ) from error
