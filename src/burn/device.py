"""Devices: values that say who computes.

A device is an interned instance of a backend, so `NdArray() is NdArray()`, and its `repr` is the
source that makes it. Decorators such as `Autodiff` are devices made of devices. A device holds a
table from operation to kernel; the table is filled the first time an operation is used.
"""

from __future__ import annotations

import contextlib
import contextvars
import operator
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, overload

from burn.dtype import DType, f32, i64
from burn.errors import ArgumentError, AutodiffError, DeviceError, MissingOperation

if TYPE_CHECKING:
    import numpy as np

    from burn.backend.autodiff import Autodiff
    from burn.ops.op import Op
    from burn.tensor import Tensor

D = TypeVar("D", bound="Device")
Kernel = Callable[..., Any]


_SEED: int | None = None
"""What generators made later begin with, if `seed_all` was called."""


class Generator:
    """A counter-based random stream: a `seed`, and an offset that each draw moves forward.

    Element `i` of a draw depends on nothing but the seed and `offset + i // 4`, so a draw can be
    recorded, split or repeated elsewhere with the same numbers.

    >>> from burn.device import Generator
    >>> generator = Generator(7)
    >>> before = generator.state()
    >>> generator.reserve(10), generator.state()
    ((7, 0), (7, 3))
    >>> generator.restore(before)
    """

    def __init__(self, seed: int | None = None) -> None:
        self._lock = threading.Lock()
        if seed is None:
            seed = _SEED if _SEED is not None else int.from_bytes(os.urandom(8), "little")
        self._seed = seed % (1 << 64)
        self._offset = 0

    def seed(self, value: int) -> None:
        """Start the stream of `value` from its beginning."""
        with self._lock:
            self._seed, self._offset = value % (1 << 64), 0

    def reserve(self, count: int) -> tuple[int, int]:
        """Take the numbers for `count` elements: (seed, first block)."""
        with self._lock:
            offset = self._offset
            self._offset = offset + (count + 3) // 4
            return self._seed, offset

    def state(self) -> tuple[int, int]:
        """The seed and the offset of the next draw."""
        with self._lock:
            return self._seed, self._offset

    def restore(self, state: tuple[int, int]) -> None:
        """Go on from a `state` read earlier."""
        with self._lock:
            self._seed, self._offset = state


class KernelTable(dict["Op", "Kernel | None"]):
    """From operation to kernel, filled on first use. None stands for `run the composite's body`."""

    __slots__ = ("device",)

    def __init__(self, device: Device) -> None:
        super().__init__()
        self.device = device

    def __missing__(self, op: Op) -> Kernel | None:
        kernel = self[op] = self.device.resolve(op)
        return kernel


class _Interned(type):
    """Gives the same instance for the same arguments."""

    @property
    def __signature__(cls) -> Any:
        """What `help` shows: the arguments of the constructor."""
        import inspect

        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        try:
            other = cls.normal_form(*args, **kwargs)  # type: ignore[attr-defined]
            if other is not None:
                return other
            key = (cls, *cls.identity(*args, **kwargs))  # type: ignore[attr-defined]
        except TypeError:
            _check_arguments(cls, args, kwargs)
            raise
        found = _INSTANCES.get(key)
        if found is None:
            with _INSTANCES_LOCK:
                found = _INSTANCES.get(key)
                if found is None:
                    found = super().__call__(*args, **kwargs)
                    _INSTANCES[key] = found
        return found


