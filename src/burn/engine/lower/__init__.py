"""From scheduled nodes to kernels of the kernel language, whatever compiles them."""
