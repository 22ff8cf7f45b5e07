"""Tensor data: numbers on the host, with a shape and a dtype.

    data = TensorData([[1.0, 2.0], [3.0, 4.0]])
    data.shape, data.dtype          # Shape([2, 2]), f32
    print(data.convert("i64"))      # [[1, 2], [3, 4]]

It is what goes into a tensor and what comes out of it. The bytes are its own, row-major and private;
`as_slice` reads them, `as_mut_slice` writes them, `to_vec` and `iter` give Python numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import DType, bf16, f32, from_numpy
from burn.dtype import dtype as as_dtype
from burn.errors import DataError, DTypeError, ShapeError
from burn.ops.convert import Array, convert_array
from burn.shape import Shape, as_shape
from burn.tensor import compare
from burn.tensor.nested import read_nested
from burn.tensor.philox import sample
from burn.tensor.printing import format_values

if TYPE_CHECKING:
    from burn.device import Generator
    from burn.tensor.distribution import Distribution
    from burn.tensor.tolerance import Tolerance


class TensorData:
    """Numbers on the host.

    Python floats become f32, ints i64 and bools bool; arrays keep their dtype; `dtype` converts.

    Arguments:
        values: nested lists, a number, an array, a tensor or other data.
        shape: where it is given, the values are taken in row-major order and must fill it.

    >>> burn.TensorData([1, 2, 3, 4], shape=[2, 2])
    TensorData([[1, 2], [3, 4]], shape=[2, 2], dtype=i64)
    """

    __slots__ = ("_array", "_dtype", "_shape")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Any, shape: Any = None, dtype: Any = None) -> None:
        wanted = None if dtype is None else as_dtype(dtype)
        self._array, self._dtype = _read(values, wanted)
        self._shape = Shape(self._array.shape)
        if shape is not None:
            self._shape = as_shape("TensorData", shape)
            if self._shape.num_elements() != self._array.size:
                raise ShapeError(
                    f"TensorData: {self._array.size} values do not fill the shape {self._shape}, "
                    f"which needs {self._shape.num_elements()}"
                )
            self._array = self._array.reshape(self._shape)

    @classmethod
    def adopt(cls, array: Array, dtype: DType | None = None) -> TensorData:
        """Data over an `array` that nobody changes any more, without a copy. Writing copies it first.

        >>> burn.TensorData.adopt(np.zeros(2, np.float32))
        TensorData([0.0, 0.0], shape=[2], dtype=f32)
        """
        data = cls.__new__(cls)
        view = np.ascontiguousarray(array).reshape(array.shape).view()
        view.flags.writeable = False
        data._array, data._shape = view, Shape(array.shape)
        data._dtype = from_numpy(array.dtype) if dtype is None else dtype
        return data

    @classmethod
    def _own(cls, array: Array, dtype: DType) -> TensorData:
        data = cls.__new__(cls)
        data._array, data._shape, data._dtype = array, Shape(array.shape), dtype
        return data

    @classmethod
    def give(cls, array: Array) -> TensorData:
        """Row-major data whose `array` the tensor made of them may keep and write over: the caller needs it no more.

        >>> burn.tensor(burn.TensorData.give(np.ones(2, np.float32))).tolist()
        [1.0, 1.0]
        """
        return _Given._own(array, from_numpy(array.dtype))

    def taken(self) -> Array:
        """An array for a tensor to keep: a copy, unless it was given away.

        >>> burn.TensorData([1, 2]).taken()
        array([1, 2])
        """
        return np.array(self._array)

    # Makers

    @classmethod
    def zeros(cls, shape: Any, dtype: Any = f32) -> TensorData:
        """Data of a shape, full of 0.

        >>> burn.TensorData.zeros([2])
        TensorData([0.0, 0.0], shape=[2], dtype=f32)
        """
        return cls.full(shape, 0, dtype)

    @classmethod
    def ones(cls, shape: Any, dtype: Any = f32) -> TensorData:
        """Data of a shape, full of 1.

        >>> burn.TensorData.ones([2])
        TensorData([1.0, 1.0], shape=[2], dtype=f32)
        """
        return cls.full(shape, 1, dtype)

    @classmethod
    def full(cls, shape: Any, value: Any, dtype: Any = f32) -> TensorData:
        """Data of a shape, full of one `value`.

        >>> burn.TensorData.full([2], 7, "i32")
        TensorData([7, 7], shape=[2], dtype=i32)
        """
        single = cls(value, dtype=dtype)
        if single.num_elements() != 1:
            raise ShapeError(f"full: the value must be one number, got {single.num_elements()}")
        sizes = as_shape("full", shape)
        return cls._own(np.full(sizes, single._array.reshape(()), single._dtype.numpy), single._dtype)

    @classmethod
    def random(
        cls, shape: Any, distribution: Distribution, generator: Generator | int | None = None, dtype: Any = f32
    ) -> TensorData:
        """Random elements of a shape.

        Arguments:
            distribution: their law, such as `Distribution.Normal(0.0, 1.0)`.
            generator: where they come from: `device.generator()`, a seed, or fresh entropy if None.

        >>> burn.TensorData.random([2], burn.Distribution.Default, 0)
        TensorData([0.39904642, 0.88052016], shape=[2], dtype=f32)
        """
        sizes, wanted = as_shape("random", shape), as_dtype(dtype)
        array = sample(distribution, sizes.num_elements(), generator, wanted)
        return cls._own(array.reshape(sizes), wanted)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, shape: Any, dtype: Any) -> TensorData:
        """Data of a shape from row-major, little-endian bytes.

        >>> burn.TensorData.from_bytes(bytes([1, 0, 2, 0]), [2], "i16")
        TensorData([1, 2], shape=[2], dtype=i16)
        """
        sizes, wanted = as_shape("from_bytes", shape), as_dtype(dtype)
        needed = sizes.num_elements() * wanted.numpy.itemsize
        given = memoryview(data).nbytes
        if given != needed:
            raise DataError(f"from_bytes: {wanted} of shape {sizes} needs {needed} bytes, got {given}")
        array = np.frombuffer(bytes(data), _little(wanted)).astype(wanted.numpy, copy=True)
        return cls._own(array.reshape(sizes), wanted)

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> TensorData:
        """Data from what `to_wire` gave, the `wire`.

        >>> burn.TensorData.from_wire(burn.TensorData([1, 2]).to_wire())
        TensorData([1, 2], shape=[2], dtype=i64)
        """
        missing = [key for key in ("bytes", "shape", "dtype") if key not in wire]
        if missing:
            raise DataError(f"from_wire: missing {', '.join(missing)}; a wire form has bytes, shape and dtype")
        return cls.from_bytes(wire["bytes"], wire["shape"], wire["dtype"])

    def to_wire(self) -> dict[str, Any]:
        r"""The plain form that records and servers use: bytes, shape and dtype, in that order.

        >>> burn.TensorData([1, 2], dtype="u8").to_wire()
        {'bytes': b'\x01\x02', 'shape': [2], 'dtype': 'u8'}
        """
        return {"bytes": self.as_bytes(), "shape": list(self._shape), "dtype": self._dtype.name}

    # What it is

    @property
    def shape(self) -> Shape:
        """The sizes of the dimensions."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    def num_elements(self) -> int:
        """The number of elements.

        >>> burn.TensorData([[1, 2], [3, 4]]).num_elements()
        4
        """
        return self._array.size

    # Reading and writing

    def numpy(self) -> Array:
        """The values as a read-only NumPy array of this shape, without a copy.

        >>> burn.TensorData([1, 2]).numpy()
        array([1, 2])
        """
        view = self._array.view()
        view.flags.writeable = False
        return view

    def as_slice(self, dtype: Any = None) -> Array:
        """The values as a flat, read-only NumPy array. A dtype that is given must be the data's own.

        >>> burn.TensorData([[1, 2], [3, 4]]).as_slice()
        array([1, 2, 3, 4])
        """
        self._check_dtype("as_slice", dtype)
        return self.numpy().reshape(-1)

    def as_mut_slice(self, dtype: Any = None) -> Array:
        """The values as a flat NumPy array; writing to it changes this data.

        >>> data = burn.TensorData([1, 2])
        >>> data.as_mut_slice()[0] = 7
        >>> data.tolist()
        [7, 2]
        """
        self._check_dtype("as_mut_slice", dtype)
        if not self._array.flags.writeable:
            self._array = self._array.copy()
        return self._array.reshape(-1)

    def to_vec(self, dtype: Any = None) -> list[Any]:
        """The values as a flat list of Python numbers. A dtype that is given must be the data's own.

        >>> burn.TensorData([[1, 2], [3, 4]]).to_vec()
        [1, 2, 3, 4]
        """
        self._check_dtype("to_vec", dtype)
        return self._array.reshape(-1).tolist()

    def into_vec(self, dtype: Any = None) -> list[Any]:
        """The same as `to_vec`.

        >>> burn.TensorData([[1, 2], [3, 4]]).into_vec()
        [1, 2, 3, 4]
        """
        self._check_dtype("into_vec", dtype)
        return self.to_vec()

    def iter(self, dtype: Any = None) -> Iterator[Any]:
        """The values as Python numbers one by one, converted to `dtype` where one is given.

        >>> list(burn.TensorData([1, 2]).iter("f32"))
        [1.0, 2.0]
        """
        return iter((self if dtype is None else self.convert(dtype)).to_vec())

    def as_bytes(self) -> bytes:
        r"""The values as row-major, little-endian bytes.

        >>> burn.TensorData([1, 2], dtype="u8").as_bytes()
        b'\x01\x02'
        """
        return self._array.astype(_little(self._dtype), copy=False).tobytes()

    def into_bytes(self) -> bytes:
        r"""The same as `as_bytes`.

        >>> burn.TensorData([1, 2], dtype="u8").into_bytes()
        b'\x01\x02'
        """
        return self.as_bytes()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers; a single number for rank 0.

        >>> burn.TensorData([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return self._array.tolist()

    def item(self) -> Any:
        """The only element as a Python number.

        >>> burn.TensorData([[7]]).item()
        7
        """
        if self._array.size != 1:
            raise ShapeError(f"item: needs exactly one element, got shape {self._shape}")
        return self._array.item()

    def _check_dtype(self, operation: str, dtype: Any) -> None:
        if dtype is None:
            return
        wanted = as_dtype(dtype)
        if wanted is not self._dtype:
            raise DTypeError(
                f"{operation}: the data is {self._dtype} and {wanted} was asked for; write "
                f"{operation}({self._dtype.name!r}), or convert({wanted.name!r}).{operation}({wanted.name!r})"
            )

    # Conversion

    def convert(self, dtype: Any) -> TensorData:
        """The same values in another dtype: floats saturate into ints, ints wrap, NaN becomes 0.

        >>> burn.TensorData([1.9, -300.0]).convert("i8")
        TensorData([1, -128], shape=[2], dtype=i8)
        """
        wanted = as_dtype(dtype)
        array = convert_array(self._array, wanted)
        return TensorData._own(array.copy() if array is self._array else array, wanted)

    def convert_dtype(self, dtype: Any) -> TensorData:
        """The same as `convert`.

        >>> burn.TensorData([1, 2]).convert_dtype("f32")
        TensorData([1.0, 2.0], shape=[2], dtype=f32)
        """
        return self.convert(dtype)

    def try_cast(self, dtype: Any) -> TensorData:
        """Convert, or raise a DataError where an int, NaN or infinity would not survive.

        Rounding between floats and dropping a fraction are allowed; leaving the range is not.

        >>> burn.TensorData([1.5, 2.5]).try_cast("u8")
        TensorData([1, 2], shape=[2], dtype=u8)
        """
        wanted = as_dtype(dtype)
        lost = compare.lost_by_conversion(self._array, self._dtype, wanted)
        if lost is not None:
            place, value = lost
            raise DataError(f"try_cast: {value} at {place} does not fit {wanted}; use convert to saturate or wrap")
        return self.convert(wanted)

    # Comparison

    def __eq__(self, other: object) -> bool:
        """Whether shape, dtype and values are equal; NaN equals NaN here, and -0.0 equals 0.0."""
        if not isinstance(other, TensorData):
            return NotImplemented
        if self._dtype is not other._dtype or self._shape != other._shape:
            return False
        return not compare.differing(self._array, other._array).any()

    def assert_eq(self, other: Any, strict: bool = True) -> None:
        """Fail unless shapes and values are equal, NaN counting as equal to NaN; `strict`: dtypes too.

        >>> burn.TensorData([1, 2]).assert_eq([1, 2])
        """
        compare.assert_eq(self, _as_data(other), strict)

    def assert_approx_eq(self, other: Any, tolerance: Tolerance | float | None = None) -> None:
        """Fail unless shapes agree and values are close; NaN is close to NaN only.

        Arguments:
            tolerance: a `Tolerance`, or a number for both of its bounds.

        >>> burn.TensorData([1.0, 2.0]).assert_approx_eq([1.0, 2.0001], 1e-3)
        """
        compare.assert_approx_eq(self, _as_data(other), tolerance)

    def assert_within_range(self, low: Any, high: Any = None) -> None:
        """Fail unless `low <= value < high` everywhere. Takes two numbers or one `range`.

        >>> burn.TensorData([1, 2]).assert_within_range(0, 3)
        """
        compare.assert_within_range(self, low, high, inclusive=False)

    def assert_within_range_inclusive(self, low: Any, high: Any = None) -> None:
        """Fail unless `low <= value <= high` everywhere.

        >>> burn.TensorData([1, 2]).assert_within_range_inclusive(1, 2)
        """
        compare.assert_within_range(self, low, high, inclusive=True)

    # Python

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if dtype is not None and np.dtype(dtype) != self._array.dtype:
            return self._array.astype(dtype)
        return self._array.copy() if copy else self.numpy()

    def __str__(self) -> str:
        return format_values(self._array, self._dtype, separator=" ")

    def __repr__(self) -> str:
        return f"TensorData({self}, shape={self._shape}, dtype={self._dtype})"

    def __reduce__(self) -> Any:
        return TensorData.from_bytes, (self.as_bytes(), tuple(self._shape), self._dtype)


class _Given(TensorData):
    """Data that a tensor takes without a copy."""

    __slots__ = ()

    def taken(self) -> Array:
        return self._array


def _little(dtype: DType) -> np.dtype[Any]:
    found = dtype.numpy
    return found.newbyteorder("<") if found.kind in "iuf" and found.itemsize > 1 else found


def _as_data(value: Any) -> TensorData:
    return value if isinstance(value, TensorData) else TensorData(value)


def _bits_of_half(values: Any) -> Array:
    """PyTorch's bf16, which NumPy does not know, by way of its bits."""
    import sys

    bits: Any = values.cpu().contiguous().view(sys.modules["torch"].int16).numpy()
    return bits.view(bf16.numpy)  # type: ignore[no-any-return]


def _read(values: Any, dtype: DType | None) -> tuple[Array, DType]:
    """A row-major array of our own, and the dtype, of anything a user may give."""
    if not isinstance(values, (TensorData, np.ndarray)) and hasattr(values, "to_data"):
        values = values.to_data()
    if isinstance(values, TensorData):
        array = values._array
    elif isinstance(values, (np.ndarray, np.generic)):
        array = np.asarray(values)
    elif hasattr(values, "__array__"):
        try:
            array = (
                _bits_of_half(values) if str(getattr(values, "dtype", "")) == "torch.bfloat16" else np.asarray(values)
            )
        except (TypeError, ValueError, RuntimeError) as error:
            raise DataError(f"TensorData: {type(values).__name__} cannot be read as an array: {error}") from None
    else:
        return read_nested(list(values) if isinstance(values, (range, memoryview)) else values, dtype)
    if array.dtype.kind in "OUSMmc":
        raise DataError(f"TensorData: an array of NumPy's {array.dtype} holds no numbers or bools; cast it first")
    found = from_numpy(array.dtype) if dtype is None else dtype
    converted = convert_array(array, found)
    return (array.copy() if converted is array else np.require(converted, requirements="C")), found
