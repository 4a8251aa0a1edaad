"""Arithmetic of quantisation, windows and weights that operators and kernels share, done at build time."""
