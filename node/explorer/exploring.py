"""The page on a chain that lies in a bundle or a folder, without a node.

A bundle is executed first, into an empty store, and must be what it says; a folder is
read as it is, and locked, so that no node takes it meanwhile. Then the HTTP port serves
the page and the API, but for what would change the chain.

Rules: nothing is written but into the store that a bundle is executed into.
"""

import asyncio
import signal
from collections.abc import Callable, Sequence
from functools import partial

from node.archive.bundle import Bundle
from node.archive.folder import Folder
from node.archive.opening import require_chain, resume_state
from node.explorer.resting_chain import RestingChain
from node.http.metrics import Metrics
from node.http.server import HttpHandler, HttpPort, HttpSite, Probes
from node.rpc.answers import Answers
from node.rpc.guard import CallWatch, Guard
from node.rpc.limits import RpcLimits
from node.rpc.services import make_services
from node.runtime.bundle_import import ImportProgress
from node.runtime.clock import SystemClock
from node.runtime.reads import on_worker
from node.runtime.stats import NodeStats
from node.state.store import Store
from pvm.worker import Worker

__all__ = ["of_bundle", "of_folder", "serve_page"]

DEV_SERVICE = "cowboy.devnet.v1.DevService"


async def of_bundle(
    bundle: Bundle, store: Store, worker: Worker, walls: tuple[str, ...]
) -> RestingChain:
    """The chain of a bundle, executed into an empty store.

    Raises:
        BundleRefused: It is of another consensus, or not what executing it gives.
        NoMemory: There was none for one of its blocks.
    """
    progress = ImportProgress(store, bundle.genesis, bundle, None)
    imported = await progress.run(worker, 0, lambda: False)
    if imported.refusal is not None:
        raise imported.refusal
    return RestingChain(worker, bundle.genesis, imported.rewound.state, walls)


async def of_folder(
    folder: Folder, worker: Worker, walls: tuple[str, ...]
) -> RestingChain:
    """The chain of a folder, as a node would take it up.

    Raises:
        DamagedChain: A node would not.
    """
    snapshot, genesis = folder.snapshot, folder.genesis
    await on_worker(worker, partial(require_chain, snapshot, lambda _held: genesis))
    resume = partial(resume_state, genesis.params, folder.head, snapshot)
    return RestingChain(worker, genesis, await on_worker(worker, resume), walls)


async def serve_page(
    chain: RestingChain,
    shown: str,
    address: tuple[str, int],
    announce: Callable[[str], None],
) -> None:
    """Serve the page of a chain, named `shown`, until a signal ends it.

    `announce` is called once, with the page's URL, when it is served.

    Raises:
        CannotListen: The address is taken, or not ours.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    answers = Answers(RpcLimits())
    port = _make_port(chain, shown, answers)
    host, _ = address
    try:
        number = port.bind(*address)
        await port.serve()
        place = f"[{host}]" if ":" in host else host
        announce(f"http://{place}:{number}/")
        await stop.wait()
    finally:
        chain.stop()
        await port.close()
        answers.close()


def _make_port(chain: RestingChain, shown: str, answers: Answers) -> HttpPort:
    stats, clock, limits = NodeStats(), SystemClock(), RpcLimits()
    guard = Guard(None, limits, CallWatch(stats, clock), answers.room)
    made = make_services(
        chain, limits, answers, is_dev=chain.state.params.dev
    )  # what only a development chain tells, it tells here, too
    services = {
        name: guard.watched(handler)
        for name, handler in made.items()
        if name != DEV_SERVICE
    }

    def load() -> Sequence[HttpHandler]:
        # Imported on a thread, for the library takes its time.
        from node.explorer.page_files import PageFiles  # noqa: PLC0415
        from node.http.static_answer import handler_of  # noqa: PLC0415
        from node.rpc.connect.endpoint import ConnectEndpoint  # noqa: PLC0415

        page = handler_of(PageFiles(shown=shown).answer)
        return ConnectEndpoint(services, answers, limits).answer, page

    probes = Probes(
        is_alive=lambda: True,
        is_ready=lambda: True,
        height=lambda: chain.state.head.height,
        metrics=Metrics(chain, stats, clock, lambda: 0).render,
        note_answer=stats.note_http,
    )
    return HttpPort(probes, site=HttpSite(load))
