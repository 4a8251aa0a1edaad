"""Kernels for every Cortex-M, of Armv6-M's instructions."""
