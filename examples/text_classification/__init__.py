"""Texts and their classes: a transformer that learns to tell them apart."""
