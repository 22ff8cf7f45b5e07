"""The errors users meet: one class per kind of mistake.

Each class is a `BurnError` and also the built-in exception that a Python programmer would expect,
so `except ValueError` keeps working. A message names the operation, what was given, why it cannot
be, and what to write instead; it is raised before any kernel runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


class BurnError(Exception):
    """Base of every error this package raises on purpose."""


class ShapeError(BurnError, ValueError):
    """Shapes, ranks, dims or sizes that do not fit the operation."""


class DTypeError(BurnError, TypeError):
    """Element types that the operation does not take."""


class DeviceError(BurnError, RuntimeError):
    """Tensors on different hardware, or a device that is not there."""


class AutodiffError(BurnError, RuntimeError):
    """Gradients asked of something that records no graph, or of a graph already used up."""


class IndexingError(BurnError, IndexError):
    """Index values outside the dimension they address."""


class ArgumentError(BurnError, ValueError):
    """A Python argument outside the values the operation takes."""


class CallError(ArgumentError, TypeError):
    """Arguments that do not fit the signature: too many, too few, or unknown names.

    >>> burn.tensor([1.0]).cumsum(axis=0)
    Traceback (most recent call last):
    burn.errors.CallError: cumsum: unknown argument 'axis'; did you mean 'dim'?; missing dim; write cumsum(x, dim)
    """


class MissingOperation(BurnError, NotImplementedError):
    """A backend that lacks an operation, or a package that is not installed."""


class OutOfMemory(BurnError, MemoryError):
    """More memory than the device can give."""


def shown(value: object) -> str:
    """A value as an error shows it: tensors and arrays by type and shape, other values cut to one short line.

    >>> from burn.errors import shown
    >>> shown("cuda"), shown(np.zeros((2, 3)))
    ("'cuda'", 'ndarray of shape (2, 3)')
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"{type(value).__name__} of shape {tuple(shape)}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:60]}... ({type(value).__name__})"


def too_large(operation: str, shape: Sequence[int], dtype: Any, where: object) -> OutOfMemory:
    """The error for memory that a device cannot give."""
    needed = math.prod(shape) * dtype.size
    return OutOfMemory(
        f"{operation}: shape {tuple(shape)} of {dtype} needs {needed:,} bytes, more than {where!r} can give"
    )


class DataError(BurnError, ValueError):
    """Host data that cannot become a tensor, or cannot be read as asked."""


def raise_faults(operation: str, faults: Sequence[str], error: type[BurnError] = ArgumentError) -> None:
    """Raise one `error` that lists every fault found; do nothing when there is none."""
    if len(faults) == 1:
        raise error(f"{operation}: {faults[0]}")
    if faults:
        numbered = "\n".join(f"  {number}. {fault}" for number, fault in enumerate(faults, 1))
        raise error(f"{operation}: {len(faults)} faults\n{numbered}")
