"""How alike two vectors are: by the angle between them, or by their distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.ops.linalg import cosine_similarity, vector_norm
from burn.tensor import Tensor


class CosineSimilarityConfig(Config):
    """Settings: the dim of the vectors, and the smallest length that counts as one."""

    dim: int = 1
    eps: float = 1e-8

    def init(self, device: Device | None = None) -> CosineSimilarity:
        """The module; it has no parameters."""
        return CosineSimilarity._from_fields(self.dim, self.eps)


class CosineSimilarity(Module, config=CosineSimilarityConfig):
    """The cosine of the angle between vectors along `dim`."""

    dim: int
    eps: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, dim: int = 1, eps: float = 1e-08, *, device: Device | None = None) -> None: ...

    def forward(self, x1: Tensor[Any], x2: Tensor[Any]) -> Tensor[Any]:
        """Two tensors of one shape to that shape without `dim`."""
        return cosine_similarity(x1, x2, self.dim, self.eps).squeeze_dim(self.dim)


class PairwiseDistanceConfig(Config):
    """Settings: the order of the norm, and what is added to each difference."""

    p: float = 2.0
    eps: float = 1e-6

    def init(self, device: Device | None = None) -> PairwiseDistance:
        """The module; it has no parameters."""
        return PairwiseDistance._from_fields(self.p, self.eps)


class PairwiseDistance(Module, config=PairwiseDistanceConfig):
    """The `p` norm of the difference of vectors along the last dim."""

    p: float
    eps: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, p: float = 2.0, eps: float = 1e-06, *, device: Device | None = None) -> None: ...

    def forward(self, x1: Tensor[Any], x2: Tensor[Any]) -> Tensor[Any]:
        """(..., features) twice to (...): `norm(x1 - x2 + eps)`."""
        return vector_norm(x1 - x2 + self.eps, self.p, -1).squeeze_dim(-1)
