"""Priced methods of native types, by their names."""
