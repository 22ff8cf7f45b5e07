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
    """Base of every error this package raises on purpose.

    Each is also the built-in exception that one would expect, such as `ValueError`, and its message says what to write.

    >>> try:
    ...     burn.tensor([1, 2]).reshape([3])
    ... except burn.BurnError as error:
    ...     print(type(error).__name__, isinstance(error, ValueError))
    ShapeError True
    """


class ShapeError(BurnError, ValueError):
    """Shapes, ranks, dims or sizes that do not fit the operation.

    >>> burn.tensor([1, 2]) + burn.tensor([1, 2, 3])
    Traceback (most recent call last):
        ...
    burn.errors.ShapeError: add: shapes (2,) and (3,) do not broadcast: 2 != 3 at dim -1
    """


class DTypeError(BurnError, TypeError):
    """Element types that the operation does not take.

    >>> burn.tensor([1.0]) & burn.tensor([1.0])
    Traceback (most recent call last):
        ...
    burn.errors.DTypeError: bitwise_and: needs ints or bools, got f32; convert it with .int()
    """


class DeviceError(BurnError, RuntimeError):
    """Tensors on different hardware, or a device that is not there.

    >>> burn.Fusion("cpu")
    Traceback (most recent call last):
        ...
    burn.errors.DeviceError: Fusion: needs a device, got 'cpu'; write Fusion(NdArray())
    """


class AutodiffError(BurnError, RuntimeError):
    """Gradients asked of something that records no graph, or of a graph already used up.

    >>> Tensor.zeros([1], burn.NdArray()).grad({})
    Traceback (most recent call last):
        ...
    burn.errors.AutodiffError: grad: this tensor lives on NdArray(), which records no graph; ...
    """


class IndexingError(BurnError, IndexError):
    """Index values outside the dimension they address.

    >>> burn.tensor([1, 2]).select(0, burn.tensor([5]))
    Traceback (most recent call last):
        ...
    burn.errors.IndexingError: select: index 5 is out of range for dim 0 of size 2
    """

    index: int | None = None
    """The index value, where it was found in data."""
    size: int | None = None
    """The size of the dimension it addresses."""


class ArgumentError(BurnError, ValueError):
    """A Python argument outside the values the operation takes.

    >>> burn.tensor([1.0, 2.0]).split(0)
    Traceback (most recent call last):
        ...
    burn.errors.ArgumentError: split: split_size must be 1 or more, got 0
    """


class CallError(ArgumentError, TypeError):
    """Arguments that do not fit the signature: too many, too few, or unknown names.

    >>> burn.tensor([1.0]).cumsum(axis=0)
    Traceback (most recent call last):
    burn.errors.CallError: cumsum: unknown argument 'axis'; did you mean 'dim'?; missing dim; write cumsum(x, dim)
    """


class MissingOperation(BurnError, NotImplementedError):
    """A backend that lacks an operation, or a package that is not installed.

    >>> burn.NdArray().memory()
    Traceback (most recent call last):
        ...
    burn.errors.MissingOperation: memory: NdArray() does not count its memory; use a device such as Cpu()
    """


class OutOfMemory(BurnError, MemoryError):
    """More memory than the device can give.

    >>> Tensor.empty([1 << 45], burn.NdArray(), "f64")
    Traceback (most recent call last):
        ...
    burn.errors.OutOfMemory: empty: shape (35184372088832,) of f64 needs 281,474,976,710,656 bytes, ...
    """


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
    """Host data that cannot become a tensor, or cannot be read as asked.

    >>> burn.tensor([1, 2]).item()
    Traceback (most recent call last):
        ...
    burn.errors.DataError: into_scalar: a tensor of shape (2,) has 2 elements, not one
    """


def raise_faults(operation: str, faults: Sequence[str], error: type[BurnError] = ArgumentError) -> None:
    """Raise one `error` that lists every fault found; do nothing when there is none."""
    if len(faults) == 1:
        raise error(f"{operation}: {faults[0]}")
    if faults:
        numbered = "\n".join(f"  {number}. {fault}" for number, fault in enumerate(faults, 1))
        raise error(f"{operation}: {len(faults)} faults\n{numbered}")
