"""What the configs of encoder and decoder have in common."""

from __future__ import annotations

from typing import Any

from burn.device import Device
from burn.errors import ArgumentError
from burn.module.display import Content
from burn.nn.attention import MultiHeadAttention, MultiHeadAttentionConfig
from burn.nn.attention.multi_head import attention_faults
from burn.nn.checks import refuse, too_small
from burn.nn.norm import LayerNorm, LayerNormConfig
from burn.nn.transformer.feed_forward import PositionWiseFeedForward, PositionWiseFeedForwardConfig


def check(config: Any) -> None:
    """Refuse sizes and probabilities that cannot be, all at once."""
    faults = attention_faults(config.d_model, config.n_heads, config.dropout)
    faults += too_small(1, d_ff=config.d_ff) + too_small(0, n_layers=config.n_layers)
    if config.layer_norm_eps < 0.0:
        faults.append(f"layer_norm_eps must be 0 or more, got {config.layer_norm_eps}")
    refuse(config, faults)


def refuse_other(layer: type, config: Any, wanted: type) -> None:
    """Raise for a layer that is made from anything but the config of its stack."""
    if not isinstance(config, wanted):
        stack = wanted.__name__.removesuffix("Config")
        raise ArgumentError(
            f"{layer.__name__}: needs a {wanted.__name__}, got {config!r}; a stack makes its layers: "
            f"nn.{stack}(d_model, d_ff, n_heads, n_layers)"
        )


def new_attention(config: Any, device: Device | None) -> MultiHeadAttention:
    """The attention that a config describes."""
    return MultiHeadAttentionConfig(
        config.d_model,
        config.n_heads,
        config.dropout,
        quiet_softmax=config.quiet_softmax,
        initializer=config.initializer,
    ).init(device)


def new_feed_forward(config: Any, device: Device | None) -> PositionWiseFeedForward:
    """The feed-forward part that a config describes."""
    return PositionWiseFeedForwardConfig(
        config.d_model, config.d_ff, config.dropout, config.initializer, config.activation
    ).init(device)


def new_norm(config: Any, device: Device | None) -> LayerNorm:
    """A layer norm that a config describes."""
    return LayerNormConfig(config.d_model, config.layer_norm_eps).init(device)


def show(content: Content, stack: Any) -> Content:
    """The settings of a stack of layers."""
    for name in ("d_model", "d_ff", "n_heads", "n_layers", "dropout", "norm_first", "quiet_softmax"):
        content.add(name, getattr(stack, name))
    return content
