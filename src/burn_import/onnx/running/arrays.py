"""What a run is given and gives: arrays by name, checked as the file says them, on their way to a device and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import burn
from burn import Device, Tensor
from burn.dtype import from_numpy
from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir.types import ElementType


def checked(names: Sequence[str], dtypes: Sequence[Any], sizes: Sequence[Any], inputs: Mapping[str, Any]) -> list[Any]:
    """The inputs in order, in the dtypes that the model takes; everything that is wrong with them is one error."""
    missing = [name for name in names if name not in inputs]
    unknown = [name for name in inputs if name not in names]
    if missing or unknown:
        faults = [f"input {name!r} is missing" for name in missing]
        faults += [f"there is no input {name!r}; there are {', '.join(names)}" for name in unknown]
        raise OnnxError("run", faults)
    given = [inputs[name] for name in names]
    for index, (dtype, value) in enumerate(zip(dtypes, given)):
        if dtype is not None and (value.__class__ is not np.ndarray or value.dtype != dtype):
            given = [*given[:index], *in_dtypes(names[index:], dtypes[index:], given[index:])]
            break
    if not all(map(fits, given, sizes)):
        raise OnnxError("run", size_faults(names, sizes, given))
    return given


def in_dtypes(names: Sequence[str], dtypes: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """Inputs in the dtypes that the model takes: Python's numbers are converted, arrays of another dtype refused."""
    found, faults = [], []
    for name, dtype, value in zip(names, dtypes, given):
        if dtype is None:
            found.append(value)
            continue
        if value is None:
            faults.append(f"input {name!r} is None, and the model takes a tensor of {dtype.name}")
            continue
        is_tensor, is_array = isinstance(value, Tensor), hasattr(value, "dtype")
        array: Any = value if is_tensor else np.asarray(value)
        has = array.dtype.numpy if is_tensor else array.dtype
        if has == dtype or (dtype.kind == "O" and has.kind in "OUS"):
            found.append(array)
        elif is_array or _KINDS.find(has.kind) > _KINDS.find(dtype.kind):
            wanted = "str" if dtype.kind == "O" else from_numpy(dtype).name if is_tensor else f"np.{dtype.name}"
            advice = f'.cast("{wanted}")' if is_tensor else f".astype({wanted})"
            faults.append(f"input {name!r} is {has.name}, and the model takes {dtype.name}; write {name}{advice}")
        else:
            found.append(array.astype(dtype))
    if faults:
        raise OnnxError("run", faults)
    return found


_KINDS = "buifcV"  # from narrow to wide; V are the floats that NumPy does not have


def dtype_of(port: Mapping[str, Any]) -> Any:
    """The dtype of an input as NumPy has it; None where it is no tensor or not known."""
    name = port.get("dtype")
    found = next((each for each in ElementType if str(each) == name), None)
    return None if found is None else np.dtype(found.numpy)


def sizes_of(port: Mapping[str, Any]) -> tuple[int | None, ...] | None:
    """The sizes that the file gives an input as numbers, None for those it leaves open; None where all is open."""
    shape = port.get("shape")
    return None if shape is None else tuple(size if isinstance(size, int) else None for size in shape)


def fits(value: Any, sizes: tuple[int | None, ...] | None) -> bool:
    """Whether an input has the sizes that the file gives it."""
    if sizes is None or value is None:
        return True
    shape = tuple(value.shape) if hasattr(value, "shape") else np.shape(value)
    return shape == sizes or (
        len(shape) == len(sizes) and all(size is None or has == size for has, size in zip(shape, sizes))
    )


def size_faults(names: Sequence[str], sizes: Sequence[Any], given: Sequence[Any]) -> list[str]:
    faults = []
    for name, wanted, value in zip(names, sizes, given):
        if not fits(value, wanted):
            shape = tuple(value.shape) if hasattr(value, "shape") else np.shape(value)
            text = ", ".join("any" if size is None else str(size) for size in wanted)
            reason = f"input {name!r} has shape {list(shape)}, and the model takes [{text}]"
            if len(shape) == len(wanted):
                reason += "; to try other sizes than those of the file, call the model with tensors: model(x)"
            faults.append(reason)
    return faults


def to_device(value: Any, device: Device) -> Any:
    if value is None or isinstance(value, dict):
        return value
    if isinstance(value, list):
        return [to_device(each, device) for each in value]
    if isinstance(value, Tensor):
        return value.to(device)
    array = np.asarray(value)
    return array if array.dtype.kind in "OUS" else burn.tensor(array, device=device)


def to_host(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, list | tuple):
        return [to_host(each) for each in value]
    return value
