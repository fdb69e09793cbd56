"""Priced methods of native types, by name."""