def _check_arguments(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise where a device does not take these arguments."""
    import inspect

    signature = inspect.signature(cls.__init__)  # type: ignore[misc]
    try:
        signature.bind(None, *args, **kwargs)
    except TypeError as error:
        given = ", ".join([*map(repr, args), *(f"{name}={each!r}" for name, each in kwargs.items())])
        known = [f"{each.name}=..." if each.kind is each.KEYWORD_ONLY else each.name
                 for each in signature.parameters.values()][1:]  # fmt: skip
        raise ArgumentError(f"{cls.__name__}({given}): {error}; write {cls.__name__}({', '.join(known)})") from None


_INSTANCES: dict[tuple[Any, ...], Device] = {}
_INSTANCES_LOCK = threading.RLock()

if TYPE_CHECKING:
    _Metaclass = type
else:
    _Metaclass = _Interned


class Device(metaclass=_Metaclass):
    """Who computes. Backends derive from it and provide one method per primitive operation.

    A device is interned, so equal ones are one object, and its `repr` is the source that makes it.

    >>> device = burn.NdArray()
    >>> device is burn.NdArray(), device.autodiff(), device.autodiff().inner()
    (True, Autodiff(NdArray()), NdArray())
    >>> device.seed(0)
    >>> Tensor.random([2], device=device).to_data()
    TensorData([0.39904642, 0.88052016], shape=[2], dtype=f32)
    >>> device.sync()
    """

    __constant__ = True

    label: str = "device"
    """What a printed tensor shows after `backend:`."""

    place: str = "Cpu"
    """What a printed tensor shows after `device:`."""

    float_dtype: DType = f32
    int_dtype: DType = i64

    below: Device | None = None
    """The device under a decorator; None at the bottom."""

    host: Device | None = None
    """Who runs, on the same handles, the operations for which a device has no kernel of its own."""

    autodiff_factory: Callable[[Device], Any] | None = None
    """Set by the Autodiff decorator, which lives in a later package."""

    region_driver: Callable[[Device, Op], Any] | None = None
    """Set by the package that runs programs: the kernels of rows that hold them."""

    def __init__(self) -> None:
        self.kernels = KernelTable(self)
        self._generator = Generator()
        self._keyed: dict[Any, Generator] = {}

    @classmethod
    def identity(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The constructor's arguments in a normal, hashable form."""
        return (*args, *sorted(kwargs.items()))

    @classmethod
    def normal_form(cls, *args: Any, **kwargs: Any) -> Device | None:
        """The device that these arguments really mean, where it is another one."""
        return None

    # Structure

    @property
    def base(self) -> Device:
        """The device at the bottom of the decorators: the hardware."""
        return self

    @property
    def hardware(self) -> tuple[Any, ...]:
        """Where the memory is. Tensors on equal hardware may meet in one operation."""
        return (type(self),)

    @property
    def depth(self) -> int:
        """How many decorators are around the base."""
        return 0

    @property
    def is_autodiff(self) -> bool:
        """Whether operations record a graph."""
        return False

    def autodiff(self: D) -> Autodiff[D]:
        """This device with gradients. Asking twice changes nothing."""
        assert Device.autodiff_factory is not None
        return Device.autodiff_factory(self)  # type: ignore[no-any-return]

    def inner(self) -> Device:
        """The device without one `Autodiff`; itself where there is none."""
        return self

    # Numbers

    def seed(self, value: int) -> None:
        """Make every later random draw on this hardware reproducible; `value` is any int."""
        base = self.base
        base._generator.seed(value)
        base._keyed.clear()

    def generator(self, key: Any = None) -> Generator:
        """The random stream of this hardware, or one of its own for a worker named `key`.

        >>> burn.NdArray().seed(7)
        >>> burn.NdArray().generator().state()
        (7, 0)
        """
        base = self.base
        if key is None:
            return base._generator
        found = base._keyed.get(key)
        if found is None:
            import hashlib

            text = f"{base._generator.state()[0]}/{key!r}".encode()
            found = base._keyed.setdefault(key, Generator(int.from_bytes(hashlib.sha256(text).digest()[:8], "little")))
        return found

    def sync(self) -> None:
        """Wait until everything asked of this device is done."""

    def memory(self) -> Any:
        """How many bytes results and plans take, on devices that count them.

        >>> burn.Cpu().memory().live >= 0
        True
        """
        raise MissingOperation(f"memory: {self!r} does not count its memory; use a device such as Cpu()")

    def mark(self) -> None:
        """Say that a step ends here. A device that runs later begins with it when the next operation arrives."""

    # Failures of what runs later

    def fall_back(self, new: Any, old: Any) -> None:
        """If the work that makes the handle `new` fails, `new` is `old`, and the error is raised once: by the read, or
        the operation, that began the work."""

    def on_failure(self, tell: Callable[[], None]) -> None:
        """Call `tell` if something that was asked of this device before fails and handles fall back."""

    # Kernels

    def resolve(self, op: Op) -> Kernel | None:
        """The kernel of `op` here: registered from outside, a method, the host's, or None for a body."""
        registered = op.registered_kernel(self)
        if registered is not None:
            return registered
        method = getattr(self, op.name, None)
        if method is not None:
            return method  # type: ignore[no-any-return]
        if op.kind == "hosted":
            return self._hosted(op)
        if op.kind == "composite":
            return None
        if op.kind == "region":
            assert Device.region_driver is not None
            kernel: Kernel = Device.region_driver(self, op)
            return kernel
        raise MissingOperation(f"{op.name}: {self!r} has no kernel for this operation")

    def _hosted(self, op: Op) -> Kernel:
        """Run the NumPy reference: copy the operands to the host and the results back."""
        import numpy as np

        count, reference = op.operand_count, op.reference
        assert reference is not None

        def run(*args: Any) -> Any:
            operands = [self.to_host(a) if self.is_handle(a) else a for a in args[:count]]
            with np.errstate(all="ignore"):
                result = reference(*operands, *args[count:])
            if isinstance(result, tuple):
                return tuple(self.from_host(np.asarray(each)) for each in result)
            return self.from_host(np.asarray(result))

        return run

    def is_handle(self, value: Any) -> bool:
        """Whether `value` is a tensor of this backend, not a Python scalar or None."""
        return hasattr(value, "shape")

    def lift(self, tensor: Tensor[Any]) -> Any:
        """The handle on this device of a tensor that lives on the same hardware."""
        return tensor.handle

    def undecorated(self, handle: Any) -> Any:
        """The handle one decorator down."""
        return handle

    def receive(self, tensor: Tensor[Any]) -> Tensor[Any]:
        """A tensor of another device, moved here through the host."""
        host = tensor.device.to_host(tensor.handle)
        return type(tensor.detach())(self.from_host(host.copy()), self, tensor.dtype, tensor.shape)

    # What a backend provides beside its kernels

    def from_host(self, array: np.ndarray[Any, Any]) -> Any:
        """A handle holding a copy of `array`, or `array` itself where nobody else can write to it."""
        raise MissingOperation(f"from_host: {self!r} cannot take data from the host")

    def to_host(self, handle: Any) -> np.ndarray[Any, Any]:
        """The values of `handle` as a NumPy array that must not be written to."""
        raise MissingOperation(f"to_host: {self!r} cannot give data to the host")

    shape_of: Callable[[Any], tuple[int, ...]] = staticmethod(operator.attrgetter("shape"))
    """The sizes of a handle."""

    def dtype_of(self, handle: Any) -> DType:
        """The element type of `handle`."""
        raise MissingOperation(f"dtype_of: {self!r} cannot tell the dtype of a handle")

    # Gradients: refused here, given by Autodiff

    def backward(self, tensor: Tensor[Any], retain_graph: bool = False) -> Any:
        """Refuse: this device records no graph."""
        raise AutodiffError(
            f"backward: this tensor lives on {self!r}, which records no graph; create it on {self!r}.autodiff()"
        )

    def tracked(self, tensor: Tensor[Any], required: bool) -> Tensor[Any]:
        """The tensor itself: nothing is recorded here."""
        return tensor

    def is_tracked(self, tensor: Tensor[Any]) -> bool:
        """Whether backward would keep the gradient of `tensor`."""
        return False

    def inward(self, tensor: Tensor[Any]) -> Tensor[Any]:
        """The tensor below one `Autodiff`."""
        return tensor

    # Other libraries

    def to_dlpack(self, handle: Any, **options: Any) -> Any:
        """A DLPack capsule over `handle`."""
        raise MissingOperation(f"__dlpack__: {self!r} shares no memory; use .numpy()")

    def dlpack_device(self, handle: Any) -> tuple[int, int]:
        """Where the memory of `handle` is, in DLPack's numbers."""
        raise MissingOperation(f"__dlpack_device__: {self!r} shares no memory; use .numpy()")

    def from_dlpack(self, other: Any, copy: bool) -> Any:
        """A handle over another library's memory, or over a copy of it."""
        raise MissingOperation(f"from_dlpack: {self!r} shares no memory; use burn.tensor(np.asarray(...))")

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} cannot be pickled")


