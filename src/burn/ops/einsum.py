"""Einstein summation: products and sums of dims that letters name.

An equation such as "bij,bjk->bik" is lowered to rows that exist: diagonals for a letter that one
tensor repeats, sums for letters that nobody else needs, and for each pair of tensors one matrix
product whose batch, rows and columns are groups of letters. So it runs on every device and has
gradients of any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from burn.dtype import promote_all
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.ops.dispatch import cast_to
from burn.ops.linalg import diag, matmul
from burn.ops.movement import permute, reshape

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

Labels = tuple[str, ...]
"""The name of each dim: a letter, or "...2" for the dim that is second to last under an ellipsis."""


def _terms(equation: str, count: int) -> tuple[list[str], str | None]:
    """The subscripts of each tensor, and those of the result where the equation gives them."""
    text = "".join(equation.split())
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    for term in (*terms, right):
        letters = term.replace("...", "", 1)
        if not all(letter.isalpha() for letter in letters):
            raise ArgumentError(f"einsum: {equation!r} may hold letters, commas, one -> and one ... a term")
    if len(terms) != count:
        raise ArgumentError(f"einsum: {equation!r} names {len(terms)} tensors, got {count}")
    return terms, right if arrow else None


def _labels(term: str, rank: int, equation: str, place: int) -> Labels:
    """A name for each dim of one tensor."""
    before, dots, after = term.partition("...")
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        raise ShapeError(
            f"einsum: {term!r} in {equation!r} names {len(before) + len(after)} dims, tensors[{place}] has {rank}"
        )
    return (*before, *(f"...{hidden - i}" for i in range(hidden)), *after)


def _result(terms: list[Labels], right: str | None, equation: str) -> Labels:
    """The names of the result's dims: without an arrow, those that occur once, in alphabetical order."""
    everything = [label for term in terms for label in term]
    dots = sorted({each for each in everything if len(each) > 1}, key=lambda each: -int(each[3:]))
    if right is None:
        return (*dots, *sorted(each for each in set(everything) if len(each) == 1 and everything.count(each) == 1))
    before, ellipsis, after = right.partition("...")
    unknown = sorted({each for each in before + after if each not in everything})
    if unknown or len(set(before + after)) != len(before + after):
        fault = f"{unknown} name no dim" if unknown else "a letter comes twice"
        raise ArgumentError(f"einsum: the result {right!r} of {equation!r}: {fault}")
    return (*before, *dots, *after) if ellipsis else (*before, *after)


def _sizes(tensors: Sequence[Any], terms: list[Labels], equation: str) -> dict[str, int]:
    """The size of each named dim; a 1 gives way to any other size."""
    sizes: dict[str, int] = {}
    for tensor, term in zip(tensors, terms, strict=True):
        for label, size in zip(term, tensor.shape, strict=True):
            known = sizes.get(label, 1)
            if size != 1 and known != 1 and size != known:
                shapes = ", ".join(str(tuple(each.shape)) for each in tensors)
                raise ShapeError(f"einsum: {label!r} of {equation!r} is {known} and {size} in {shapes}")
            sizes[label] = known if size == 1 else size
    return sizes


