"""Transformers: encoder, decoder, and the feed-forward part of both."""

from burn.nn.transformer.decoder import (
    TransformerDecoder,
    TransformerDecoderAutoregressiveCache,
    TransformerDecoderConfig,
    TransformerDecoderInput,
    TransformerDecoderLayer,
    TransformerDecoderLayerAutoregressiveCache,
)
from burn.nn.transformer.encoder import (
    TransformerEncoder,
    TransformerEncoderAutoregressiveCache,
    TransformerEncoderConfig,
    TransformerEncoderInput,
    TransformerEncoderLayer,
    TransformerEncoderLayerAutoregressiveCache,
)
from burn.nn.transformer.feed_forward import PositionWiseFeedForward, PositionWiseFeedForwardConfig

__all__ = [
    "PositionWiseFeedForward", "PositionWiseFeedForwardConfig",
    "TransformerDecoder", "TransformerDecoderAutoregressiveCache", "TransformerDecoderConfig",
    "TransformerDecoderInput", "TransformerDecoderLayer", "TransformerDecoderLayerAutoregressiveCache",
    "TransformerEncoder", "TransformerEncoderAutoregressiveCache", "TransformerEncoderConfig",
    "TransformerEncoderInput", "TransformerEncoderLayer", "TransformerEncoderLayerAutoregressiveCache",
]  # fmt: skip
