"""What the chain remembers: keys, stores, the journal, the state root."""
