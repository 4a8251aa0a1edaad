"""C of kernels, runtime and platforms that goes into every project."""
