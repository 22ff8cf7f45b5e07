"""How alike two vectors are: by the angle between them, or by their distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.ops.linalg import cosine_similarity, vector_norm
from burn.tensor import Tensor


class CosineSimilarityConfig(Config):
    """Settings of `CosineSimilarity`; `init(device=None)` makes it.

    Arguments:
        dim: the dim of the vectors, 1.
        eps: the smallest length that counts as one, 1e-8.

    >>> nn.CosineSimilarityConfig().init()
    CosineSimilarity {dim: 1, eps: 0.00000001}
    """

    dim: int = 1
    eps: float = 1e-8

    def init(self, device: Device | None = None) -> CosineSimilarity:
        """The module; it has no parameters."""
        return CosineSimilarity._from_fields(self.dim, self.eps)


class CosineSimilarity(Module, config=CosineSimilarityConfig):
    """The cosine of the angle between vectors along `dim`.

    `torch.nn.CosineSimilarity`. `x1` and `x2` of one shape to that shape without `dim`.

    Arguments:
        dim: the dim of the vectors, 1.
        eps: the smallest length that counts as one, 1e-8.

    >>> print(nn.CosineSimilarity()(burn.tensor([[1.0, 0.0]]), burn.tensor([[3.0, 4.0]])).numpy().round(4))
    [0.6]
    """

    dim: int
    eps: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, dim: int = 1, eps: float = 1e-08, *, device: Device | None = None) -> None: ...

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Two tensors of one shape to that shape without `dim`."""
        return cosine_similarity(x1, x2, self.dim, self.eps).squeeze_dim(self.dim)


class PairwiseDistanceConfig(Config):
    """Settings of `PairwiseDistance`; `init(device=None)` makes it.

    Arguments:
        p: the order of the norm, 2.
        eps: added to each difference, 1e-6.

    >>> nn.PairwiseDistanceConfig().init()
    PairwiseDistance {p: 2, eps: 0.000001}
    """

    p: float = 2.0
    eps: float = 1e-6

    def init(self, device: Device | None = None) -> PairwiseDistance:
        """The module; it has no parameters."""
        return PairwiseDistance._from_fields(self.p, self.eps)


class PairwiseDistance(Module, config=PairwiseDistanceConfig):
    """The distance between vectors along the last dim.

    `torch.nn.PairwiseDistance`. `x1` and `x2` (batch, size) to (batch,).

    Arguments:
        p: the order of the norm, 2.
        eps: added to each difference, 1e-6.

    >>> print(nn.PairwiseDistance()(burn.tensor([[0.0, 0.0]]), burn.tensor([[3.0, 4.0]])).numpy().round(4))
    [5.]
    """

    p: float
    eps: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, p: float = 2.0, eps: float = 1e-06, *, device: Device | None = None) -> None: ...

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """(..., features) twice to (...): `norm(x1 - x2 + eps)`."""
        return vector_norm(x1 - x2 + self.eps, self.p, -1).squeeze_dim(-1)
