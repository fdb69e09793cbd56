"""What the chain remembers: keys, stores, the journal and the commitment to it all."""
