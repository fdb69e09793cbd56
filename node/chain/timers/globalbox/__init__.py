"""The rules `globalbox`: fires queued across blocks, watches of state, their lane."""
