"""Coverage of a chain in a file: its blocks are executed again, and watched."""

from collections.abc import Callable

from node.archive.bundle import Bundle, replay_of
from node.archive.replay import begin, into
from node.coverage.watcher import CoverageWatcher
from node.state.store import Store

__all__ = ["cover_bundle"]


def cover_bundle(
    bundle: Bundle,
    store: Store,
    watcher: CoverageWatcher,
    heights: range,
    show: Callable[[int], object] = lambda _: None,
) -> None:
    """Execute a bundle's blocks as far as wanted, and watch those of some heights.

    What comes before is executed, too: a block needs the state before it.

    Args:
        bundle: the chain.
        store: an empty one, for its state.
        watcher: gathers what ran.
        heights: those that are watched; what is above them is left out.
        show: is told how far it came, in heights.

    Raises:
        BundleRefused: it was executed under another consensus number.
        Differs: a block is not what executing it gives.
    """
    replay = replay_of(bundle, into(store), begin(bundle.genesis, store))
    is_watched = False
    last = min(heights.stop - 1, bundle.head.height)
    while (height := replay.done.height) < last:
        if not is_watched and height + 1 >= heights.start:
            replay.state, is_watched = watcher.watching(replay.state), True
        replay.step(1)
        show(height)
