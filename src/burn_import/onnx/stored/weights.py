"""The weights of a stored program, found in a record: by the paths that the program states for its constants.

A layer's parameters lie together, so the paths of several constants tell which layer of the record a node is. What a
record leaves open - two layers of one weight that were trained apart, a file without names - only the module can load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from burn.record import ParamItem, Record
from burn.tensor import TensorData
from burn_import.onnx.code.fields import LITERAL, Array, Source, Weight, array_of
from burn_import.onnx.errors import OnnxError, TextOnly
from burn_import.onnx.ir.model import Model
from burn_import.onnx.stored.decoding import Records


class RecordWeights:
    """Constants with the elements that a record has for them."""

    def __init__(self, record: Record, records: Records, parameters: Sequence[str]) -> None:
        self._arrays = dict(_tensors(record.item, ""))
        self._records = records
        self._check(parameters)
        claimed = {path for paths in records.values() for path in paths}
        self._tables = [path for path in parameters if path not in claimed]
        if any(self._arrays[path].size <= LITERAL for path in self._tables):
            raise TextOnly("a program that does not tell whose every parameter is")

    def _check(self, parameters: Sequence[str]) -> None:
        faults = [f"{path}: missing in the record" for path in parameters if path not in self._arrays]
        faults += [f"{path}: not in the program" for path in self._arrays if path not in set(parameters)]
        if faults:
            raise OnnxError("open_program", [f"the record does not fit the program: {each}" for each in faults[:20]])

    def count(self, model: Model) -> int:
        return sum(array.size for array in self._arrays.values() if array.dtype.kind in "fV")

    def has(self, source: Source) -> bool:
        """Whether the record has a constant."""
        return isinstance(source, Weight) and source.value in self._records

    def parameter(self, source: Source) -> Array:
        if not isinstance(source, Weight):
            return self._table(source)
        paths = self._records.get(source.value)
        if paths is None:
            return array_of(source)
        constant = source.value.constant
        assert constant is not None
        found = [self._array(path, source) for path in paths]
        if source.change is None:
            found = [each for each in found if each.shape == constant.shape]
            if not found:
                raise _unfit(paths[0], self._arrays.get(paths[0]), constant.shape)
        if any(each is not found[0] and not np.array_equal(each, found[0]) for each in found):
            raise TextOnly("a constant that is several parameters")
        return found[0]

    def layer(self, sources: Mapping[str, Source]) -> dict[str, Array]:
        prefixes: set[str] | None = None
        for path, source in sources.items():
            if isinstance(source, Weight) and source.value in self._records:
                ends = {each.removesuffix(f".{path}") for each in self._records[source.value]
                        if each.endswith(f".{path}")}  # fmt: skip
                prefixes = ends if prefixes is None else prefixes & ends
        if prefixes is None or not prefixes:
            raise TextOnly("a layer that no path names")
        first, *others = ({path: self._array(f"{prefix}.{path}", source) for path, source in sources.items()}
                          for prefix in sorted(prefixes))  # fmt: skip
        if any(not np.array_equal(array, other[path]) for other in others for path, array in first.items()):
            raise TextOnly("layers that were one")
        return first

    def _table(self, array: Array) -> Array:
        if array.size <= LITERAL and array.dtype.kind in "biuf":
            return array
        for path in self._tables:
            found = self._arrays[path]
            if found.shape == array.shape and np.array_equal(found.astype(array.dtype), array):
                return array
        raise TextOnly("a table that is not in the record")

    def _array(self, path: str, source: Source) -> Array:
        found = self._arrays.get(path)
        if found is None:
            raise OnnxError("open_program", [f"the record does not fit the program: {ascii(path)[:80]} is missing"])
        if isinstance(source, Weight):
            assert source.value.constant is not None
            dtype = source.value.constant.dtype.numpy
        else:
            dtype = source.dtype
        return found if found.dtype == dtype else found.astype(dtype)


def _unfit(path: str, found: Any, shape: Sequence[int]) -> OnnxError:
    has = list(found.shape) if found is not None else "nothing"
    return OnnxError("open_program", [f"the record does not fit the program: {path} has {has}, not {list(shape)}"])


def _tensors(item: Any, path: str) -> Iterator[tuple[str, Array]]:
    """Every tensor of a record by its path."""
    if isinstance(item, ParamItem):
        item = item.data
    if isinstance(item, TensorData):
        yield path, item.numpy()
    elif isinstance(item, dict):
        for name, each in item.items():
            yield from _tensors(each, f"{path}.{name}" if path else str(name))
    elif isinstance(item, list | tuple) and type(item) in (list, tuple):
        for index, each in enumerate(item):
            yield from _tensors(each, f"{path}.{index}" if path else str(index))
    elif item is not None:
        raise TextOnly(f"{type(item).__name__} in a record")


__all__ = ["RecordWeights"]
