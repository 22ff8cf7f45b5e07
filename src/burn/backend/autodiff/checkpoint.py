"""What a graph keeps: everything it needs, or only what is dear to compute again.

Under `BalancedCheckpointing` the result of a memory-bound operation (elementwise, movement,
reductions) is not kept for backward. A recipe is kept instead, and the value is computed again from
the nearest result that was kept. Compute-bound operations (matmul, convolution) always keep theirs.
"""

from __future__ import annotations


class CheckpointStrategy:
    """Decides what is kept for backward. The two strategies are the two subclasses."""

    recomputes: bool = False


class NoCheckpointing(CheckpointStrategy):
    """Keep everything backward needs: the fastest, and the default.

    >>> burn.Autodiff(burn.NdArray(), burn.NoCheckpointing) is burn.NdArray().autodiff()
    True
    """


class BalancedCheckpointing(CheckpointStrategy):
    """Keep the results of compute-bound operations, compute memory-bound ones again.

    >>> burn.Autodiff(burn.NdArray(), burn.BalancedCheckpointing)
    Autodiff(NdArray(), BalancedCheckpointing)
    """

    recomputes = True
