"""Printing: the text of tensors and of their elements.

    Tensor {
      data:
      [[0.12345679, 0.5],
       [1.0, NaN]],
      shape: [2, 2],
      device: Cpu,
      backend: "ndarray",
      kind: "Float",
      dtype: "f32",
    }

A float is written with the fewest digits that read back as the same element of its own dtype, always
with a point or an exponent. From 1e16 up, and below 1e-4, it takes the form `1.5e20`, as Rust's debug
text does. Truth values are `true` and `false`. A precision asks for that many decimals instead.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from burn.classes import dataclass
from burn.dtype import DType, Kind, f16, f32, f64
from burn.errors import ArgumentError

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class PrintOptions:
    """How tensors are printed.

    Arguments:
        precision: decimals of a float; None prints as many as needed.
        threshold: the most elements printed in full.
        edge_items: items kept at each end of a dim beyond the threshold.

    >>> from burn.tensor import PrintOptions, print_options
    >>> with print_options(PrintOptions(precision=2)):
    ...     str(burn.tensor([0.123]).to_data())
    '[0.12]'
    """

    precision: int | None = None
    """Decimals of a float; None prints as many as needed."""
    threshold: int = 1000
    """The most elements printed in full."""
    edge_items: int = 3
    """Items kept at each end of a dimension beyond the threshold."""

    def __post_init__(self) -> None:
        if self.precision is not None:
            _check_count("precision", self.precision)
        _check_count("threshold", self.threshold)
        _check_count("edge_items", self.edge_items)


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ArgumentError(f"PrintOptions: {name} must be an int of 0 or more, got {value!r}")


_process_options = PrintOptions()
_scoped: contextvars.ContextVar[PrintOptions | None] = contextvars.ContextVar("burn.print_options", default=None)


def get_print_options() -> PrintOptions:
    """The options in force."""
    return _scoped.get() or _process_options


def _changed(options: PrintOptions | None, changes: dict[str, Any]) -> PrintOptions:
    options = get_print_options() if options is None else options
    if not isinstance(options, PrintOptions):
        raise ArgumentError(f"set_print_options: {options!r} is no PrintOptions; write PrintOptions(precision=2)")
    try:
        return replace(options, **changes)
    except TypeError:
        raise ArgumentError(
            f"set_print_options: knows precision, threshold and edge_items, got {', '.join(changes)}"
        ) from None


def set_print_options(options: PrintOptions | None = None, **changes: Any) -> PrintOptions:
    """Choose how tensors are printed in this process; returns the options that were in force.

    Arguments:
        options: a `PrintOptions`, the present ones if None.
        changes: single options as keywords.

    >>> from burn.tensor import set_print_options
    >>> before = set_print_options(precision=2)
    >>> str(burn.tensor([0.123]).to_data())
    '[0.12]'
    >>> _ = set_print_options(before)
    """
    global _process_options
    previous = get_print_options()
    _process_options = _changed(options, changes)
    if _scoped.get() is not None:
        _scoped.set(_process_options)
    return previous


@contextlib.contextmanager
def print_options(options: PrintOptions | None = None, **changes: Any) -> Iterator[PrintOptions]:
    """A `with` block in which tensors are printed differently.

    Arguments:
        options: a `PrintOptions`, the present ones if None.
        changes: single options as keywords.

    >>> from burn.tensor import print_options
    >>> with print_options(precision=2):
    ...     str(burn.tensor([0.123]).to_data())
    '[0.12]'
    """
    chosen = _changed(options, changes)
    token = _scoped.set(chosen)
    try:
        yield chosen
    finally:
        _scoped.reset(token)


def parse_format_spec(spec: str) -> int | None:
    """The number of decimals in a format such as `.2` (or `.2f`); None for an empty one."""
    if not spec:
        return None
    found = re.fullmatch(r"\.(\d+)f?", spec)
    if found is None:
        raise ArgumentError(f"format: {spec!r} is no tensor format; write a number of decimals, such as '.2'")
    return int(found[1])


# Elements


def format_element(value: Any, dtype: DType, precision: int | None = None) -> str:
    """One element as text."""
    return _formatter(dtype, precision)(np.asarray(value, dtype.numpy)[()])


def _formatter(dtype: DType, precision: int | None) -> Callable[[Any], str]:
    if dtype.is_bool:
        return lambda value: "true" if value else "false"
    if not dtype.is_float:
        return lambda value: str(int(value))
    if precision is not None:
        return lambda value: _special(float(value)) or f"{float(value):.{precision}f}"
    return lambda value: _special(float(value)) or _shortest(value, dtype)


def _special(value: float) -> str | None:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return None


def _shortest(value: Any, dtype: DType) -> str:
    """The fewest digits that name this element among those of its dtype."""
    sign = "-" if math.copysign(1.0, float(value)) < 0 else ""
    size = abs(float(value))
    if size == 0.0:
        return sign + "0.0"
    if dtype is f64:
        text = np.format_float_scientific(size, trim="-")
    elif dtype is f32 or dtype is f16:
        text = np.format_float_scientific(abs(value), trim="-")
    else:
        text = _search_shortest(size, dtype)
    mantissa, _, power = text.partition("e")
    digits, exponent = mantissa.replace(".", ""), int(power)
    digits = digits.rstrip("0") or "0"
    if not -4 <= exponent < 16:
        point = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{point}e{exponent}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{sign}{whole}.{digits[exponent + 1 :] or '0'}"


def _search_shortest(size: float, dtype: DType) -> str:
    """For dtypes that NumPy cannot print: try one digit more until the text reads back."""
    for digits in range(17):
        text = f"{size:.{digits}e}"
        if float(np.array(float(text), np.float32).astype(dtype.numpy)) == size:
            return text
    return f"{size:.16e}"


# Arrays


def format_values(
    array: Array, dtype: DType, precision: int | None = None, *, separator: str | None = None, indent: int = 0
) -> str:
    """The elements as nested lists, one innermost row a line (all on one line with `separator=" "`).

    `indent` says by how many spaces the lines after the first are moved to the right.
    """
    options = get_print_options()
    render = _formatter(dtype, options.precision if precision is None else precision)
    summarise = math.prod(max(size, 1) for size in array.shape) > options.threshold
    edge = options.edge_items

    def write(part: Array, depth: int) -> str:
        if part.ndim == 0:
            return render(part[()])
        count = part.shape[0]
        if summarise and count > 2 * edge:
            first = [write(part[i], depth + 1) for i in range(edge)]
            last = [write(part[i], depth + 1) for i in range(count - edge, count)]
            items = [*first, "...", *last]
        else:
            items = [write(part[i], depth + 1) for i in range(count)]
        if part.ndim == 1 or separator is not None:
            joint = ", " if part.ndim == 1 else "," + (separator or "")
        else:
            joint = ",\n" + " " * (indent + depth + 1)
        return f"[{joint.join(items)}]"

    return write(array, 0)


def format_tensor(
    array: Array, *, place: str, label: str, kind: Kind | str, dtype: DType, precision: int | None = None
) -> str:
    """The whole text of a tensor: its elements, then where and what it is."""
    kind = kind.value if isinstance(kind, Kind) else kind
    sizes = ", ".join(str(size) for size in array.shape)
    return (
        "Tensor {\n"
        "  data:\n"
        f"  {format_values(array, dtype, precision, indent=2)},\n"
        f"  shape: [{sizes}],\n"
        f"  device: {place},\n"
        f'  backend: "{label}",\n'
        f'  kind: "{kind}",\n'
        f'  dtype: "{dtype.name}",\n'
        "}"
    )
