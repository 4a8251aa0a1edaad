"""Definitions of operators with numpy, and what else the interpreters know of them."""
