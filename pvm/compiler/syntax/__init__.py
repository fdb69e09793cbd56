"""Syntax trees: reading, walking, building them; where their nodes stand."""
