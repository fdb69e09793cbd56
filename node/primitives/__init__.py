"""Bytes and numbers: types, codec, hashes, signatures, the Merkle tree."""
