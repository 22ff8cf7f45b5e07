"""Random networks, compared with PyTorch in f64."""
