"""Kernels without NumPy's warnings.

Division by zero and overflow have defined results here, so NumPy's warnings are switched off for
our calls and for nobody else's. `np.errstate` around each call would cost more than the call: a
context in which the setting was made once, one per thread, costs a tenth of that.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np


class _Quiet(threading.local):
    def __init__(self) -> None:
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


_quiet = _Quiet()


def quiet(kernel: Callable[..., Any], arguments: int) -> Callable[..., Any]:
    """`kernel` with NumPy's floating-point warnings off."""
    if arguments == 1:
        return lambda x: _quiet.run(kernel, x)
    if arguments == 2:
        return lambda x, y: _quiet.run(kernel, x, y)
    return lambda *args: _quiet.run(kernel, *args)


def quiet_pair(kernel: Callable[..., Any], keeps_dtype: bool) -> Callable[..., Any]:
    """A kernel of two operands, either of which may be a Python number.

    NumPy would convert a number to half precision first, or (for bfloat16) widen the result: here
    such a pair is computed in f32 and rounded once.
    """

    def in_half(x: Any, y: Any) -> Any:
        dtype = y.dtype if x.__class__ is float else x.dtype
        wide = [each if each.__class__ is float else each.astype(np.float32) for each in (x, y)]
        result = _quiet.run(kernel, *wide)
        return _quiet.run(result.astype, dtype) if keeps_dtype else result

    def run(x: Any, y: Any) -> Any:
        # A float beside an array of elements of two bytes: the array can only be f16 or bf16.
        if (y.__class__ is float and x.itemsize == 2) or (x.__class__ is float and y.itemsize == 2):
            return in_half(x, y)
        return _quiet.run(kernel, x, y)

    return run
