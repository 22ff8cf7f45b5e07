"""Random programs over tensors, compared between our engine, unfused or captured or not, and NumPy."""
