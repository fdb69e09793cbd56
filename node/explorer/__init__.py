"""The page: what a browser shows of a chain, and what serves it without a node."""
