"""The gRPC services: decode, ask the running node, encode."""
