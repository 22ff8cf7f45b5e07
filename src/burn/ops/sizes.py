"""Shapes that can exist: every rule is asked, so that no shape beyond them reaches a kernel."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from burn.dtype import DType
from burn.errors import ShapeError
from burn.shape import LARGEST, Shape, as_shape


def checked_shape(operation: str, shape: Any, dtype: DType) -> Shape:
    """A shape whose elements can exist."""
    sizes = as_shape(operation, shape)
    check_size(operation, sizes, dtype)
    return sizes


def check_size(operation: str, shape: Shape, dtype: DType) -> None:
    """Refuse a shape that no memory holds; one without elements too, where its other sizes are beyond counting."""
    if math.prod(shape) * dtype.size <= LARGEST and (0 not in shape or math.prod(filter(None, shape)) <= LARGEST):
        return
    needed = math.prod(filter(None, shape)) * dtype.size
    raise ShapeError(f"{operation}: shape {tuple(shape)} of {dtype} needs {needed:,} bytes, more than can exist")


def bounded(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule whose results can exist."""

    @functools.wraps(rule)
    def infer(op: Any, *arguments: Any) -> Any:
        found = rule(op, *arguments)
        shape, dtype = found[0], found[1]
        if shape.__class__ is Shape:
            check_size(op.name, shape, dtype)
        elif shape is not None:
            for each, kind in zip(shape, dtype, strict=True):
                if each is not None:
                    check_size(op.name, each, kind)
        return found

    return infer
