"""The CPU engine: compiled kernels, library calls and the plans that run them."""
