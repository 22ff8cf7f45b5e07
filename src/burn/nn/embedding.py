"""Embedding: a table of vectors, one for each number."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from burn.config import Config
from burn.device import Device
from burn.module import Module, Param
from burn.module.display import Content
from burn.nn.checks import refuse, too_small
from burn.nn.initializer import Initializer, Normal
from burn.ops.layers import embedding
from burn.tensor import Tensor


class EmbeddingConfig(Config):
    """Settings of `Embedding`; `init(device=None)` makes it.

    Arguments:
        n_embedding: how many vectors the table has.
        d_model: how many elements a vector has.
        initializer: how the table begins; drawn from a normal distribution.

    >>> nn.EmbeddingConfig(100, 8).init()
    Embedding {n_embedding: 100, d_model: 8, params: 800}
    """

    n_embedding: int
    d_model: int
    initializer: Initializer = Normal(0.0, 1.0)

    def init(self, device: Device | None = None) -> Embedding:
        """A layer whose table is drawn when it is first used."""
        refuse(self, too_small(1, n_embedding=self.n_embedding, d_model=self.d_model))
        shape = (self.n_embedding, self.d_model)
        return Embedding._from_fields(self.initializer.init(shape, device, self.n_embedding, self.d_model))


class Embedding(Module, config=EmbeddingConfig):
    """Replaces whole numbers by the vectors of a table.

    `torch.nn.Embedding`. Int (batch, length), or any other shape, to (batch, length, d_model).

    Arguments:
        n_embedding: how many vectors the table has.
        d_model: how many elements a vector has.
        initializer: how the table begins; drawn from a normal distribution.

    >>> layer = nn.Embedding(100, 8)
    >>> layer(burn.tensor([[3, 99, 0]])).shape
    Shape([1, 3, 8])
    """

    weight: Param  # (n_embedding, d_model)

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self, n_embedding: int, d_model: int, initializer: Initializer | str = ..., *, device: Device | None = None
        ) -> None: ...

        @overload
        def __init__(self, weight: Tensor) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """Int (batch, length), or any other shape, to (batch, length, d_model)."""
        return embedding(self.weight, x)

    def custom_content(self, content: Content) -> Content:
        """The size of the table."""
        n_embedding, d_model = self.weight.shape
        return content.add("n_embedding", n_embedding).add("d_model", d_model)
