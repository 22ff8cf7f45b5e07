"""A fused operation of your own: default body, a kernel for one backend, its own backward rules."""
