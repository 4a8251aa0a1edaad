"""Operators evaluated at compile time, bit for bit as their kernels."""
