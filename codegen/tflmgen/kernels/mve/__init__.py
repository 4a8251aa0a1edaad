"""Kernels for Helium, the M-profile vector extension: M52, M55, M85."""
