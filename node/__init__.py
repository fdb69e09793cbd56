"""A local devnet node for Cowboy: the chain, its engine, its API and its tools."""

__version__ = "0.1.0"