def _without_repeats(x: Any, labels: Labels) -> tuple[Any, Labels]:
    """Take the diagonal of dims that one tensor names twice."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            others = [dim for dim in range(len(labels)) if dim not in (first, second)]
            if x.shape[first] != x.shape[second]:
                raise ShapeError(f"einsum: {label!r} names dims of sizes {x.shape[first]} and {x.shape[second]}")
            x = diag(permute(x, (*others, first, second)))
            labels = (*(labels[dim] for dim in others), label)
    return x, labels


def _stretched(x: Any, labels: Labels, sizes: dict[str, int]) -> tuple[Any, Labels]:
    """Drop dims of size 1 that stand for any size: where others have more elements, they say nothing."""
    kept = [dim for dim, label in enumerate(labels) if x.shape[dim] == sizes[label]]
    if len(kept) == len(labels):
        return x, labels
    return reshape(x, [x.shape[dim] for dim in kept]), tuple(labels[dim] for dim in kept)


def _summed(x: Any, labels: Labels, needed: set[str]) -> tuple[Any, Labels]:
    """Sum over the dims that nobody needs any more."""
    dims = [dim for dim, label in enumerate(labels) if label not in needed]
    if not dims:
        return x, labels
    kept = [dim for dim in range(len(labels)) if dim not in dims]
    return reshape(x.sum_dims(dims), [x.shape[dim] for dim in kept]), tuple(labels[dim] for dim in kept)


def _ordered(x: Any, labels: Labels, order: Sequence[str]) -> Any:
    places = tuple(labels.index(label) for label in order)
    return x if places == tuple(range(len(labels))) else permute(x, places)


def _product(x: Any, left: Labels, y: Any, right: Labels, needed: set[str]) -> tuple[Any, Labels]:
    """Multiply two tensors and sum over what both have and nobody needs any more."""
    x, left = _summed(x, left, needed | set(right))
    y, right = _summed(y, right, needed | set(left))
    shared = [label for label in left if label in right]
    batch = [label for label in shared if label in needed]
    inner = [label for label in shared if label not in needed]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]
    sizes = dict(zip((*left, *right), (*x.shape, *y.shape), strict=True))

    def extent(labels: list[str]) -> int:
        return math.prod(sizes[label] for label in labels)

    found = (*batch, *rows, *columns)
    x, y = _ordered(x, left, (*batch, *rows, *inner)), _ordered(y, right, (*batch, *inner, *columns))
    if inner:
        x = reshape(x, (extent(batch), extent(rows), extent(inner)))
        y = reshape(y, (extent(batch), extent(inner), extent(columns)))
        result = matmul(x, y)
    else:
        result = reshape(x, (extent(batch), extent(rows), 1)) * reshape(y, (extent(batch), 1, extent(columns)))
    return reshape(result, [sizes[label] for label in found]), found


def _cheapest(terms: list[Labels], sizes: dict[str, int], result: Labels) -> tuple[int, int]:
    """The pair whose product is smallest: a good order of multiplying, found one step at a time."""
    best: tuple[int, int, int, int] | None = None
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            others = {label for k, term in enumerate(terms) if k not in (i, j) for label in term} | set(result)
            union = set(terms[i]) | set(terms[j])
            made = math.prod(sizes[label] for label in union & others)
            cost = (made, math.prod(sizes[label] for label in union), i, j)
            best = cost if best is None else min(best, cost)
    assert best is not None
    return best[2], best[3]


def einsum(equation: str, *tensors: Tensor[B]) -> Tensor[B]:
    """Multiply `tensors` and sum over dims, as an `equation` of letters says.

    A letter that the result lacks is summed over; one that a tensor repeats takes its diagonal; "..." stands for dims
    that broadcast. Without an arrow the result has the letters that occur once.

    >>> from burn.tensor import linalg
    >>> linalg.einsum("ij,jk->ik", burn.tensor([[1, 2], [3, 4]]), burn.tensor([[1], [10]])).tolist()
    [[21], [43]]
    """
    if not isinstance(equation, str) or not tensors:
        raise ArgumentError(f"einsum: needs an equation and tensors, got {equation!r} and {len(tensors)} tensors")
    given, right = _terms(equation, len(tensors))
    dtype = promote_all(each.dtype for each in tensors)
    if dtype.is_bool:
        raise DTypeError("einsum: needs numbers, got bool; convert it with .int()")
    values: list[Any] = [cast_to(each, dtype) for each in tensors]
    terms = [_labels(term, len(each.shape), equation, i) for i, (term, each) in enumerate(zip(given, values))]
    result = _result(terms, right, equation)
    sizes = _sizes(values, terms, equation)
    for place, (value, term) in enumerate(zip(values, terms, strict=True)):
        values[place], terms[place] = _stretched(*_without_repeats(value, term), sizes)
    while len(values) > 1:
        i, j = _cheapest(terms, sizes, result)
        needed = {label for k, term in enumerate(terms) if k not in (i, j) for label in term} | set(result)
        value, term = _product(values[i], terms[i], values[j], terms[j], needed)
        values[i], terms[i] = value, term
        del values[j], terms[j]
    value, term = _summed(values[0], terms[0], set(result))
    return _ordered(value, term, result)  # type: ignore[no-any-return]
