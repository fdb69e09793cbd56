"""The rules of the chain, pure functions over a snapshot; read transition.py first."""
