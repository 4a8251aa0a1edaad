"""Declarations of kernels for RISC-V cores with multiplications, beside what packs their operands."""
