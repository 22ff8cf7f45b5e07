"""Attention: each position asks, and takes a weighted mean of what the others answer."""

from burn.nn.attention.cross import CrossAttention, CrossAttentionCache, CrossAttentionConfig
from burn.nn.attention.mask import (
    GeneratePaddingMask,
    SeqLengthOption,
    generate_autoregressive_mask,
    generate_padding_mask,
)
from burn.nn.attention.multi_head import MhaCache, MhaInput, MhaOutput, MultiHeadAttention, MultiHeadAttentionConfig

__all__ = [
    "CrossAttention", "CrossAttentionCache", "CrossAttentionConfig",
    "GeneratePaddingMask",
    "MhaCache", "MhaInput", "MhaOutput", "MultiHeadAttention", "MultiHeadAttentionConfig",
    "SeqLengthOption",
    "generate_autoregressive_mask", "generate_padding_mask",
]  # fmt: skip
