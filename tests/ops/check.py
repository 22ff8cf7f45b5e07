"""Helpers of the row tests: arguments onto a device, results off it, PyTorch's answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import torch

from burn.device import Device
from burn.dtype import from_numpy
from burn.ops.op import Op
from burn.tensor import Tensor, TensorData
from burn.tensor.methods.creation import place
from tests.ops.sample import Sample

WIDTHS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def function_of(op: Op, device: Device) -> Callable[..., Any]:
    """The public function of a row; creation rows are told the device."""
    import importlib

    module = importlib.import_module(op.function.__module__)
    function = getattr(module, op.function.__name__)
    if op.operand_count == 0 or op.family in ("creation", "random"):
        return lambda *args, **kwargs: function(*args, device=device, **kwargs)
    return function  # type: ignore[no-any-return]


def on_device(
    device: Device, sample: Sample, width: str, *, leaves: list[Any] | None = None, through: bool = False
) -> list[Any]:
    """The arguments as tensors. `through` rounds floats to `width` and then computes in f32."""

    def convert(value: Any) -> Any:
        if isinstance(value, list):
            return [convert(each) for each in value]
        if not isinstance(value, np.ndarray):
            return value
        array = value
        if value.dtype == np.float64:
            array = _strided_like(value, value.astype(WIDTHS[width]))
            if through:
                array = array.astype(np.float32)
        tensor = _tensor(array, device)
        if leaves is not None and value.dtype == np.float64:
            tensor = tensor.require_grad()
            leaves.append(tensor)
        return tensor

    return [convert(value) for value in sample.args]


def _strided_like(original: np.ndarray[Any, Any], array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`array`, as a strided view if the sample was one."""
    if original.flags.c_contiguous or original.ndim == 0:
        return array
    wide = np.repeat(array, 2, axis=-1)
    return wide[..., ::2]


def _tensor(array: np.ndarray[Any, Any], device: Device) -> Tensor[Any]:
    from burn.backend.host_arrays import HostArrays
    from burn.engine.runtime import Engine
    from burn.shape import Shape

    without_strides = isinstance(device.base, Engine) and not device.base.host_memory
    if array.flags.c_contiguous or without_strides:
        return place(TensorData(np.array(array, order="C")), device)

    if isinstance(device.base, HostArrays):
        plain = Tensor(array, device.base, from_numpy(array.dtype), Shape(array.shape))
    else:
        whole = place(TensorData(np.repeat(array, 2, axis=-1)), device.base)
        plain = Tensor(whole.handle[..., ::2], device.base, whole.dtype, Shape(array.shape))
    return plain if device is device.base else plain.to(device)


def results(out: Any) -> list[np.ndarray[Any, Any]]:
    """The results as NumPy arrays, checking that a tensor tells its own shape and dtype truly."""
    arrays = []
    for each in out if isinstance(out, tuple | list) else [out]:
        array = np.asarray(each)
        assert tuple(each.shape) == array.shape, f"the tensor says {each.shape}, its values have {array.shape}"
        assert each.dtype is from_numpy(array.dtype), f"the tensor says {each.dtype}, its values are {array.dtype}"
        arrays.append(array)
    return arrays


def to_torch_value(value: Any, width: str, leaves: list[torch.Tensor] | None = None) -> Any:
    """A sample's argument for PyTorch."""
    if isinstance(value, list):
        return [to_torch_value(each, width, leaves) for each in value]
    if not isinstance(value, np.ndarray):
        return value
    floating = value.dtype == np.float64
    tensor = torch.from_numpy(np.array(value.astype(WIDTHS[width]) if floating else value, order="C"))
    if leaves is not None and floating:
        tensor.requires_grad_(True)
        leaves.append(tensor)
    return tensor


def torch_gradients(oracle: Callable[..., Any], sample: Sample) -> list[Any] | None:
    """PyTorch's gradients of the sum of all float results; None where there is nothing to differentiate."""
    leaves: list[torch.Tensor] = []
    out = oracle(*[to_torch_value(a, "f64", leaves) for a in sample.args], **sample.kwargs)
    parts = [a for a in (out if isinstance(out, tuple | list) else [out]) if a.is_floating_point() and a.requires_grad]
    if not leaves or not parts:
        return None
    total = sum(part.sum() for part in parts)
    try:
        found = torch.autograd.grad(total, leaves, allow_unused=True)
    except RuntimeError as error:
        if "is not implemented" not in str(error):
            raise
        return None
    return [None if g is None else g.numpy() for g in found]


def assert_close(
    ours: list[np.ndarray[Any, Any]], theirs: list[np.ndarray[Any, Any]], sample: Sample, what: str, dtypes: bool = True
) -> None:
    """Equal shapes, dtypes and values, as exactly as the dtype allows."""
    assert len(ours) == len(theirs), f"{what}: {len(ours)} results against {len(theirs)}"
    for mine, expected in zip(ours, theirs, strict=True):
        assert mine.shape == expected.shape, f"{what}: shape {mine.shape} against {expected.shape}"
        if dtypes:
            assert mine.dtype == expected.dtype, f"{what}: dtype {mine.dtype} against {expected.dtype}"
        exact = expected.dtype.kind in "iub"
        single = np.dtype(np.float32) in (expected.dtype, mine.dtype)
        rtol = 0.0 if exact else sample.tolerance or (1e-5 if single else 1e-9)
        np.testing.assert_allclose(
            mine, expected, rtol=rtol, atol=0.0 if exact else (sample.tolerance or rtol), equal_nan=True, err_msg=what
        )
