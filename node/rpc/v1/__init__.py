"""Generated from proto/node/rpc/v1 by scripts/genproto.py; never edited."""