def seed_all(value: int) -> None:
    """Make every later random draw reproducible, on every device, those that are made later too.

    >>> from burn.device import seed_all
    >>> seed_all(0)
    """
    global _SEED
    _SEED = value
    for device in list(_INSTANCES.values()):
        device.seed(value)


def common_device(operation: str, tensors: list[Tensor[Any]]) -> Device:
    """The device on which several tensors meet, or an error that says which one to move."""
    device: Device = tensors[0].device
    for other in tensors[1:]:
        if other.device is device:
            continue
        if other.device.hardware != device.hardware:
            raise DeviceError(
                f"{operation}: operands are on {device!r} and {other.device!r}; move one with .to({device!r})"
            )
        if other.device.depth > device.depth:
            device = other.device
    return device


_default: contextvars.ContextVar[Device | None] = contextvars.ContextVar("burn.default_device", default=None)
_factory: Callable[[], Device] | None = None
_process_default: Device | None = None


def set_default_factory(factory: Callable[[], Device]) -> None:
    """Say how the default device is made when nobody has chosen one."""
    global _factory
    _factory = factory


def set_default_device(device: Device) -> None:
    """Choose the default `device` of the whole process.

    >>> burn.set_default_device(burn.NdArray())
    >>> Tensor.zeros([2]).device
    NdArray()
    """
    global _process_default
    _process_default = device


def current_device() -> Any:
    """The device used where none is given."""
    chosen = _default.get() or _process_default
    if chosen is None:
        assert _factory is not None
        chosen = _factory()
        set_default_device(chosen)
    return chosen


def given_device(operation: str, device: Any) -> Any:
    """The device that was given, the default one for None, or an error for what is no device."""
    if device is None:
        return current_device()
    if not isinstance(device, Device):
        from burn.guesses import not_a_device

        raise not_a_device(operation, device)
    return device


@contextlib.contextmanager
def _scope(device: D) -> Iterator[D]:
    token = _default.set(device)
    try:
        yield device
    finally:
        _default.reset(token)


@overload
def default_device(device: None = None) -> Device: ...
@overload
def default_device(device: D) -> contextlib.AbstractContextManager[D]: ...
def default_device(device: Device | None = None) -> Any:
    """Without argument, the default device; with one, a `with` block in which it is the default.

    >>> with burn.default_device(burn.NdArray().autodiff()):
    ...     Tensor.zeros([2]).device
    Autodiff(NdArray())
    """
    return current_device() if device is None else _scope(device)
