"""Losses that are functions of tensors alone."""

from burn.ops.likelihood import negative_log_likelihood, softmax_cross_entropy
from burn.ops.losses import cross_entropy
from burn.ops.softmax import cross_entropy_with_logits

__all__ = ["cross_entropy", "cross_entropy_with_logits", "negative_log_likelihood", "softmax_cross_entropy"]
