"""Half precision where torch's CPU kernels have none: computed in f32 and rounded once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

_HALVES = frozenset((torch.float16, torch.bfloat16))


def is_host_half(x: torch.Tensor) -> bool:
    """Whether `x` holds half precision on the CPU."""
    return x.dtype in _HALVES and x.device.type == "cpu"


def through_single(kernel: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """`kernel` with half precision operands on the CPU widened to f32, and the result narrowed again."""

    @functools.wraps(kernel)
    def run(x: torch.Tensor, *args: Any) -> torch.Tensor:
        if not is_host_half(x):
            return kernel(x, *args)
        wide = [each.float() if isinstance(each, torch.Tensor) and each.dtype in _HALVES else each for each in args]
        return kernel(x.float(), *wide).to(x.dtype)

    return run
