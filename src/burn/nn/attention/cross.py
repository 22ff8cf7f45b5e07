"""Cross attention: a sequence reads another one, of its own width, with fewer heads for keys than for queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.nn.attention.scores import attention_weights, checked_mask, in_heads, out_of_heads
from burn.nn.cache import TensorCache
from burn.nn.checks import refuse, too_small
from burn.nn.dropout import Dropout
from burn.nn.initializer import Initializer
from burn.nn.linear import Linear, LinearConfig
from burn.tensor import Tensor


class CrossAttentionConfig(Config):
    """Settings of `CrossAttention`; `init(device=None)` makes it.

    Arguments:
        d_model: the number of features.
        d_context: that of the context.
        n_heads: how many heads ask.
        n_heads_kv: how many answer: each serves `n_heads / n_heads_kv`.
        d_head: the size of a head.
        dropout: on the weights, after the softmax; 0.1.
        min_float: the score of a hidden key, -10000.
        quiet_softmax: whether a query may attend to nothing; False.

    >>> layer = nn.CrossAttentionConfig(8, 6, 4, 2, 3).init()
    """

    d_model: int
    d_context: int
    n_heads: int
    n_heads_kv: int
    d_head: int
    dropout: float = 0.1
    min_float: float = -1.0e4
    quiet_softmax: bool = False

    def init(self, device: Device | None = None) -> CrossAttention:
        """A module whose parameters are drawn when they are first used."""
        faults = too_small(
            1, d_model=self.d_model, d_context=self.d_context, n_heads=self.n_heads, n_heads_kv=self.n_heads_kv,
            d_head=self.d_head,
        )  # fmt: skip
        if self.n_heads_kv > 0 and self.n_heads % self.n_heads_kv:
            faults.append(f"n_heads must be a multiple of n_heads_kv, got {self.n_heads} and {self.n_heads_kv}")
        if not 0.0 <= self.dropout <= 1.0:
            faults.append(f"dropout must be between 0 and 1, got {self.dropout}")
        refuse(self, faults)
        initializer = Initializer.KaimingUniform(self.d_head**-0.5, False)

        def linear(d_input: int, d_output: int) -> Linear:
            return LinearConfig(d_input, d_output, initializer=initializer).init(device)

        return CrossAttention._from_fields(
            linear(self.d_model, self.n_heads * self.d_head),
            linear(self.d_context, self.n_heads_kv * self.d_head),
            linear(self.d_context, self.n_heads_kv * self.d_head),
            linear(self.n_heads * self.d_head, self.d_model),
            Dropout(self.dropout),
            self.n_heads,
            self.n_heads_kv,
            self.d_head,
            self.d_head**-0.5,
            self.min_float,
            self.quiet_softmax,
        )


class CrossAttentionCache:
    """The keys and values of a context, computed once.

    >>> attention = nn.CrossAttention(8, 6, 4, 2, 3)
    >>> query, context, cache = Tensor.ones([1, 1, 8]), Tensor.ones([1, 7, 6]), nn.CrossAttentionCache()
    >>> attention.forward_cache(query, context, None, cache).shape
    Shape([1, 1, 8])
    """

    def __init__(self) -> None:
        self.k, self.v = TensorCache(), TensorCache()


class CrossAttention(Module, config=CrossAttentionConfig):
    """Lets each query take a weighted mean of what stands in a context.

    `query` (batch, queries, d_model) over `context` (batch, keys, d_context) to (batch, queries, d_model); `mask`
    (batch, keys) hides where it is true.

    Arguments:
        d_model: the number of features.
        d_context: that of the context.
        n_heads: how many heads ask.
        n_heads_kv: how many answer: each serves `n_heads / n_heads_kv`.
        d_head: the size of a head.
        dropout: on the weights, after the softmax; 0.1.
        min_float: the score of a hidden key, -10000.
        quiet_softmax: whether a query may attend to nothing; False.

    >>> attention = nn.CrossAttention(8, 6, n_heads=4, n_heads_kv=2, d_head=3)
    >>> attention(Tensor.ones([1, 5, 8]), Tensor.ones([1, 7, 6])).shape
    Shape([1, 5, 8])
    """

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    dropout: Dropout
    n_heads: int
    n_heads_kv: int
    d_head: int
    scale: float
    min_float: float
    quiet_softmax: bool

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            d_model: int,
            d_context: int,
            n_heads: int,
            n_heads_kv: int,
            d_head: int,
            dropout: float = 0.1,
            min_float: float = -10000.0,
            quiet_softmax: bool = False,
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
            n_heads: int,
            n_heads_kv: int,
            d_head: int,
            scale: float,
            min_float: float,
            quiet_softmax: bool,
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, query: Tensor, context: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, queries, d_model) over (batch, keys, d_context) to (batch, queries, d_model).

        `mask` (batch, keys) hides a part of the context where it is true.
        """
        return self._attend(query, self._keys(context), self._values(context), mask)

    def forward_cache(self, query: Tensor, context: Tensor, mask: Tensor | None, cache: CrossAttentionCache) -> Tensor:
        """`forward` with the keys and values of the first call, which `cache` keeps: the context must stay the same."""
        key, value = cache.k.forward_full(context, self._keys), cache.v.forward_full(context, self._values)
        return self._attend(query, key, value, mask)

    def _keys(self, context: Tensor) -> Tensor:
        return in_heads(self.key.forward(context), self.n_heads_kv)

    def _values(self, context: Tensor) -> Tensor:
        return in_heads(self.value.forward(context), self.n_heads_kv)

    def _attend(self, x: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        batch, queries, keys = x.shape[0], x.shape[1], key.shape[2]
        query = in_heads(self.query.forward(x), self.n_heads)
        # The heads that one key head serves stand one after the other, so they are more queries of that head.
        query = query.reshape((batch, self.n_heads_kv, -1, self.d_head))
        hidden = None
        if mask is not None:
            found = checked_mask("CrossAttention", "mask", mask, (batch, keys), "(batch, keys)")
            hidden = found.reshape((found.shape[0], 1, 1, keys))
        weights = attention_weights(query, key, hidden, self.scale, self.min_float, self.quiet_softmax)
        found = self.dropout.forward(weights).matmul(value).reshape((batch, self.n_heads, queries, self.d_head))
        return self.output.forward(out_of_heads(found))
