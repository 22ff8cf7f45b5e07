"""Precision settings: the element types in which a recorder writes and reads tensors.

| setting | floats | integers |
| --- | --- | --- |
| `DoublePrecisionSettings` | f64 | i64 |
| `FullPrecisionSettings` | f32 | i32 |
| `HalfPrecisionSettings` | f16 | i16 |

They apply to tensors, not to plain numbers. Bools and quantised values stay as they are, and an
integer tensor with a value that does not fit keeps its own type: nothing ever wraps around.
"""

from __future__ import annotations

from typing import Any, ClassVar

from burn.dtype import DType, f16, f32, f64, i16, i32, i64
from burn.errors import ArgumentError
from burn.tensor import TensorData


class PrecisionSettings:
    """Base of the settings of precision; use one of the three below, as a class or as an instance.

    >>> from burn.record import FullPrecisionSettings, PrecisionSettings
    >>> issubclass(FullPrecisionSettings, PrecisionSettings)
    True
    """

    float_dtype: ClassVar[DType]
    int_dtype: ClassVar[DType]
    float_name: ClassVar[str]
    int_name: ClassVar[str]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class FullPrecisionSettings(PrecisionSettings):
    """Floats in 32 bits and integers in 32: the default.

    >>> from burn.record import FullPrecisionSettings, NamedMpkFileRecorder
    >>> NamedMpkFileRecorder(FullPrecisionSettings).precision.float_dtype
    f32
    """

    float_dtype, int_dtype = f32, i32
    float_name, int_name = "f32", "i32"


class HalfPrecisionSettings(PrecisionSettings):
    """Floats in 16 bits and integers in 16: half the size.

    >>> from burn.record import HalfPrecisionSettings, NamedMpkFileRecorder
    >>> nn.Linear(2, 3).save_file("small", NamedMpkFileRecorder(HalfPrecisionSettings))
    """

    float_dtype, int_dtype = f16, i16
    float_name, int_name = "half::binary16::f16", "i16"


class DoublePrecisionSettings(PrecisionSettings):
    """Floats in 64 bits and integers in 64.

    >>> from burn.record import DoublePrecisionSettings, NamedMpkFileRecorder
    >>> NamedMpkFileRecorder(DoublePrecisionSettings).metadata.float
    'f64'
    """

    float_dtype, int_dtype = f64, i64
    float_name, int_name = "f64", "i64"


Settings = type[PrecisionSettings]


def as_settings(value: Any) -> Settings:
    """The settings class that a user means: one of the classes, or an instance of one."""
    found = value if isinstance(value, type) else type(value)
    if not issubclass(found, PrecisionSettings) or found is PrecisionSettings:
        raise ArgumentError(
            f"Recorder: {value!r} is no precision; write FullPrecisionSettings, HalfPrecisionSettings "
            "or DoublePrecisionSettings"
        )
    return found


def in_precision(data: TensorData, settings: Settings | None) -> TensorData:
    """The data in the element type of the settings, itself where nothing changes; None keeps every type."""
    target = None if settings is None else _target(data, settings)
    return data if target is None or target is data.dtype else data.convert(target)


def _target(data: TensorData, settings: Settings) -> DType | None:
    if data.dtype.is_float:
        return settings.float_dtype
    if data.dtype.is_int and _fits(data, settings.int_dtype):
        return settings.int_dtype
    return None


def _fits(data: TensorData, target: DType) -> bool:
    own, limits = data.dtype.iinfo(), target.iinfo()
    if limits.min <= own.min and own.max <= limits.max:
        return True
    values = data.numpy()
    return not values.size or (limits.min <= int(values.min()) and int(values.max()) <= limits.max)
