"""What a product is, whatever the shapes it was written in: rows, columns, depth, and matrices one after the other.

Batch dims are merged where memory allows. Batches that share their second matrix are one tall product (every linear
layer on sequences), and a row that is alone takes such a batch dim as its rows.
"""

from __future__ import annotations

from burn.classes import dataclass
from burn.dtype import DType, f32
from burn.engine.schedule.access import Access
from burn.ops.views import contiguous_strides


@dataclass(frozen=True)
class Matrix:
    """Where an operand lies: its value, its first element, and its strides along two dims."""

    value: int
    offset: int
    down: int
    across: int


@dataclass(frozen=True)
class Batch:
    """A dim of matrices: how many, and the strides of x, y and the result."""

    size: int
    x: int
    y: int
    out: int


@dataclass(frozen=True)
class Form:
    """`rows` by `depth` times `depth` by `columns`, for each of the batches."""

    rows: int
    columns: int
    depth: int
    batches: tuple[Batch, ...]
    x: Matrix
    y: Matrix
    of_row: int
    """The stride of the result's rows; its columns lie side by side."""
    dtype: DType = f32
    """In which it is summed."""

    @property
    def count(self) -> int:
        """How many products of matrices there are."""
        count = 1
        for batch in self.batches:
            count *= batch.size
        return count

    @property
    def work(self) -> int:
        """Multiplications."""
        return self.count * self.rows * self.columns * self.depth

    @property
    def shares_second(self) -> bool:
        """Whether there is one second matrix for all batches."""
        return all(batch.y == 0 for batch in self.batches)


def form_of(x: Access, y: Access, made: tuple[int, ...], dtype: DType = f32) -> Form:
    """The form of the product of two accesses, whose result is row-major."""
    *outer, rows, columns = made
    depth = x.shape[-1]
    of_out = contiguous_strides(made)
    left = x.broadcast((*outer, rows, depth)).strides
    right = y.broadcast((*outer, depth, columns)).strides
    batches: list[Batch] = []
    for size, of_x, of_y, of_made in zip(outer, left, right, of_out, strict=False):
        if size != 1:
            batches.append(Batch(size, of_x, of_y, of_made))
    down, of_row = left[-2], of_out[-2]
    while batches and batches[-1].y == 0:
        last = batches[-1]
        if rows == 1:
            down, of_row = last.x, last.out
        elif last.x != rows * down or last.out != rows * of_row:
            break
        rows *= batches.pop().size
    first = Matrix(x.value, x.offset, down if rows > 1 else 0, left[-1] if depth > 1 else 1)
    second = Matrix(y.value, y.offset, right[-2] if depth > 1 else 0, right[-1] if columns > 1 else 1)
    if columns == 1 and of_row == 1:  # a column is a row that stands: the operands change places
        swapped = [Batch(each.size, each.y, each.x, each.out) for each in batches]
        one = Matrix(second.value, second.offset, 0, second.down if depth > 1 else 1)
        many = Matrix(first.value, first.offset, first.across if depth > 1 else 0, first.down if rows > 1 else 1)
        return Form(1, rows, depth, _merged(swapped), one, many, rows, dtype)
    return Form(rows, columns, depth, _merged(batches), first, second, columns if rows == 1 else of_row, dtype)


def _merged(batches: list[Batch]) -> tuple[Batch, ...]:
    """Neighbouring dims as one, where every stride goes on."""
    merged: list[Batch] = []
    for each in batches:
        last = merged[-1] if merged else None
        steps = (each.x * each.size, each.y * each.size, each.out * each.size)
        if last is not None and (last.x, last.y, last.out) == steps:
            merged[-1] = Batch(last.size * each.size, each.x, each.y, each.out)
        else:
            merged.append(each)
    return tuple(merged)
