"""Elementwise kernels."""

from __future__ import annotations

from typing import Any

import torch

from burn.backend.torch.dtypes import to_torch
from burn.dtype import DType


def _tensor(value: Any, like: torch.Tensor) -> torch.Tensor:
    """A number as a 0-d tensor of the dtype of `like`."""
    return value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=like.dtype, device=like.device)


def _pair(x: Any, y: Any) -> tuple[torch.Tensor, torch.Tensor]:
    like = x if isinstance(x, torch.Tensor) else y
    return _tensor(x, like), _tensor(y, like)


def _with_tensors(function: Any) -> Any:
    """A torch function that takes no Python numbers, made to take one."""
    return lambda x, y: function(*_pair(x, y))


def _guarded(compute: Any, when_float: Any) -> Any:
    """An integer division: 0 where the divisor is 0, wrapped where the quotient does not fit."""

    def run(x: Any, y: Any) -> torch.Tensor:
        x, y = _pair(x, y)
        if x.is_floating_point():
            return when_float(x, y)  # type: ignore[no-any-return]
        zero = y == 0
        unsafe = zero | ((y == -1) & (x == torch.iinfo(x.dtype).min)) if x.dtype.is_signed else zero
        safe = torch.where(unsafe, torch.ones_like(y), y)
        return torch.where(zero, torch.zeros_like(x), compute(x, safe))

    return run


class Elementwise:
    """One torch function per elementwise primitive."""

    exp, log, log1p, sqrt, recip, erf = torch.exp, torch.log, torch.log1p, torch.sqrt, torch.reciprocal, torch.erf
    sin, cos, tan, sinh, cosh, tanh = torch.sin, torch.cos, torch.tan, torch.sinh, torch.cosh, torch.tanh
    asin, acos, atan = torch.asin, torch.acos, torch.atan
    asinh, acosh, atanh = torch.asinh, torch.acosh, torch.atanh
    abs, neg, sign = torch.abs, torch.neg, torch.sign
    floor, ceil, round, trunc = torch.floor, torch.ceil, torch.round, torch.trunc
    is_nan, is_inf = torch.isnan, torch.isinf
    add, mul, true_div = torch.add, torch.mul, torch.true_divide
    sub = staticmethod(_with_tensors(torch.sub))
    atan2 = staticmethod(_with_tensors(torch.atan2))
    hypot = staticmethod(_with_tensors(torch.hypot))
    max_pair = clamp_min = staticmethod(_with_tensors(torch.maximum))
    min_pair = clamp_max = staticmethod(_with_tensors(torch.minimum))
    equal = staticmethod(_with_tensors(torch.eq))
    not_equal = staticmethod(_with_tensors(torch.ne))
    greater = staticmethod(_with_tensors(torch.gt))
    greater_equal = staticmethod(_with_tensors(torch.ge))
    lower = staticmethod(_with_tensors(torch.lt))
    lower_equal = staticmethod(_with_tensors(torch.le))
    bool_not = torch.logical_not
    bool_and = staticmethod(_with_tensors(torch.logical_and))
    bool_or = staticmethod(_with_tensors(torch.logical_or))
    bool_xor = staticmethod(_with_tensors(torch.logical_xor))
    bitwise_not = torch.bitwise_not
    bitwise_and = staticmethod(_with_tensors(torch.bitwise_and))
    bitwise_or = staticmethod(_with_tensors(torch.bitwise_or))
    bitwise_xor = staticmethod(_with_tensors(torch.bitwise_xor))
    div = staticmethod(_guarded(lambda x, y: torch.div(x, y, rounding_mode="trunc"), torch.true_divide))
    floor_div = staticmethod(_guarded(torch.floor_divide, torch.floor_divide))
    rem = staticmethod(_guarded(torch.remainder, torch.remainder))
    fmod = staticmethod(_guarded(torch.fmod, torch.fmod))

    @staticmethod
    def pow(x: Any, y: Any) -> torch.Tensor:
        x, y = _pair(x, y)
        if x.is_floating_point() or not x.dtype.is_signed:
            return torch.pow(x, y)
        odd = torch.where(y % 2 == 0, 1, -1)
        negative = torch.where(x == 1, 1, torch.where(x == -1, odd, 0)).to(x.dtype)
        return torch.where(y < 0, negative, torch.pow(x, y.clamp(min=0)))

    @staticmethod
    def bitwise_left_shift(x: Any, y: Any) -> torch.Tensor:
        x, y = _pair(x, y)
        inside = (y >= 0) & (y < x.element_size() * 8)
        return torch.where(inside, torch.bitwise_left_shift(x, torch.where(inside, y, 0)), 0)

    @staticmethod
    def bitwise_right_shift(x: Any, y: Any) -> torch.Tensor:
        x, y = _pair(x, y)
        inside = (y >= 0) & (y < x.element_size() * 8)
        beyond = torch.where(x < 0, -1, 0).to(x.dtype) if x.dtype.is_signed else torch.zeros_like(x)
        return torch.where(inside, torch.bitwise_right_shift(x, torch.where(inside, y, 0)), beyond)

    @staticmethod
    def mask_where(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, value, x)

    @staticmethod
    def mask_fill(x: torch.Tensor, mask: torch.Tensor, value: Any) -> torch.Tensor:
        return torch.where(mask, _tensor(value, x), x)

    @staticmethod
    def cast(x: torch.Tensor, dtype: DType) -> torch.Tensor:
        target = to_torch(dtype)
        if x.is_floating_point() and dtype.is_int:
            return _saturated(x, dtype, target)
        return x.to(target)


def _saturated(x: torch.Tensor, dtype: DType, target: torch.dtype) -> torch.Tensor:
    """Float to int: the nearest end of the range where the value is outside it, 0 for NaN."""
    limits = dtype.iinfo()
    wide = x.double()
    inside = (wide > float(limits.min)) & (wide < float(limits.max))
    # Some versions of torch compute nothing in these two.
    computed = torch.int64 if target in (torch.uint16, torch.uint32) else target
    result = torch.where(inside, wide, 0.0).to(computed)
    result = torch.where(wide >= float(limits.max), torch.tensor(limits.max, dtype=computed), result)
    return torch.where(wide <= float(limits.min), torch.tensor(limits.min, dtype=computed), result).to(target)
