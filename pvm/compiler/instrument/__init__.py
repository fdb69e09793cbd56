"""Charges at the head of each block, guards where work depends on operands."""
