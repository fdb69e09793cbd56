"""The rules of the chain, as pure functions over a snapshot; begin at transition.py."""
