"""Which kernels and plans a change of the engine changes."""
