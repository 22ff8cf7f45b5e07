"""Who computes: the backends, and the decorators around them.

`LibTorch` loads PyTorch, so it is imported when it is first named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.backend.autodiff import Autodiff, BalancedCheckpointing, NoCheckpointing
from burn.backend.ndarray import NdArray

if TYPE_CHECKING:
    from burn.backend.torch import LibTorch

__all__ = ["Autodiff", "BalancedCheckpointing", "LibTorch", "NdArray", "NoCheckpointing"]


def __getattr__(name: str) -> Any:
    if name == "LibTorch":
        try:
            from burn.backend.torch import LibTorch
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise ImportError("LibTorch needs PyTorch: pip install 'burn-dl[torch]'") from error
        return LibTorch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
