"""Servers that `benches.serving` compares with, each as its own documentation shows it, and the models they serve."""
