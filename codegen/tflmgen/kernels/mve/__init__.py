"""Declarations of kernels for Helium, the vector extension of M52, M55 and M85, beside what packs their operands."""
