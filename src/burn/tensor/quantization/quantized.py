"""The tensor that is kept as integers and scales, and read as floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burn.device import Device
from burn.dtype import DType
from burn.dtype import dtype as as_dtype
from burn.ops import quantization as rows
from burn.tensor.quantization.scheme import QuantizationParameters, QuantizationScheme
from burn.tensor.tensor import Tensor


class QuantizedTensor(Tensor[Any]):
    """Integers, scales and zero points (in affine mode) that stand for a float tensor.

    It is a tensor of that float dtype: an operation that reads it gets the floats, computed anew each
    time, so that only the small form stays in memory. No gradient flows into it. In a tree it is not a
    leaf: its parts are, so that a captured function receives the integers.

    Arguments:
        values, scale, zero: the integers, the step between them and the integer that means 0.0.
        scheme: which elements share a scale.

    >>> from burn.tensor.quantization import PerTensor
    >>> q = burn.tensor([1.0, -127.0]).quantize_dynamic(PerTensor())
    >>> q.values.tolist(), q.scale.tolist(), q.dequantize().tolist(), q.num_bytes()
    ([1, -127], [1.0], [1.0, -127.0], 6)
    >>> (q + 1.0).tolist()
    [2.0, -126.0]
    """

    __slots__ = ("scale", "scheme", "values", "zero")
    __tree_leaf__ = False

    values: Tensor[Any]
    scale: Tensor[Any]
    scheme: QuantizationScheme
    zero: Tensor[Any] | None

    def __init__(
        self,
        values: Tensor[Any],
        scale: Tensor[Any],
        scheme: QuantizationScheme,
        dtype: DType,
        zero: Tensor[Any] | None = None,
    ) -> None:
        self.values = values
        self.scale = scale
        self.scheme = scheme
        self.zero = zero
        self.device = values.device
        self.dtype = dtype
        self.shape = values.shape

    @property
    def handle(self) -> Any:
        """The floats, for the device's kernels."""
        return self.dequantize().handle

    def dequantize(self) -> Tensor[Any]:
        """The floats as a plain tensor."""
        shape, _ = self.scheme.layout(self.shape)
        if shape == self.shape:
            return rows.dequantize(self.values, self.scale, self.zero, self.dtype)
        return rows.dequantize(self.values.reshape(shape), self.scale, self.zero, self.dtype).reshape(self.shape)

    @property
    def parts(self) -> list[Tensor[Any]]:
        """The tensors it is made of: integers, scales, and zero points in affine mode."""
        return [self.values, self.scale] if self.zero is None else [self.values, self.scale, self.zero]

    @property
    def parameters(self) -> QuantizationParameters:
        """Scale and zero point, as `quantize` takes them."""
        return QuantizationParameters(self.scale, self.zero)

    def num_bytes(self) -> int:
        """The memory that integers, scales and zero points take."""
        return sum(each.num_elements() * each.dtype.size for each in self.parts)

    def cast(self, dtype: Any) -> Tensor[Any]:
        """The same integers, read as another float dtype; for other dtypes the floats, converted."""
        target = as_dtype(dtype)
        if target.is_float and target.is_arithmetic:
            return QuantizedTensor(self.values, self.scale, self.scheme, target, self.zero)
        return self.dequantize().cast(target)

    def to_device(self, device: Device) -> QuantizedTensor:
        """The same integers and scales on another device.

        >>> from burn.tensor.quantization import PerTensor
        >>> q = burn.tensor([1.0, -127.0]).quantize_dynamic(PerTensor())
        >>> q.to_device(burn.NdArray().autodiff()).device
        Autodiff(NdArray())
        """
        return self._of([each.to_device(device) for each in self.parts])

    to = to_device  # type: ignore[assignment]

    def detach(self) -> QuantizedTensor:
        """Itself: no gradient flows into it.

        >>> from burn.tensor.quantization import PerTensor
        >>> q = burn.tensor([1.0, -127.0]).quantize_dynamic(PerTensor())
        >>> q.detach() is q
        True
        """
        return self

    def inner(self) -> QuantizedTensor:
        """The same integers and scales below one `Autodiff`.

        >>> from burn.tensor.quantization import PerTensor
        >>> x = burn.tensor([1.0, -127.0], device=burn.NdArray().autodiff())
        >>> x.quantize_dynamic(PerTensor()).inner().device
        NdArray()
        """
        return self._of([each.inner() for each in self.parts])

    def no_grad(self) -> QuantizedTensor:
        """The same integers and scales below every `Autodiff`.

        >>> from burn.tensor.quantization import PerTensor
        >>> x = burn.tensor([1.0, -127.0], device=burn.NdArray().autodiff())
        >>> x.quantize_dynamic(PerTensor()).no_grad().device
        NdArray()
        """
        return self._of([each.no_grad() for each in self.parts])

    def _of(self, parts: Sequence[Tensor[Any]]) -> QuantizedTensor:
        return self.__untree__((self.scheme, self.dtype), parts)

    def __format__(self, spec: str) -> str:
        text = super().__format__(spec)
        return f"{text[:-1]}  quantized: {self.scheme.describe()},\n}}"

    def __tree__(self) -> tuple[Sequence[Any], Any]:
        return self.parts, (self.scheme, self.dtype)

    @classmethod
    def __untree__(cls, token: tuple[QuantizationScheme, DType], children: Sequence[Any]) -> QuantizedTensor:
        values, scale, *zero = children
        return cls(values, scale, token[0], token[1], zero[0] if zero else None)

    def __reduce__(self) -> Any:
        return QuantizedTensor, (self.values, self.scale, self.scheme, self.dtype, self.zero)
