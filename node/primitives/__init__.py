"""Bytes and numbers: the types, hashes, signatures and trees that all else rests on."""
