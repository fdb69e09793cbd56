"""What only a chain in this process says no with; all else is in `client.failures`."""

from node.client.exceptions import ChainClosed


class DevnetClosed(ChainClosed):
    """The chain was closed; make a new one."""


class SnapshotGone(RuntimeError):  # noqa: N818 - names what is refused
    """The chain returned to a height before the snapshot, which is void now."""
