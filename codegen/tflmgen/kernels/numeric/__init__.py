"""Build-time arithmetic of quantisation, windows and weights, common to operators and kernels."""
