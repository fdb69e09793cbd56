"""Chains in folders, bundles and state files: opening, replay, verification, import.

`opening`, `chain_store` and `pruning` make the store of a node, `verification`
recomputes it, and a command reaches it through `folder`. `bundle` and `state_file` are
the two kinds of file; `replay` executes again what a store or a bundle holds, and
`upgrade_rehearsal` does with other code. Nothing here knows of a running node.
"""
