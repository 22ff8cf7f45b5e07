"""Multi-head attention: several small attentions side by side, each over its own projection of the sequence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from burn.classes import dataclass
from burn.config import Config
from burn.device import Device
from burn.errors import ArgumentError, ShapeError
from burn.module import Module
from burn.module.display import Content
from burn.nn.activation import Gelu
from burn.nn.attention.scores import attention_weights, checked_mask, either, in_heads, out_of_heads
from burn.nn.cache import TensorCache
from burn.nn.checks import refuse, too_small
from burn.nn.dropout import Dropout
from burn.nn.initializer import DEFAULT, Initializer
from burn.nn.linear import Linear, LinearConfig
from burn.ops.attention import attention
from burn.tensor import Tensor


class MultiHeadAttentionConfig(Config):
    """Settings of `MultiHeadAttention`; `init(device=None)` makes it.

    Arguments:
        d_model: the number of features.
        n_heads: how many heads share them.
        dropout: on the weights, after the softmax; 0.1.
        min_float: the score of a hidden key, -10000.
        quiet_softmax: whether a query may attend to nothing; False.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.
        query_bias: and `key_bias`, `value_bias`, `output_bias`: whether the linear maps have one; True.

    >>> layer = nn.MultiHeadAttentionConfig(8, 2).init()
    """

    d_model: int
    n_heads: int
    dropout: float = 0.1
    min_float: float = -1.0e4
    quiet_softmax: bool = False
    initializer: Initializer = DEFAULT
    key_bias: bool = True
    value_bias: bool = True
    query_bias: bool = True
    output_bias: bool = True

    def init(self, device: Device | None = None) -> MultiHeadAttention:
        """A module whose parameters are drawn when they are first used."""
        refuse(self, attention_faults(self.d_model, self.n_heads, self.dropout))

        def linear(bias: bool) -> Linear:
            return LinearConfig(self.d_model, self.d_model, bias, self.initializer).init(device)

        return MultiHeadAttention._from_fields(
            linear(self.query_bias),
            linear(self.key_bias),
            linear(self.value_bias),
            linear(self.output_bias),
            Dropout(self.dropout),
            Gelu(),
            self.d_model,
            self.n_heads,
            self.d_model // self.n_heads,
            self.min_float,
            self.quiet_softmax,
        )


def attention_faults(d_model: int, n_heads: int, dropout: float) -> list[str]:
    """What is wrong with these settings, a sentence each."""
    faults = too_small(1, d_model=d_model, n_heads=n_heads)
    if not faults and d_model % n_heads:
        faults.append(f"d_model must be a multiple of n_heads, got {d_model} and {n_heads}")
    if not 0.0 <= dropout <= 1.0:
        faults.append(f"dropout must be between 0 and 1, got {dropout}")
    return faults


@dataclass(frozen=True, eq=False)
class MhaInput:
    """What attention is asked: `query` (batch, queries, d_model), `key` and `value` (batch, keys, d_model), masks.

    `mask_pad` hides keys that are padding, `mask_attn` keys from queries; a mask is true where it hides. They become
    `pad` and `attn`.

    >>> sequence = Tensor.ones([1, 3, 8])
    >>> input = nn.MhaInput.self_attn(sequence).mask_attn(nn.generate_autoregressive_mask(1, 3))
    >>> input.attn.shape
    Shape([1, 3, 3])
    """

    query: Tensor
    key: Tensor
    value: Tensor
    pad: Tensor | None = None
    attn: Tensor | None = None

    @classmethod
    def self_attn(cls, tensor: Tensor) -> MhaInput:
        """A sequence (`tensor`: batch, length, d_model) that attends to itself."""
        return cls(tensor, tensor, tensor)

    def mask_pad(self, mask: Tensor) -> MhaInput:
        """Hide keys that are padding: `mask` is of bools (batch, keys), true hides."""
        return replace(self, pad=mask)

    def mask_attn(self, mask: Tensor) -> MhaInput:
        """Hide keys from queries: `mask` is of bools (batch, queries, keys), true hides."""
        return replace(self, attn=mask)


@dataclass(frozen=True, eq=False)
class MhaOutput:
    """What attention answers: `weights` (batch, n_heads, queries, keys) and `context` (batch, queries, d_model).

    >>> attention = nn.MultiHeadAttention(8, 2)
    >>> output = attention(nn.MhaInput.self_attn(Tensor.ones([1, 3, 8])))
    >>> output.weights.shape, output.context.shape
    (Shape([1, 2, 3, 3]), Shape([1, 3, 8]))
    """

    weights: Tensor  # (batch, n_heads, queries, keys)
    context: Tensor  # (batch, queries, d_model)

    if not TYPE_CHECKING:

        def __iter__(self) -> Any:
            raise ArgumentError("MhaOutput: it has names, not positions; write output.context and output.weights")


class MhaCache:
    """The keys, values and results of earlier positions, for inference one position after the other.

    Made with `autoregressive` (a sequence that attends to itself) or `autoregressive_cross_attention` (to a memory).

    >>> attention = nn.MultiHeadAttention(8, 2)
    >>> cache = nn.MhaCache.autoregressive()
    >>> for length in (1, 2, 3):
    ...     input = nn.MhaInput.self_attn(Tensor.ones([1, length, 8]))
    ...     output = attention.forward_cache(input, cache)
    >>> output.context.shape
    Shape([1, 3, 8])
    """

    def __init__(self, keys_grow: bool) -> None:
        self.key, self.value, self.output = TensorCache(), TensorCache(), TensorCache()
        self.keys_grow = keys_grow

    @classmethod
    def autoregressive(cls) -> MhaCache:
        """For a sequence that attends to itself: every call adds keys and values."""
        return cls(True)

    @classmethod
    def autoregressive_cross_attention(cls) -> MhaCache:
        """For a sequence that attends to a memory: keys and values are those of the first call."""
        return cls(False)


class MultiHeadAttention(Module, config=MultiHeadAttentionConfig):
    """Lets each query take a weighted mean of the values, weighted by how well it meets the keys.

    `torch.nn.MultiheadAttention`. Give it queries, or queries, keys and values (batch, length, d_model), or a
    `MhaInput`. It gives the `weights` (batch, n_heads, queries, keys) and the `context` (batch, queries, d_model).

    Arguments:
        d_model: the number of features.
        n_heads: how many heads share them.
        dropout: on the weights, after the softmax; 0.1.
        min_float: the score of a hidden key, -10000.
        quiet_softmax: whether a query may attend to nothing; False.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.
        query_bias: and `key_bias`, `value_bias`, `output_bias`: whether the linear maps have one; True.

    >>> attention = nn.MultiHeadAttention(8, 2)
    >>> attention(Tensor.ones([1, 5, 8])).context.shape
    Shape([1, 5, 8])
    """

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    dropout: Dropout
    activation: Gelu
    d_model: int
    n_heads: int
    d_k: int
    min_float: float
    quiet_softmax: bool

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            d_model: int,
            n_heads: int,
            dropout: float = 0.1,
            min_float: float = -10000.0,
            quiet_softmax: bool = False,
            initializer: Initializer | str = ...,
            key_bias: bool = True,
            value_bias: bool = True,
            query_bias: bool = True,
            output_bias: bool = True,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            query: Linear,
            key: Linear,
            value: Linear,
            output: Linear,
            dropout: Dropout,
            activation: Gelu,
            d_model: int,
            n_heads: int,
            d_k: int,
            min_float: float,
            quiet_softmax: bool,
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(
        self,
        input: MhaInput | Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask_pad: Tensor | None = None,
        mask_attn: Tensor | None = None,
    ) -> MhaOutput:
        """The weights, (batch, n_heads, queries, keys), and the context, (batch, queries, d_model).

        The input is a `MhaInput`, or its parts: queries, `key` (the queries if not given), `value` (the keys if not
        given) and the masks of `MhaInput`: `mask_pad` (batch, keys) and `mask_attn` (batch, queries, keys).
        """
        if isinstance(input, Tensor):
            key = input if key is None else key
            input = MhaInput(input, key, key if value is None else value, mask_pad, mask_attn)
        elif not isinstance(input, MhaInput):
            raise ArgumentError(f"MultiHeadAttention: needs a tensor or a MhaInput, got {type(input).__name__}")
        elif any(each is not None for each in (key, value, mask_pad, mask_attn)):
            raise ArgumentError("MultiHeadAttention: a MhaInput holds keys, values and masks; give them there")
        query, key, value = self._projections(input)
        weights = self._weights(query, key, self._mask(input, query.shape[2], key.shape[2]))
        return MhaOutput(weights, self.output.forward(out_of_heads(weights.matmul(value))))

    def context(self, input: MhaInput) -> Tensor:
        """The context alone, which leaves a device free to compute it without the weights."""
        if self.quiet_softmax or input.pad is not None or input.attn is not None or self._drops(input.query):
            return self.forward(input).context
        return self.output.forward(out_of_heads(attention(*self._projections(input))))

    def forward_cache(self, input: MhaInput, cache: MhaCache) -> MhaOutput:
        """`forward` for an `input` that grows: give it whole each time, only its new positions are computed.

        `cache` is a `MhaCache`. The context is that of the whole sequence, the weights those of the new positions.
        """
        query = cache.output.unseen(input.query, 1)
        key, value = input.key, input.value
        if cache.keys_grow:
            key, value = cache.key.unseen(key, 2), cache.value.unseen(value, 2)
        new = self.forward_step(replace(input, query=query, key=key, value=value), cache)
        return MhaOutput(new.weights, cache.output.extended(new.context, 1))

    def forward_step(self, input: MhaInput, cache: MhaCache) -> MhaOutput:
        """Weights and context of new positions only, given as the `input`; masks are those of the whole sequence.

        `cache` is a `MhaCache`.
        """
        query = in_heads(self.query.forward(input.query), self.n_heads)
        if cache.keys_grow:
            key = cache.key.extended(in_heads(self.key.forward(input.key), self.n_heads), 2)
            value = cache.value.extended(in_heads(self.value.forward(input.value), self.n_heads), 2)
        else:
            key = cache.key.forward_full(input.key, lambda x: in_heads(self.key.forward(x), self.n_heads))
            value = cache.value.forward_full(input.value, lambda x: in_heads(self.value.forward(x), self.n_heads))
        if input.attn is not None and len(input.attn.shape) == 3 and input.attn.shape[1] > query.shape[2]:
            rows = input.attn.narrow(1, input.attn.shape[1] - query.shape[2], query.shape[2])
            input = replace(input, attn=rows)
        weights = self._weights(query, key, self._mask(input, query.shape[2], key.shape[2]))
        return MhaOutput(weights, self.output.forward(out_of_heads(weights.matmul(value))))

    def _projections(self, input: MhaInput) -> tuple[Tensor, Tensor, Tensor]:
        if len(input.query.shape) != 3 or len(input.key.shape) != 3 or len(input.value.shape) != 3:
            shapes = ", ".join(str(tuple(each.shape)) for each in (input.query, input.key, input.value))
            raise ShapeError(f"MultiHeadAttention: query, key and value must be (batch, length, d_model), got {shapes}")
        return (
            in_heads(self.query.forward(input.query), self.n_heads),
            in_heads(self.key.forward(input.key), self.n_heads),
            in_heads(self.value.forward(input.value), self.n_heads),
        )

    def _weights(self, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
        weights = attention_weights(query, key, mask, self.d_k**-0.5, self.min_float, self.quiet_softmax)
        return self.dropout.forward(weights)

    def _mask(self, input: MhaInput, queries: int, keys: int) -> Tensor | None:
        masks, batch = [], input.query.shape[0]
        if input.pad is not None:
            found = checked_mask("MultiHeadAttention", "mask_pad", input.pad, (batch, keys), "(batch, keys)")
            masks.append(found.reshape((found.shape[0], 1, 1, found.shape[1])))
        if input.attn is not None:
            sizes = (batch, queries, keys)
            found = checked_mask("MultiHeadAttention", "mask_attn", input.attn, sizes, "(batch, queries, keys)")
            masks.append(found.unsqueeze_dim(1))
        return either(masks)

    def _drops(self, x: Tensor) -> bool:
        device = self.query.weight.device if self.query.weight.device.is_autodiff else x.device
        return self.dropout.prob > 0.0 and self.dropout.is_training(device)

    def custom_content(self, content: Content) -> Content:
        """The settings."""
        return (
            content.add("d_model", self.d_model)
            .add("n_heads", self.n_heads)
            .add("d_k", self.d_k)
            .add("dropout", self.dropout.prob)
            .add("min_float", self.min_float)
            .add("quiet_softmax", self.quiet_softmax)
        )
