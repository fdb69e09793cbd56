"""Clients for programs with an event loop: the source of `node.client._sync`."""
