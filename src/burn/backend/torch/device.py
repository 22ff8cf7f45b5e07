"""The `LibTorch` device: handles are torch tensors.

Kernels run under `torch.no_grad()`: torch's own graph is never used. Torch stores 16, 32 and 64-bit
unsigned integers but computes almost nothing in them, so an operation that meets one runs on NumPy.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from burn.backend.ndarray import NdArray
from burn.backend.torch.activation import Activation
from burn.backend.torch.convolution import Convolution
from burn.backend.torch.creation import Creation
from burn.backend.torch.dtypes import HOST_ONLY, from_torch, to_torch
from burn.backend.torch.elementwise import Elementwise
from burn.backend.torch.indexing import Indexing
from burn.backend.torch.linalg import Linalg
from burn.backend.torch.movement import Movement
from burn.backend.torch.normalization import Normalization
from burn.backend.torch.pooling import Pooling
from burn.backend.torch.quantization import Quantization
from burn.backend.torch.random import Random
from burn.backend.torch.reduce import Reduce
from burn.backend.torch.signal import Signal
from burn.backend.torch.sort import Sort
from burn.backend.torch.spatial import Spatial
from burn.device import Device
from burn.dtype import DType, bf16, f32, from_numpy, i64
from burn.dtype import dtype as as_dtype
from burn.errors import DeviceError
from burn.ops import dispatch

if TYPE_CHECKING:
    from burn.ops.op import Op


def available() -> list[str]:
    """The names of the torch devices present on this machine."""
    names = ["cpu"]
    names += [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        names.append("mps")
    if torch.is_vulkan_available():
        names.append("vulkan")
    return names


class LibTorch(
    Activation, Convolution, Creation, Elementwise, Indexing, Linalg, Movement, Normalization, Pooling, Quantization,
    Random, Reduce, Signal, Sort, Spatial, Device,
):  # fmt: skip
    """The kernels of PyTorch, on whatever it runs on.

    Arguments:
        name: "cpu", "cuda:0", "mps" or "vulkan".
        float, int: the dtypes that new tensors get.

    >>> (Tensor.ones([2], burn.LibTorch("cpu")) + 1.0).tolist()
    [2.0, 2.0]
    """

    label = "libtorch"

    def __init__(self, name: str = "cpu", float: DType = f32, int: DType = i64) -> None:
        super().__init__()
        self.name = _normal(name)
        self.place = {"cpu": "Cpu", "mps": "Mps", "vulkan": "Vulkan"}.get(self.name, "")
        if not self.place:
            self.place = f"Cuda({self.name.partition(':')[2]})"
        self.torch_device = torch.device(self.name)
        self.float_dtype = as_dtype(float)
        self.int_dtype = as_dtype(int)

    @classmethod
    def identity(cls, name: str = "cpu", float: Any = f32, int: Any = i64) -> tuple[Any, ...]:
        normal = _normal(name)
        present = available()
        if normal not in present:
            shown = ", ".join(f"LibTorch({each!r})" for each in present)
            raise DeviceError(f"LibTorch: there is no {name!r} on this machine; present are {shown}")
        return normal, as_dtype(float), as_dtype(int)

    @property
    def hardware(self) -> tuple[Any, ...]:
        return (LibTorch, self.name)

    def resolve(self, op: Op) -> Any:
        kernel = super().resolve(op)
        if kernel is None or op.kind in ("hosted", "region"):
            return kernel
        return self._without_graph(kernel, op)

    def _without_graph(self, kernel: Any, op: Op) -> Any:
        on_host = functools.lru_cache(1)(lambda: self._on_host(op))

        @torch.no_grad()
        def run(*args: Any) -> Any:
            for each in args:
                if each.__class__ is list:
                    if any(part.dtype in HOST_ONLY for part in each if isinstance(part, torch.Tensor)):
                        return on_host()(*args)
                elif each.__class__ is torch.Tensor and each.dtype in HOST_ONLY:
                    return on_host()(*args)
            return kernel(*args)

        return run

    def _on_host(self, op: Op) -> Any:
        """The kernel of `op` on NumPy, with copies around it."""
        host = NdArray(self.float_dtype, self.int_dtype)
        kernel = host.kernels[op] or dispatch.body_kernel(op, host)

        def run(*args: Any) -> Any:
            result = kernel(*[self._down(each) for each in args])
            if isinstance(result, tuple):
                return tuple(self.from_host(np.asarray(each)) for each in result)
            return self.from_host(np.asarray(result))

        return run

    def _down(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.to_host(value)
        return [self._down(each) for each in value] if value.__class__ is list else value

    def sync(self) -> None:
        if self.name.startswith("cuda"):
            torch.cuda.synchronize(self.torch_device)

    def is_handle(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def from_host(self, array: np.ndarray[Any, Any]) -> torch.Tensor:
        dtype = from_numpy(array.dtype)
        if dtype.numpy.isbuiltin == 1:
            array = np.asarray(array, dtype.numpy)  # equal dtypes need not be the built-in one
            result = torch.from_numpy(array if array.flags.writeable and array.flags.c_contiguous else array.copy())
        else:
            bits = np.uint16 if dtype is bf16 else np.uint8
            result = torch.from_numpy(array.view(bits).copy()).view(to_torch(dtype))
        return result.to(self.torch_device)

    def to_host(self, handle: torch.Tensor) -> np.ndarray[Any, Any]:
        dtype = from_torch(handle.dtype)
        handle = handle.detach().to("cpu")
        if dtype.numpy.isbuiltin == 1:
            return handle.resolve_conj().resolve_neg().numpy()
        bits = torch.uint16 if dtype is bf16 else torch.uint8
        return handle.contiguous().view(bits).numpy().view(dtype.numpy)

    def shape_of(self, handle: torch.Tensor) -> tuple[int, ...]:
        return tuple(handle.shape)

    def dtype_of(self, handle: torch.Tensor) -> DType:
        return from_torch(handle.dtype)

    def to_dlpack(self, handle: torch.Tensor, **options: Any) -> Any:
        return handle.__dlpack__(**options)

    def dlpack_device(self, handle: torch.Tensor) -> tuple[int, int]:
        kind, index = handle.__dlpack_device__()
        return int(kind), index

    def from_dlpack(self, other: Any, copy: bool) -> torch.Tensor:
        handle = torch.utils.dlpack.from_dlpack(other).detach()
        moved = handle.to(self.torch_device)
        return moved.clone() if copy and moved is handle else moved

    def __repr__(self) -> str:
        settings = [repr(self.name)]
        if self.float_dtype is not f32:
            settings.append(f"float={self.float_dtype}")
        if self.int_dtype is not i64:
            settings.append(f"int={self.int_dtype}")
        return f"LibTorch({', '.join(settings)})"

    def __reduce__(self) -> Any:
        return LibTorch, (self.name, self.float_dtype, self.int_dtype)


def _body_on(host: NdArray, op: Op) -> Any:
    """A composite's body on tensors of the host: for one that has a kernel here and none there."""

    def run(*args: Any) -> Any:
        count = op.operand_count
        operands = [dispatch.wrap(host, each) if host.is_handle(each) else each for each in args[:count]]
        result = op.function(*op.unbind(operands, list(args[count:])))
        return tuple(each.handle for each in result) if isinstance(result, tuple) else result.handle

    return run


def _normal(name: str) -> str:
    if not isinstance(name, str):
        raise DeviceError(f"LibTorch: the device is a name such as 'cpu' or 'cuda:0', got {name!r}")
    return "cuda:0" if name == "cuda" else name
