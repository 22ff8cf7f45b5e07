"""The transformer decoder: a sequence attends to itself, then to a memory, then each position for itself.

The norms have Burn's roles and names. After the sums: `norm_1` behind the self-attention, `norm_2` behind
the cross-attention, `norm_3` behind the feed-forward part. With `norm_first`, before what is added:
`norm_3` for the self-attention, `norm_1` for the cross-attention, `norm_2` for the feed-forward part.
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


class TransformerDecoderConfig(Config):
    """Settings of `TransformerDecoder`; `init(device=None)` makes it.

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

    >>> layer = nn.TransformerDecoderConfig(8, 16, 2, 1).init()
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

    def init(self, device: Device | None = None) -> TransformerDecoder:
        """A module whose parameters are drawn when they are first used."""
        check(self)
        layers = [TransformerDecoderLayer(self, device) for _ in range(self.n_layers)]
        return TransformerDecoder._from_fields(
            layers, self.d_model, self.d_ff, self.n_heads, self.n_layers, self.dropout, self.norm_first,
            self.quiet_softmax,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class TransformerDecoderInput:
    """A sequence (`target`), the `memory` that it asks, and masks of both, which hide where they are true.

    `target_mask_pad`, `target_mask_attn`, `memory_mask_pad` and `memory_mask_attn` set `target_pad`, `target_attn`,
    `memory_pad` and `memory_attn`.

    >>> decoder = nn.TransformerDecoder(8, 16, 2, 1)
    >>> input = nn.TransformerDecoderInput(Tensor.ones([1, 3, 8]), Tensor.ones([1, 7, 8]))
    >>> decoder(input.target_mask_attn(nn.generate_autoregressive_mask(1, 3))).shape
    Shape([1, 3, 8])
    """

    target: Tensor
    memory: Tensor
    target_pad: Tensor | None = None
    target_attn: Tensor | None = None
    memory_pad: Tensor | None = None
    memory_attn: Tensor | None = None

    def target_mask_pad(self, mask: Tensor) -> TransformerDecoderInput:
        """Hide positions of the sequence that are padding: `mask` is of bools (batch, length), true hides."""
        return replace(self, target_pad=mask)

    def target_mask_attn(self, mask: Tensor) -> TransformerDecoderInput:
        """Hide positions of the sequence from others: `mask` is of bools (batch, length, length), true hides."""
        return replace(self, target_attn=mask)

    def memory_mask_pad(self, mask: Tensor) -> TransformerDecoderInput:
        """Hide positions of the memory that are padding: `mask` is of bools (batch, memory), true hides."""
        return replace(self, memory_pad=mask)

    def memory_mask_attn(self, mask: Tensor) -> TransformerDecoderInput:
        """Hide positions of the memory from the sequence: `mask` is of bools (batch, length, memory), true hides."""
        return replace(self, memory_attn=mask)

    def self_attention(self, x: Tensor) -> MhaInput:
        """What a layer asks of the sequence itself."""
        return MhaInput(x, x, x, self.target_pad, self.target_attn)

    def cross_attention(self, x: Tensor) -> MhaInput:
        """What a layer asks of the memory."""
        return MhaInput(x, self.memory, self.memory, self.memory_pad, self.memory_attn)


class TransformerDecoder(Module, config=TransformerDecoderConfig):
    """Layers of self-attention, cross-attention and feed-forward parts, one after the other.

    `torch.nn.TransformerDecoder`. The sequence (batch, length, d_model) to the same shape; `memory` is (batch,
    memory, d_model), and `masks` go by their names in `TransformerDecoderInput`.

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

    >>> decoder = nn.TransformerDecoder(8, 16, n_heads=2, n_layers=1)
    >>> decoder(Tensor.ones([2, 5, 8]), Tensor.ones([2, 7, 8])).shape
    Shape([2, 5, 8])
    """

    layers: list[TransformerDecoderLayer]
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
            layers: list[TransformerDecoderLayer],
            d_model: int,
            d_ff: int,
            n_heads: int,
            n_layers: int,
            dropout: float,
            norm_first: bool,
            quiet_softmax: bool,
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, input: TransformerDecoderInput | Tensor, memory: Tensor | None = None, **masks: Tensor) -> Tensor:
        """The sequence (batch, length, d_model) to the same shape.

        The input is a `TransformerDecoderInput`, or its parts: target, memory, and the `masks` by the names they have
        there, such as `decoder(target, memory, target_attn=mask)`.
        """
        if isinstance(input, Tensor):
            input = _joined(input, memory, masks)
        elif not isinstance(input, TransformerDecoderInput):
            raise ArgumentError(
                f"TransformerDecoder: needs tensors or a TransformerDecoderInput, got {type(input).__name__}"
            )
        elif memory is not None or masks:
            raise ArgumentError("TransformerDecoder: a TransformerDecoderInput holds memory and masks; give them there")
        for layer in self.layers:
            input = layer.forward(input)
        return input.target

    def forward_autoregressive_inference(
        self, input: TransformerDecoderInput, cache: TransformerDecoderAutoregressiveCache
    ) -> Tensor:
        """`forward` for an `input` that grows: give it whole each time, only its new positions are computed.

        The attention mask must hide from each position the ones after it, else earlier results would change. The
        memory is that of the first call. `cache` is that of `new_autoregressive_cache`.
        """
        input = replace(input, target=cache.output.unseen(input.target, 1))
        for layer, known in zip(self.layers, cache.layers, strict=True):
            input = replace(input, target=layer.forward_step(input, known))
        return cache.output.extended(input.target, 1)

    def new_autoregressive_cache(self) -> TransformerDecoderAutoregressiveCache:
        """An empty cache, for a new sequence."""
        return TransformerDecoderAutoregressiveCache(len(self.layers))

    def custom_content(self, content: Content) -> Content:
        """The settings."""
        return show(content, self)


