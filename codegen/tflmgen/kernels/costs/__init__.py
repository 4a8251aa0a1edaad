"""What kernels take, by shape and core."""
