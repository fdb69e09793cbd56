"""RpcLimits: what bounds the server, composed in the node's config.

Rules: this module imports nothing, so that a config costs no gRPC.
"""

from msgspec import Struct

__all__ = ["RpcLimits"]


class RpcLimits(Struct, frozen=True):
    """What bounds the server; sizes in bytes, times in milliseconds."""

    request_bytes_max: int = 2 << 20
    """A transaction of 1.2 MB, and room."""
    response_bytes_max: int = 64 << 20
    """A full block's content; only GetBlock and streams come near."""
    receiving_bytes_max: int = 64 << 20
    """Of requests over HTTP that are not whole yet, from all callers."""
    receiving_ms_max: int = 20_000
    """Until one that is not whole is refused: before its connection is cut off."""
    bundle_bytes_max: int = 1 << 30
    """Of a bundle that is imported; it is kept in a temporary file meanwhile."""
    imports_max: int = 2
    """Bundles that are received at a time."""
    calls_max: int = 4_096
    """Calls in progress, streams included; more are refused at once."""
    streams_per_connection_max: int = 1_024
    unread_bytes_max: int = 64 << 20
    """Of large answers that were made and nobody has read, to all callers."""
    unread_bytes_connection_max: int = 16 << 20
    """Of these, to one connection."""
    room_wait_ms: int = 15_000
    """Until a caller is refused whose answer finds no room beside these."""
    unread_ms_max: int = 10_000
    """Until a connection is closed that reads nothing while others wait for room."""
    json_bytes_max: int = 8 << 20
    """Of an answer's protobuf that is converted to JSON: it takes twenty times as much
    memory meanwhile, one answer at a time."""
    stalled_ms_max: int = 80_000
    """Until a caller over HTTP is let go who takes nothing of what is sent: as long as
    gRPC waits for one who does not answer a ping."""
    health_watchers_max: int = 64
    """Callers that watch the node's health; one more is refused."""
    keepalive_ms: int = 60_000
    """Between pings to a silent client."""
    keepalive_timeout_ms: int = 20_000
    """Until a client that does not answer a ping is given up."""
    ping_interval_ms_min: int = 5_000
    """Clients that ping more often are disconnected."""
    call_ms_max: int = 300_000
    """Of a call with one answer whose client gave no deadline."""
    stop_grace_ms: int = 500
    """Until calls that are still open when the node stops are cut off: it has two
    seconds, and those that wait for something were told already."""

    def options(self) -> list[tuple[str, int]]:
        """As gRPC names them."""
        return [
            ("grpc.max_receive_message_length", self.request_bytes_max),
            ("grpc.max_send_message_length", self.response_bytes_max),
            ("grpc.max_concurrent_streams", self.streams_per_connection_max),
            ("grpc.keepalive_time_ms", self.keepalive_ms),
            ("grpc.keepalive_timeout_ms", self.keepalive_timeout_ms),
            (
                "grpc.http2.min_recv_ping_interval_without_data_ms",
                self.ping_interval_ms_min,
            ),
            # Two nodes on one port would share its calls; the second must fail.
            ("grpc.so_reuseport", 0),
        ]
