"""Declarations of kernels for every Cortex-M, of Armv6-M's instructions, beside what packs their operands."""