MASKS = {"target_pad", "target_attn", "memory_pad", "memory_attn"}


def _joined(target: Tensor, memory: Tensor | None, masks: dict[str, Tensor]) -> TransformerDecoderInput:
    unknown = masks.keys() - MASKS
    if memory is None or unknown:
        what = f"there is no {', '.join(sorted(unknown))}" if unknown else "the memory is missing"
        raise ArgumentError(
            f"TransformerDecoder: {what}; write decoder(target, memory), with {', '.join(sorted(MASKS))} by name"
        )
    return TransformerDecoderInput(target, memory, **masks)


class TransformerDecoderLayer(Module):
    """One layer: self-attention, cross-attention and a feed-forward part, each added to what came in.

    Made by `TransformerDecoder`. `input` is a `TransformerDecoderInput`, `cache` what the layer knows of earlier
    positions.

    >>> layer = nn.TransformerDecoder(8, 16, 2, 1).layers[0]
    >>> layer(nn.TransformerDecoderInput(Tensor.ones([1, 3, 8]), Tensor.ones([1, 7, 8]))).target.shape
    Shape([1, 3, 8])
    """

    cross_attn: MultiHeadAttention
    self_attn: MultiHeadAttention
    pwff: PositionWiseFeedForward
    norm_1: LayerNorm
    norm_2: LayerNorm
    norm_3: LayerNorm
    dropout: Dropout
    norm_first: bool

    @called_with("a stack makes its layers: nn.TransformerDecoder(d_model, d_ff, n_heads, n_layers)")
    def __init__(self, config: TransformerDecoderConfig, device: Device | None = None) -> None:
        refuse_other(type(self), config, TransformerDecoderConfig)
        self.cross_attn, self.self_attn = new_attention(config, device), new_attention(config, device)
        self.pwff = new_feed_forward(config, device)
        self.norm_1, self.norm_2, self.norm_3 = (new_norm(config, device) for _ in range(3))
        self.dropout, self.norm_first = Dropout(config.dropout), config.norm_first

    def forward(self, input: TransformerDecoderInput) -> TransformerDecoderInput:
        """The input of the next layer: this layer's results as the target, the rest as it was."""
        results = self._sums(
            input.target,
            lambda x: self.self_attn.context(input.self_attention(x)),
            lambda x: self.cross_attn.context(input.cross_attention(x)),
        )
        return replace(input, target=results)

    def forward_autoregressive_inference(
        self, input: TransformerDecoderInput, cache: TransformerDecoderLayerAutoregressiveCache
    ) -> TransformerDecoderInput:
        """`forward` for a sequence that grows: give it whole each time, only its new positions are computed."""
        new = self.forward_step(replace(input, target=cache.output.unseen(input.target, 1)), cache)
        return replace(input, target=cache.output.extended(new, 1))

    def forward_step(self, input: TransformerDecoderInput, cache: TransformerDecoderLayerAutoregressiveCache) -> Tensor:
        """The results of new positions only, given as the target; masks are those of the whole sequence."""
        return self._sums(
            input.target,
            lambda x: self.self_attn.forward_step(input.self_attention(x), cache.self_attn).context,
            lambda x: self.cross_attn.forward_step(input.cross_attention(x), cache.cross_attn).context,
        )

    def _sums(
        self,
        x: Tensor,
        attend: Callable[[Tensor], Tensor],
        consult: Callable[[Tensor], Tensor],
    ) -> Tensor:
        drop = self.dropout.forward
        if self.norm_first:
            x = x + drop(attend(self.norm_3.forward(x)))
            x = x + drop(consult(self.norm_1.forward(x)))
            return x + drop(self.pwff.forward(self.norm_2.forward(x)))
        x = self.norm_1.forward(x + drop(attend(x)))
        x = self.norm_2.forward(x + drop(consult(x)))
        return self.norm_3.forward(x + drop(self.pwff.forward(x)))


class TransformerDecoderLayerAutoregressiveCache:
    """What a layer knows: keys and values of earlier positions and of the memory, and its results if asked alone.

    >>> layer = nn.TransformerDecoder(8, 16, 2, 1).layers[0]
    >>> cache = nn.TransformerDecoderLayerAutoregressiveCache()
    >>> input = nn.TransformerDecoderInput(Tensor.ones([1, 1, 8]), Tensor.ones([1, 7, 8]))
    >>> layer.forward_autoregressive_inference(input, cache).target.shape
    Shape([1, 1, 8])
    """

    def __init__(self) -> None:
        self.self_attn = MhaCache.autoregressive()
        self.cross_attn = MhaCache.autoregressive_cross_attention()
        self.output = TensorCache()


class TransformerDecoderAutoregressiveCache:
    """What a decoder knows of earlier positions: the caches of its `layers`, and the results of the last one.

    >>> decoder = nn.TransformerDecoder(8, 16, 2, 1)
    >>> cache, memory = decoder.new_autoregressive_cache(), Tensor.ones([1, 7, 8])
    >>> for length in (1, 2, 3):
    ...     mask = nn.generate_autoregressive_mask(1, length)
    ...     input = nn.TransformerDecoderInput(Tensor.ones([1, length, 8]), memory).target_mask_attn(mask)
    ...     output = decoder.forward_autoregressive_inference(input, cache)
    >>> output.shape
    Shape([1, 3, 8])
    """

    def __init__(self, layers: int) -> None:
        self.layers = [TransformerDecoderLayerAutoregressiveCache() for _ in range(layers)]
        self.output = TensorCache()
