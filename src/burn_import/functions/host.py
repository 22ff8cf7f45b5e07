"""What only the host can do: counts of token sequences, pictures from bytes of a file, masks that NumPy draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from burn.dtype import bool_
from burn.ops.constants import constant
from burn.tensor.distribution import Distribution
from burn_import.rows.hosted import count_sequences, decode_image

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor

__all__ = ["count_sequences", "decode_image", "dropout"]


def dropout(x: Tensor[B], ratio: float, training: bool = True, seed: int | None = None) -> tuple[Tensor[B], Tensor[B]]:
    """Zero a share of the elements and scale up the others. Gives the result and which elements are kept.

    With a seed the mask is always the same, drawn by NumPy's `RandomState`, whose numbers are the same everywhere.
    Without training, or with a ratio of 0, nothing is dropped.
    """
    if not training or not ratio:
        return x, constant(np.ones(tuple(x.shape), bool), bool_, x.device)
    if seed is None:
        mask = x.random_like(Distribution.Uniform(0.0, 1.0)) >= ratio
    else:
        drawn = np.random.RandomState(seed % (1 << 32)).uniform(0.0, 1.0, tuple(x.shape))
        mask = constant(drawn >= ratio, bool_, x.device)
    return (x * (1.0 / (1.0 - ratio) if ratio < 1.0 else 0.0)).mask_fill(~mask, 0.0), mask
