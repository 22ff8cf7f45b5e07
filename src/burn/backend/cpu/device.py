"""The `Cpu` device: our own engine on the processor.

`Cpu()` records operations and runs them as plans (it is `Fusion` around the plain device);
`Cpu(fusion=False)` runs each operation at once.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from burn.backend.cpu.kept import KeptMemory
from burn.backend.cpu.memory import LARGE, Memory, MemoryUse
from burn.backend.cpu.pool import pool
from burn.backend.cpu.settings import Settings, settings
from burn.backend.cpu.target import CpuTarget, target_of
from burn.backend.fusion import Fusion
from burn.backend.host_arrays import HostArrays
from burn.backend.ndarray import NdArray
from burn.backend.ndarray.quiet import quiet
from burn.backend.regions import region_kernel
from burn.device import Device
from burn.dtype import DType, f32, i64
from burn.dtype import dtype as as_dtype
from burn.engine.runtime import Engine, Fixed, Loop, Plan, with_constants
from burn.errors import ArgumentError, DeviceError, MissingOperation
from burn.ops.op import Op
from burn.program import Program
from burn.symbolic import NotForSizes


class Cpu(HostArrays, Engine):
    """The processor, through kernels generated for it. What has no kernel yet runs on NumPy.

    Arguments:
        fusion: False runs each operation by itself, at once.
        float, int: the dtypes that new tensors get.
        accuracy: "exact" takes no shorter way that costs accuracy, as "fast" may.
        features: the newest instructions to use, such as "avx2".
        sanitize: whether kernels look before they touch memory (see `burn.backend.cpu.sanitizer`).
        mapped_weights, kept_memory: bytes for prepared weights, and for plans that may run again.

    >>> x = burn.tensor([1.0, 2.0], device=burn.Cpu())
    >>> (x.exp() * 2.0).to_data()
    TensorData([5.4365635, 14.778112], shape=[2], dtype=f32)
    """

    host: NdArray
    label = "cpu"
    host_memory = True

    def __init__(
        self,
        *,
        fusion: bool = True,
        float: DType = f32,
        int: DType = i64,
        accuracy: str | None = None,
        mapped_weights: Any = None,
        sanitize: bool | None = None,
        features: str | None = None,
        kept_memory: Any = None,
    ) -> None:
        super().__init__(float, int)
        self.host = NdArray(float, int)
        if find_spec("llvmlite") is None:
            raise DeviceError(
                "Cpu(): kernels are compiled with llvmlite, which is not installed; write pip install 'burn-dl[cpu]', "
                "or use NdArray()"
            )
        self.settings = settings(accuracy, mapped_weights, sanitize, features, kept_memory)
        self._memory = Memory()
        self.kept = KeptMemory(self.settings.kept_memory)

    @classmethod
    def identity(
        cls,
        float: Any = f32,
        int: Any = i64,
        *,
        fusion: bool = True,
        accuracy: str | None = None,
        mapped_weights: Any = None,
        sanitize: bool | None = None,
        features: str | None = None,
        kept_memory: Any = None,
    ) -> tuple[Any, ...]:
        if not isinstance(fusion, bool):
            raise ArgumentError(f"Cpu: fusion is {fusion!r}; write fusion=False, or leave it out")
        chosen = settings(accuracy, mapped_weights, sanitize, features, kept_memory)
        return (fusion, *super().identity(float, int), chosen)

    @classmethod
    def normal_form(cls, *, fusion: bool = True, **given: Any) -> Device | None:
        return Fusion(cls(fusion=False, **given)) if fusion is True else None

    @property
    def hardware(self) -> tuple[Any, ...]:
        return ("cpu",)

    @property
    def target(self) -> CpuTarget:
        return target_of(self.settings.target, pool().threads)

    def resolve(self, op: Op) -> Any:
        """A node alone runs on NumPy."""
        kernel = op.registered_kernel(self)
        if kernel is not None:
            return quiet(kernel, len(op.parameters))
        if op.kind == "hosted":
            return self._hosted(op)
        if op.kind == "region":
            return region_kernel(self, op)
        try:
            return self.host.kernels[op]
        except MissingOperation:
            raise MissingOperation(f"{op.name}: {self!r} has no kernel for this operation") from None

    def prepare_program(self, program: Program, free: tuple[bool, ...]) -> Plan:
        from burn.backend.cpu.plan import prepare  # all that lowers: a stored plan runs without it

        return prepare(program, free, self)

    def prepare_fixed(self, program: Program, constants: Mapping[int, Any], numbers: Sequence[float] = ()) -> Fixed:
        from burn.backend.cpu.frozen.fixed import FixedPlan
        from burn.backend.cpu.frozen.making import is_symbolic, obstacle
        from burn.backend.cpu.frozen.staged import staged
        from burn.backend.cpu.plan import prepare_keeping

        plan = prepare_keeping(program, self)
        reason = obstacle(plan, constants)
        if reason is None:
            return FixedPlan(plan, constants, numbers)
        if is_symbolic(program):
            raise NotForSizes(reason)
        stages = staged(plan, constants, numbers)
        if stages is not None:
            return stages
        return with_constants(plan, program, constants, numbers)

    def prepare_loop(
        self, body: Program, carried: int, scanned: int = 0, condition: Program | None = None
    ) -> Loop | None:
        from burn.backend.cpu.repeating import NativeLoop

        return NativeLoop(self, body, carried, scanned, condition)

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> np.ndarray[Any, Any]:
        # Large blocks are kept and given out again.
        size = math.prod(shape) * dtype.size
        if size < LARGE:
            return np.empty(shape, dtype.numpy)
        return self._memory.array(tuple(shape), dtype.numpy, size)

    def memory(self) -> MemoryUse:
        """Bytes of results: that live, kept for later ones, at most so far; and what plans keep to run again.

        >>> x = Tensor.ones([1000], burn.Cpu()) + 1.0
        >>> burn.Cpu().memory().live >= 0
        True
        """
        return dataclasses.replace(self._memory.use(), plans=self.kept.bytes())

    def from_host(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return self.settled(array)

    def settled(self, handle: Any) -> np.ndarray[Any, Any]:
        if handle.__class__ is np.ndarray and handle.flags.c_contiguous:
            return handle
        return np.ascontiguousarray(handle).reshape(np.shape(handle))

    def fused_name(self) -> str:
        return f"Cpu({', '.join(self._settings())})"

    def _settings(self) -> list[str]:
        return self.dtype_settings() + self.settings.arguments()

    def __repr__(self) -> str:
        return f"Cpu({', '.join(['fusion=False', *self._settings()])})"

    def __reduce__(self) -> Any:
        return _plain, (as_dtype(self.float_dtype), as_dtype(self.int_dtype), self.settings)


def _plain(float: DType, int: DType, given: Settings | None = None) -> Device:
    chosen = settings() if given is None else given
    return Cpu(fusion=False, float=float, int=int, **dataclasses.asdict(chosen))
