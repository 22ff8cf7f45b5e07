"""The handle of a tensor on a `Fusion` device: a value that exists, or one that a stream will make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burn.backend.fusion.stream import Stream
    from burn.device import Device
    from burn.dtype import DType
    from burn.shape import Shape


class Storage:
    """A value of the device below. `shared` once its memory was shown to somebody else.

    `address` is where the memory begins, for devices that care; 0 until somebody asked for it.
    """

    __slots__ = ("address", "shared", "value")

    def __init__(self, value: Any, shared: bool = False) -> None:
        self.value = value
        self.shared = shared
        self.address = 0


class Lazy:
    """A handle: `storage` if the value exists, else the number under which `stream` will make it."""

    __slots__ = ("device", "dtype", "error", "number", "shape", "storage", "stream", "__weakref__")

    def __init__(
        self, shape: Shape, dtype: DType, device: Device, storage: Storage | None, stream: Stream | None, number: int
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.storage = storage
        self.stream = stream
        self.number = number

    error: BaseException
    """Why there will be no value: there only if there is neither storage nor stream."""

    def force(self) -> Storage:
        """The value, running the stream that makes it if need be."""
        storage = self.storage
        if storage is None:
            if self.stream is not None:
                self.stream.flush()
            storage = self.storage
            if storage is None:
                raise self.error.with_traceback(None)  # one error for all reads: it must not grow with them
        return storage
