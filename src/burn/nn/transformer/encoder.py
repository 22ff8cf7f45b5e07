"""The transformer encoder: layers in which a sequence attends to itself, then each position for itself.

The norms come after the sums of residuals or, with `norm_first`, before what is added. Their roles are
those of Burn, whose records have the same names: `norm_1` stands behind the attention and `norm_2` behind
the feed-forward part, but with `norm_first` it is `norm_2` before the attention and `norm_1` before the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, overload

from burn.classes import dataclass
from burn.config import Config
from burn.device import Device
from burn.errors import ArgumentError
from burn.guesses import called_with
from burn.module import Module
from burn.module.display import Content
from burn.nn.activation import ActivationConfig
from burn.nn.attention import MhaCache, MhaInput, MultiHeadAttention
from burn.nn.cache import TensorCache
from burn.nn.dropout import Dropout
from burn.nn.initializer import DEFAULT, Initializer
from burn.nn.norm import LayerNorm
from burn.nn.transformer.feed_forward import PositionWiseFeedForward
from burn.nn.transformer.settings import check, new_attention, new_feed_forward, new_norm, refuse_other, show
from burn.tensor import Tensor

Mask = Tensor | None


class TransformerEncoderConfig(Config):
    """Settings of `TransformerEncoder`; `init(device=None)` makes it.

    Arguments:
        d_model: the number of features.
        d_ff: features between the two linear layers.
        n_heads: heads of attention.
        n_layers: how many layers.
        dropout: 0.1.
        norm_first: whether norms come before the parts; False.
        quiet_softmax: whether a query may attend to nothing; False.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.
        activation: between the two linear layers; Gelu.
        layer_norm_eps: added to variances, 1e-5.

    >>> layer = nn.TransformerEncoderConfig(8, 16, 2, 1).init()
    """

    d_model: int
    d_ff: int
    n_heads: int
    n_layers: int
    dropout: float = 0.1
    norm_first: bool = False
    quiet_softmax: bool = False
    initializer: Initializer = DEFAULT
    activation: ActivationConfig = ActivationConfig.Gelu
    layer_norm_eps: float = 1e-5

    def init(self, device: Device | None = None) -> TransformerEncoder:
        """A module whose parameters are drawn when they are first used."""
        check(self)
        layers = [TransformerEncoderLayer(self, device) for _ in range(self.n_layers)]
        return TransformerEncoder._from_fields(
            layers, self.d_model, self.d_ff, self.n_heads, self.n_layers, self.dropout, self.norm_first,
            self.quiet_softmax,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class TransformerEncoderInput:
    """A sequence (`tensor`: batch, length, d_model) and its masks, `pad` and `attn`, which hide where they are true.

    >>> encoder = nn.TransformerEncoder(8, 16, 2, 1)
    >>> mask = burn.tensor([[False, False, True]])
    >>> encoder(nn.TransformerEncoderInput(Tensor.ones([1, 3, 8])).mask_pad(mask)).shape
    Shape([1, 3, 8])
    """

    tensor: Tensor
    pad: Tensor | None = None
    attn: Tensor | None = None

    def mask_pad(self, mask: Tensor) -> TransformerEncoderInput:
        """Hide positions that are padding: `mask` is of bools (batch, length), true hides."""
        return replace(self, pad=mask)

    def mask_attn(self, mask: Tensor) -> TransformerEncoderInput:
        """Hide positions from others: `mask` is of bools (batch, length, length), true hides."""
        return replace(self, attn=mask)


class TransformerEncoder(Module, config=TransformerEncoderConfig):
    """Layers of self-attention and feed-forward parts, one after the other.

    `torch.nn.TransformerEncoder`. (batch, length, d_model) to the same shape; `mask_pad` (batch, length) and
    `mask_attn` (batch, length, length) hide where they are true.

    Arguments:
        d_model: the number of features.
        d_ff: features between the two linear layers.
        n_heads: heads of attention.
        n_layers: how many layers.
        dropout: 0.1.
        norm_first: whether norms come before the parts; False.
        quiet_softmax: whether a query may attend to nothing; False.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.
        activation: between the two linear layers; Gelu.
        layer_norm_eps: added to variances, 1e-5.

    >>> encoder = nn.TransformerEncoder(8, 16, n_heads=2, n_layers=1)
    >>> encoder(Tensor.ones([2, 5, 8])).shape
    Shape([2, 5, 8])
    """

    layers: list[TransformerEncoderLayer]
    d_model: int
    d_ff: int
    n_heads: int
    n_layers: int
    dropout: float
    norm_first: bool
    quiet_softmax: bool

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            d_model: int,
            d_ff: int,
            n_heads: int,
            n_layers: int,
            dropout: float = 0.1,
            norm_first: bool = False,
            quiet_softmax: bool = False,
            initializer: Initializer | str = ...,
            activation: ActivationConfig | str = ...,
            layer_norm_eps: float = 1e-05,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            layers: list[TransformerEncoderLayer],
            d_model: int,
            d_ff: int,
            n_heads: int,
            n_layers: int,
            dropout: float,
            norm_first: bool,
            quiet_softmax: bool,
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, input: TransformerEncoderInput | Tensor, mask_pad: Mask = None, mask_attn: Mask = None) -> Tensor:
        """(batch, length, d_model) to the same shape.

        The input is a `TransformerEncoderInput`, or its parts: a tensor, `mask_pad` (batch, length) and `mask_attn`
        (batch, length, length), which hide where they are true.
        """
        if isinstance(input, Tensor):
            input = TransformerEncoderInput(input, mask_pad, mask_attn)
        elif not isinstance(input, TransformerEncoderInput):
            raise ArgumentError(
                f"TransformerEncoder: needs a tensor or a TransformerEncoderInput, got {type(input).__name__}"
            )
        elif mask_pad is not None or mask_attn is not None:
            raise ArgumentError("TransformerEncoder: a TransformerEncoderInput holds its masks; give them there")
        x = input.tensor
        for layer in self.layers:
            x = layer.forward(x, input.pad, input.attn)
        return x

    def forward_autoregressive_inference(
        self, input: TransformerEncoderInput, cache: TransformerEncoderAutoregressiveCache
    ) -> Tensor:
        """`forward` for an `input` that grows: give it whole each time, only its new positions are computed.

        The attention mask must hide from each position the ones after it, else earlier results would change. `cache` is
        that of `new_autoregressive_cache`.
        """
        x = cache.output.unseen(input.tensor, 1)
        for layer, known in zip(self.layers, cache.layers, strict=True):
            x = layer.forward_step(x, input.pad, input.attn, known)
        return cache.output.extended(x, 1)

    def new_autoregressive_cache(self) -> TransformerEncoderAutoregressiveCache:
        """An empty cache, for a new sequence."""
        return TransformerEncoderAutoregressiveCache(len(self.layers))

    def custom_content(self, content: Content) -> Content:
        """The settings."""
        return show(content, self)


class TransformerEncoderLayer(Module):
    """One layer: self-attention and a feed-forward part, each added to what came in. Made by `TransformerEncoder`.

    `mask_pad` (batch, length) and `mask_attn` (batch, length, length) hide where they are true; `input` is the
    sequence, `cache` what the layer knows of earlier positions.

    >>> layer = nn.TransformerEncoder(8, 16, 2, 1).layers[0]
    >>> layer(Tensor.ones([1, 3, 8])).shape
    Shape([1, 3, 8])
    """

    mha: MultiHeadAttention
    pwff: PositionWiseFeedForward
    norm_1: LayerNorm
    norm_2: LayerNorm
    dropout: Dropout
    norm_first: bool

    @called_with("a stack makes its layers: nn.TransformerEncoder(d_model, d_ff, n_heads, n_layers)")
    def __init__(self, config: TransformerEncoderConfig, device: Device | None = None) -> None:
        refuse_other(type(self), config, TransformerEncoderConfig)
        self.mha = new_attention(config, device)
        self.pwff = new_feed_forward(config, device)
        self.norm_1, self.norm_2 = new_norm(config, device), new_norm(config, device)
        self.dropout, self.norm_first = Dropout(config.dropout), config.norm_first

    def forward(self, input: Tensor, mask_pad: Mask = None, mask_attn: Mask = None) -> Tensor:
        """(batch, length, d_model) to the same shape."""
        return self._sums(input, lambda x: self.mha.context(MhaInput(x, x, x, mask_pad, mask_attn)))

    def forward_autoregressive_inference(
        self, input: Tensor, mask_pad: Mask, mask_attn: Mask, cache: TransformerEncoderLayerAutoregressiveCache
    ) -> Tensor:
        """`forward` for a sequence that grows: give it whole each time, only its new positions are computed."""
        new = self.forward_step(cache.output.unseen(input, 1), mask_pad, mask_attn, cache)
        return cache.output.extended(new, 1)

    def forward_step(
        self, new: Tensor, mask_pad: Mask, mask_attn: Mask, cache: TransformerEncoderLayerAutoregressiveCache
    ) -> Tensor:
        """The results of new positions only, given as `new`; masks are those of the whole sequence."""
        return self._sums(
            new, lambda x: self.mha.forward_step(MhaInput(x, x, x, mask_pad, mask_attn), cache.mha).context
        )

    def _sums(self, x: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
        drop = self.dropout.forward
        if self.norm_first:
            x = x + drop(attend(self.norm_2.forward(x)))
            return x + drop(self.pwff.forward(self.norm_1.forward(x)))
        x = self.norm_1.forward(x + drop(attend(x)))
        return self.norm_2.forward(x + drop(self.pwff.forward(x)))


class TransformerEncoderLayerAutoregressiveCache:
    """What a layer knows of earlier positions: their keys and values, and its results where it is asked alone.

    >>> layer = nn.TransformerEncoder(8, 16, 2, 1).layers[0]
    >>> cache = nn.TransformerEncoderLayerAutoregressiveCache()
    >>> layer.forward_autoregressive_inference(Tensor.ones([1, 1, 8]), None, None, cache).shape
    Shape([1, 1, 8])
    """

    def __init__(self) -> None:
        self.mha = MhaCache.autoregressive()
        self.output = TensorCache()


class TransformerEncoderAutoregressiveCache:
    """What an encoder knows of earlier positions: the caches of its `layers`, and the results of the last one.

    >>> encoder = nn.TransformerEncoder(8, 16, 2, 1)
    >>> cache = encoder.new_autoregressive_cache()
    >>> for length in (1, 2, 3):
    ...     mask = nn.generate_autoregressive_mask(1, length)
    ...     input = nn.TransformerEncoderInput(Tensor.ones([1, length, 8])).mask_attn(mask)
    ...     output = encoder.forward_autoregressive_inference(input, cache)
    >>> output.shape
    Shape([1, 3, 8])
    """

    def __init__(self, layers: int) -> None:
        self.layers = [TransformerEncoderLayerAutoregressiveCache() for _ in range(layers)]
        self.output = TensorCache()
