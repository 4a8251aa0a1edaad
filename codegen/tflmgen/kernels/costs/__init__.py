"""Estimated cycles of kernels, by shape and core: named terms, and their coefficients as data (cycles.json)."""
