"""The operations of `Tensor`, family by family: each class lists rows under their public names."""
