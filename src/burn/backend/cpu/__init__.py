"""The CPU engine: compiled kernels and the plans that run them."""
