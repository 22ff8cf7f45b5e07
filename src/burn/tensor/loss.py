"""Losses that are functions of tensors alone."""

from burn.ops.softmax import cross_entropy_with_logits

__all__ = ["cross_entropy_with_logits"]
