"""Costs: what lines and call stacks cost, counted while blocks execute again."""
