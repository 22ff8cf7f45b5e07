"""MNIST with a multilayer perceptron, metrics of all kinds, checkpoints and early stopping."""
