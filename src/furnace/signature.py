"""What a model takes and gives, and the check of a request against it before anything runs.

A size is a number, a name (the same name is the same size in all inputs), or None (any). A model is *batchable* when
the first size of all inputs and outputs is one and the same name: then rows of several requests may share a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from furnace import datatypes
from furnace.datatypes import Array
from furnace.errors import InvalidInput

Size = int | str | None


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One input or output of a served model: its `name`, `datatype` and `shape`.

    A size is a number, a name (the same name is the same size everywhere), or None for any. `shape` is None when even
    the rank is open, `datatype` None when any will do. `optional` inputs may be left out.

    >>> from furnace import TensorSpec
    >>> TensorSpec("image", "FP32", ("batch", 28, 28)).wire_shape
    [-1, 28, 28]
    """

    name: str
    datatype: str | None = "FP32"
    shape: tuple[Size, ...] | None = None
    optional: bool = False

    @property
    def wire_shape(self) -> list[int]:
        """The shape as protocols say it: -1 for sizes that vary."""
        return [-1] if self.shape is None else [size if isinstance(size, int) else -1 for size in self.shape]

    def __str__(self) -> str:
        shape = (
            "any shape"
            if self.shape is None
            else "[" + ", ".join("?" if s is None else str(s) for s in self.shape) + "]"
        )
        return f"{self.name} {self.datatype or 'any type'} {shape}"

    def described(self) -> dict[str, Any]:
        """For metadata and error details."""
        shape = None if self.shape is None else list(self.shape)
        return {"name": self.name, "datatype": self.datatype, "shape": shape}


@dataclass(frozen=True, slots=True)
class Signature:
    """The `inputs` and `outputs` of a model, in order.

    >>> from furnace import Signature, TensorSpec
    >>> signature = Signature((TensorSpec("x", "FP32", ("batch", 4)),), (TensorSpec("y", "FP32", ("batch", 2)),))
    >>> signature.batch_symbol
    'batch'
    >>> [array.shape for array in signature.checked({"x": np.zeros((3, 4), np.float32)}, limit=1000, finite=True)]
    [(3, 4)]
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]

    @property
    def batch_symbol(self) -> str | None:
        """The name of the batch size; None when rows cannot be joined."""
        firsts = {each.shape[0] if each.shape else None for each in (*self.inputs, *self.outputs)}
        only = firsts.pop() if len(firsts) == 1 else None
        return only if isinstance(only, str) and self.inputs else None

    def expected(self) -> list[dict[str, Any]]:
        """What the model takes, for error details."""
        return [each.described() for each in self.inputs]

    def checked(self, arrays: Mapping[str, Array], *, limit: int, finite: bool) -> list[Array | None]:
        """The inputs (`arrays` by name) in order; InvalidInput with every fault when they are not what the model takes.

        `limit` is how many elements an input may have; `finite` refuses NaN and infinity.
        """
        faults: list[str] = []
        known = {each.name for each in self.inputs}
        for name in arrays:
            if name not in known:
                faults.append(f"there is no input {name!r}; the model takes {', '.join(map(repr, known))}")
        sizes: dict[str, tuple[int, str]] = {}
        found: list[Array | None] = []
        for spec in self.inputs:
            array = arrays.get(spec.name)
            if array is None:
                if not spec.optional:
                    faults.append(f"input {spec.name!r} is missing: expected {spec}")
                found.append(None)
                continue
            faults += _faults(spec, array, sizes, limit, finite)
            found.append(array)
        if faults:
            raise InvalidInput(faults, self.expected())
        return found


def is_finite(array: Array) -> bool:
    """Whether there is no NaN and no infinity."""
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


def _faults(
    spec: TensorSpec, array: Array, sizes: dict[str, tuple[int, str]], limit: int, finite: bool
) -> Sequence[str]:
    faults = []
    name = datatypes.wire_name(array.dtype)
    if spec.datatype is not None and name != spec.datatype:
        faults.append(f"input {spec.name!r} is {name}, the model takes {spec.datatype}")
    if array.size > limit:
        faults.append(f"input {spec.name!r} has {array.size} elements, the limit is {limit}")
    if spec.shape is not None:
        if array.ndim != len(spec.shape):
            faults.append(f"input {spec.name!r} has shape {list(array.shape)}, expected {spec}")
        else:
            for dim, (size, given) in enumerate(zip(spec.shape, array.shape)):
                if isinstance(size, int):
                    if size != given:
                        faults.append(f"input {spec.name!r} has {given} at dim {dim}, expected {size} of {spec}")
                elif size is not None and size.isidentifier():
                    before, where = sizes.setdefault(size, (given, spec.name))
                    if before != given:
                        faults.append(f"{size} is {before} in input {where!r} and {given} in {spec.name!r}")
    if finite and not is_finite(array):
        faults.append(f"input {spec.name!r} holds NaN or infinity; start with --allow-non-finite to let them through")
    return faults
