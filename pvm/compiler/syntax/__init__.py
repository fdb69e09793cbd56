"""Trees of syntax: how they are read, walked, built, and where their nodes stand."""
