"""Declarations of kernels for the DSP extension (M4, M7, M33 and their relatives), beside what packs their operands."""
