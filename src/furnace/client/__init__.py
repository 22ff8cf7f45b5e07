"""Clients: sync and async, with binary tensors."""
