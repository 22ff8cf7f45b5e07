"""Reductions, running sums and statistics: Burn's names, and beside them the `dim=` and `keepdim=` of PyTorch.

Where Burn's method takes a dim by its place (`argmax(1)`, `var(1)`, `median(1)`) the dim is kept, as in Burn; by name
(`argmax(dim=1)`) it is dropped, as in PyTorch.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from burn.errors import ArgumentError
from burn.ops import aggregation, arithmetic, choices, cumulative, reduce, sort, statistics
from burn.tensor import reductions as of
from burn.tensor.reductions import NOT_GIVEN, ValuesAndIndices

if TYPE_CHECKING:
    from burn.dtype import DTypeLike
    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor

    Dims = builtins.int | Sequence[builtins.int]


class ReduceMethods:
    """Operations that turn many elements into one, or into a running value."""

    __slots__ = ()

    # Burn's names: a dim is kept with size 1

    sum_dim = reduce.sum_dim
    sum_dims = reduce.sum_dims
    sum_dims_squeeze = reduce.sum_dims_squeeze
    prod_dim = reduce.prod_dim
    prod_dims = reduce.prod_dims
    mean_dim = reduce.mean_dim
    mean_dims = reduce.mean_dims

    max_dim = reduce.max_dim
    max_dims = reduce.max_dims
    max_dim_with_indices = reduce.max_dim_with_indices
    max_abs = reduce.max_abs
    max_abs_dim = reduce.max_abs_dim
    max_abs_dims = reduce.max_abs_dims
    min_dim = reduce.min_dim
    min_dims = reduce.min_dims
    min_dim_with_indices = reduce.min_dim_with_indices
    argmax_last = choices.argmax_last
    argmin_last = choices.argmin_last
    largest_dims = aggregation.largest_dims
    smallest_dims = aggregation.smallest_dims
    log_sum_exp_dims = aggregation.log_sum_exp_dims

    any_dim = reduce.any_dim
    any_dims = reduce.any_dims
    all_dim = reduce.all_dim
    all_dims = reduce.all_dims
    contains_nan = reduce.contains_nan
    is_close = isclose = reduce.is_close

    cumsum = cumulative.cumsum
    cumprod = cumulative.cumprod
    cummax = cumulative.cummax
    cummin = cumulative.cummin
    running_sum = cumulative.running_sum
    running_product = cumulative.running_product

    var_bias = statistics.var_bias
    var_mean = statistics.var_mean
    var_mean_bias = statistics.var_mean_bias
    cov = statistics.cov

    # Sums, products, means

    def sum(  # type: ignore[misc]
        self: Tensor[B],
        dim: Dims | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DTypeLike | None = None,
        axis: Dims | None = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor[B]:
        """Sum all elements into shape [1], or those along dims. Truth values are counted.

        `dim` is one dim or several, dropped unless `keepdim` is true; NumPy's words are `axis` and `keepdims`.

        >>> x = burn.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.sum().tolist(), x.sum(0).tolist(), x.sum(dim=1, keepdim=True).tolist()
        ([10.0], [4.0, 6.0], [[3.0], [7.0]])
        """
        dim, keepdim = of.spelled("sum", dim, keepdim, axis, keepdims)
        x = of.in_dtype(self, dtype)
        return reduce.sum(x) if dim is None and not keepdim else of.reduced("sum", reduce.sum_dims, x, dim, keepdim)

    def prod(  # type: ignore[misc]
        self: Tensor[B],
        dim: Dims | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DTypeLike | None = None,
        axis: Dims | None = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor[B]:
        """Multiply all elements into shape [1], or those along dims.

        `dim` is one dim or several, dropped unless `keepdim` is true; NumPy's words are `axis` and `keepdims`.

        >>> burn.tensor([[1.0, 2.0], [3.0, 4.0]]).prod(dim=1).tolist()
        [2.0, 12.0]
        """
        dim, keepdim = of.spelled("prod", dim, keepdim, axis, keepdims)
        x = of.in_dtype(self, dtype)
        return reduce.prod(x) if dim is None and not keepdim else of.reduced("prod", reduce.prod_dims, x, dim, keepdim)

    def mean(  # type: ignore[misc]
        self: Tensor[B],
        dim: Dims | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DTypeLike | None = None,
        axis: Dims | None = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor[B]:
        """Average all elements into shape [1], or those along dims.

        `mean()` of ints truncates towards zero, as in Burn; along dims ints are refused, as in PyTorch.
        `dim` is one dim or several, dropped unless `keepdim` is true; NumPy's words are `axis` and `keepdims`.

        >>> x = burn.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.mean().tolist(), x.mean(1).tolist(), x.mean((0, 1), keepdim=True).shape
        ([2.5], [1.5, 3.5], Shape([1, 1]))
        """
        dim, keepdim = of.spelled("mean", dim, keepdim, axis, keepdims)
        x = self if dtype is None else of.in_dtype(self, dtype)
        if dim is None and not keepdim:
            return reduce.mean(x)
        of.floats_only("mean", x)
        return of.reduced("mean", reduce.mean_dims, x, dim, keepdim)

    def logsumexp(  # type: ignore[misc]
        self: Tensor[B], dim: Dims | None = None, keepdim: builtins.bool = False
    ) -> Tensor[B]:
        """Take the logarithm of the sum of the exponentials along `dim`, without overflow.

        `dim` is one dim or several, dropped unless `keepdim` is true.

        >>> burn.tensor([[1000.0, 1000.0]]).logsumexp(dim=1).tolist()
        [1000.693115234375]
        """
        return of.reduced("logsumexp", aggregation.log_sum_exp_dims, self, dim, keepdim)

    # Extremes

    @overload
    def max(self: Tensor[B], dim: None = None, keepdim: builtins.bool = False) -> Tensor[B]: ...  # type: ignore[misc]
    @overload
    def max(self: Tensor[B], dim: builtins.int, keepdim: builtins.bool = False) -> ValuesAndIndices[B]: ...  # type: ignore[misc]
    @overload
    def max(self: Tensor[B], dim: Tensor) -> Tensor[B]: ...  # type: ignore[misc]
    def max(self: Any, dim: Any = None, keepdim: builtins.bool = False) -> Any:
        """Take the largest element, as shape [1]; along `dim`, `(values, indices)`, dropping it unless `keepdim`.

        Of two tensors, `x.max(y)` takes the largest ones element by element.

        >>> x = burn.tensor([[1.0, 2.0], [5.0, 3.0]])
        >>> values, indices = x.max(dim=1)
        >>> x.max().tolist(), (values.tolist(), indices.tolist())
        ([5.0], ([2.0, 5.0], [1, 0]))
        """
        if dim is None and keepdim is False:
            return reduce.max(self)
        return self._extreme("max", dim, keepdim)

    @overload
    def min(self: Tensor[B], dim: None = None, keepdim: builtins.bool = False) -> Tensor[B]: ...  # type: ignore[misc]
    @overload
    def min(self: Tensor[B], dim: builtins.int, keepdim: builtins.bool = False) -> ValuesAndIndices[B]: ...  # type: ignore[misc]
    @overload
    def min(self: Tensor[B], dim: Tensor) -> Tensor[B]: ...  # type: ignore[misc]
    def min(self: Any, dim: Any = None, keepdim: builtins.bool = False) -> Any:
        """Take the smallest element, as shape [1]; along `dim`, `(values, indices)`, dropping it unless `keepdim`.

        Of two tensors, `x.min(y)` takes the smallest ones element by element.

        >>> x = burn.tensor([[1.0, 2.0], [5.0, 3.0]])
        >>> values, indices = x.min(dim=1)
        >>> x.min().tolist(), (values.tolist(), indices.tolist())
        ([1.0], ([1.0, 3.0], [0, 1]))
        """
        if dim is None and keepdim is False:
            return reduce.min(self)
        return self._extreme("min", dim, keepdim)

    def _extreme(self: Tensor[B], name: str, dim: Any, keepdim: Any) -> Any:  # type: ignore[misc]
        pair, along, over = _EXTREMES[name]
        if hasattr(dim, "handle"):
            return pair(self, dim)
        dim, keepdim = of.spelled(name, dim, keepdim, None, None)
        if dim is None:
            return of.reduced(name, over, self, None, keepdim)
        return of.chosen(name, along, self, dim, keepdim, f"write x.a{name}({dim!r}) for the values along several dims")

    def amax(  # type: ignore[misc]
        self: Tensor[B],
        dim: Dims | None = None,
        keepdim: builtins.bool = False,
        *,
        axis: Dims | None = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor[B]:
        """Take the largest elements along dims; equal ones share the gradient.

        `dim` is one dim or several, dropped unless `keepdim` is true; NumPy's words are `axis` and `keepdims`.

        >>> burn.tensor([[1.0, 2.0], [5.0, 3.0]]).amax(dim=1).tolist()
        [2.0, 5.0]
        """
        dim, keepdim = of.spelled("amax", dim, keepdim, axis, keepdims)
        return of.reduced("amax", reduce.max_dims, self, dim, keepdim)

    def amin(  # type: ignore[misc]
        self: Tensor[B],
        dim: Dims | None = None,
        keepdim: builtins.bool = False,
        *,
        axis: Dims | None = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor[B]:
        """Take the smallest elements along dims; equal ones share the gradient.

        `dim` is one dim or several, dropped unless `keepdim` is true; NumPy's words are `axis` and `keepdims`.

        >>> burn.tensor([[1.0, 2.0], [5.0, 3.0]]).amin(dim=1).tolist()
        [1.0, 3.0]
        """
        dim, keepdim = of.spelled("amin", dim, keepdim, axis, keepdims)
        return of.reduced("amin", reduce.min_dims, self, dim, keepdim)

    def argmax(  # type: ignore[misc]
        self: Tensor[B],
        kept_dim: builtins.int = NOT_GIVEN,
        /,
        *,
        dim: builtins.int | None = None,
        keepdim: builtins.bool | None = None,
        axis: builtins.int | None = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor[B]:
        """Find the index of the largest element: the first NaN, else the first of equal ones.

        `argmax(1)` keeps its `kept_dim`, as in Burn; `argmax(dim=1)` drops it unless `keepdim`, as PyTorch (or `axis`,
        `keepdims`); `argmax()` counts through all elements in row-major order.

        >>> x = burn.tensor([[1.0, 2.0], [5.0, 3.0]])
        >>> x.argmax(1).tolist(), x.argmax(dim=1).tolist(), x.argmax().tolist()
        ([[1], [0]], [1, 0], [2])
        """
        if kept_dim is not NOT_GIVEN and keepdim is keepdims is dim is axis is None:
            return reduce.argmax(self, kept_dim)
        dim, keepdim = _placed("argmax", kept_dim, dim, keepdim, axis, keepdims)
        return of.positions("argmax", reduce.argmax, self, dim, keepdim)

    def argmin(  # type: ignore[misc]
        self: Tensor[B],
        kept_dim: builtins.int = NOT_GIVEN,
        /,
        *,
        dim: builtins.int | None = None,
        keepdim: builtins.bool | None = None,
        axis: builtins.int | None = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor[B]:
        """Find the index of the smallest element: the first NaN, else the first of equal ones.

        `argmin(1)` keeps its `kept_dim`, as in Burn; `argmin(dim=1)` drops it unless `keepdim`, as PyTorch (or `axis`,
        `keepdims`); `argmin()` counts through all elements in row-major order.

        >>> x = burn.tensor([[1.0, 2.0], [5.0, 3.0]])
        >>> x.argmin(1).tolist(), x.argmin(dim=1).tolist(), x.argmin().tolist()
        ([[0], [1]], [0, 1], [0])
        """
        if kept_dim is not NOT_GIVEN and keepdim is keepdims is dim is axis is None:
            return reduce.argmin(self, kept_dim)
        dim, keepdim = _placed("argmin", kept_dim, dim, keepdim, axis, keepdims)
        return of.positions("argmin", reduce.argmin, self, dim, keepdim)

    @overload
    def median(self: Tensor[B], kept_dim: builtins.int = ..., /) -> Tensor[B]: ...  # type: ignore[misc]
    @overload
    def median(  # type: ignore[misc]
        self: Tensor[B], /, *, dim: builtins.int, keepdim: builtins.bool = False
    ) -> ValuesAndIndices[B]: ...
    def median(
        self: Any,
        kept_dim: builtins.int = NOT_GIVEN,
        /,
        *,
        dim: builtins.int | None = None,
        keepdim: builtins.bool | None = None,
    ) -> Any:
        """Take the middle element, the lower of two, and NaN if there is one.

        `median(1)` keeps its `kept_dim`, as in Burn; `median(dim=1)` gives `(values, indices)`, without the dim
        unless `keepdim`; `median()` is the middle of all elements, as shape [1].

        >>> x = burn.tensor([[1.0, 7.0, 2.0]])
        >>> x.median(1).tolist(), x.median(dim=1).values.tolist(), x.median().tolist()
        ([[2.0]], [2.0], [2.0])
        """
        if kept_dim is not NOT_GIVEN and dim is keepdim is None:
            return sort.median(self, kept_dim)
        if kept_dim is NOT_GIVEN and dim is not None:
            several = "there is no median over several dims: make them one with flatten"
            return of.chosen("median", sort.median_with_indices, self, dim, bool(keepdim), several)
        dim, keepdim = _placed("median", kept_dim, dim, keepdim, None, None)
        return of.positions("median", sort.median, self, dim, keepdim)

    # Truth

    def any(  # type: ignore[misc]
        self: Tensor[B],
        dim: Dims | None = None,
        keepdim: builtins.bool = False,
        *,
        axis: Dims | None = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor[B]:
        """Tell whether any element is not zero: of all, as shape [1], or along dims.

        `dim` is one dim or several, dropped unless `keepdim` is true; NumPy's words are `axis` and `keepdims`.

        >>> x = burn.tensor([[1, 1], [0, 0]])
        >>> x.any().tolist(), x.any(dim=1).tolist()
        ([True], [True, False])
        """
        dim, keepdim = of.spelled("any", dim, keepdim, axis, keepdims)
        if dim is None and not keepdim:
            return reduce.any(self)
        return of.reduced("any", reduce.any_dims, self, dim, keepdim)

    def all(  # type: ignore[misc]
        self: Tensor[B],
        dim: Dims | None = None,
        keepdim: builtins.bool = False,
        *,
        axis: Dims | None = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor[B]:
        """Tell whether no element is zero: of all, as shape [1], or along dims.

        `dim` is one dim or several, dropped unless `keepdim` is true; NumPy's words are `axis` and `keepdims`.

        >>> x = burn.tensor([[1, 1], [0, 0]])
        >>> x.all().tolist(), x.all(dim=1).tolist()
        ([False], [True, False])
        """
        dim, keepdim = of.spelled("all", dim, keepdim, axis, keepdims)
        if dim is None and not keepdim:
            return reduce.all(self)
        return of.reduced("all", reduce.all_dims, self, dim, keepdim)

    def count_nonzero(  # type: ignore[misc]
        self: Tensor[B], dim: Dims | None = None
    ) -> Tensor[B]:
        """Count the elements that are not zero: all of them, as shape [1], or along `dim`, which is dropped.

        >>> burn.tensor([[1, 0], [2, 3]]).count_nonzero(dim=1).tolist()
        [1, 2]
        """
        return self.bool().sum(dim)

    # Statistics

    def var(  # type: ignore[misc]
        self: Tensor[B],
        kept_dim: builtins.int = NOT_GIVEN,
        /,
        *,
        dim: Dims | None = None,
        unbiased: builtins.bool | None = None,
        correction: float | None = None,
        keepdim: builtins.bool | None = None,
        axis: Dims | None = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor[B]:
        """Compute the variance, dividing by `count - correction`: by one less than the count, unless told.

        `var(1)` keeps its `kept_dim`, as in Burn; `var(dim=1)` drops it unless `keepdim`, as in PyTorch (NumPy: `axis`,
        `keepdims`); `var()` is that of all elements. `unbiased=False` is `correction=0`.

        >>> x = burn.tensor([[1.0, 3.0], [2.0, 6.0]])
        >>> x.var(1).tolist(), x.var(dim=1).tolist(), x.var(dim=1, correction=0).tolist()
        ([[2.0], [8.0]], [2.0, 8.0], [1.0, 4.0])
        """
        as_burn = keepdim is keepdims is dim is axis is unbiased is correction is None
        if as_burn and hasattr(kept_dim, "__index__"):
            return statistics.var(self, kept_dim)
        dim, keepdim = _placed("var", kept_dim, dim, keepdim, axis, keepdims)
        return of.variance("var", self, dim, keepdim, unbiased, correction)

    def std(  # type: ignore[misc]
        self: Tensor[B],
        dim: Dims | None = None,
        unbiased: builtins.bool | None = None,
        keepdim: builtins.bool = False,
        *,
        correction: float | None = None,
        axis: Dims | None = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor[B]:
        """Compute the standard deviation of all elements, as shape [1], or along dims.

        The sum of squares is divided by `count - correction`: by one less than the count, unless told.
        `unbiased=False` is `correction=0`.
        `dim` is one dim or several, dropped unless `keepdim` is true; NumPy's words are `axis` and `keepdims`.

        >>> burn.tensor([[1.0, 3.0], [2.0, 6.0]]).std(dim=1, correction=0).tolist()
        [1.0, 2.0]
        """
        dim, keepdim = of.spelled("std", dim, keepdim, axis, keepdims)
        return of.variance("std", self, dim, keepdim, unbiased, correction).sqrt()

    def norm(  # type: ignore[misc]
        self: Tensor[B],
        p: Any = 2.0,
        dim: Dims | None = None,
        keepdim: builtins.bool = False,
        *,
        axis: Dims | None = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor[B]:
        """Measure all elements as one vector, as shape [1], or vectors along dims: `p` is 2 for the usual length.

        `dim` is one dim or several, dropped unless `keepdim` is true; NumPy's words are `axis` and `keepdims`.

        >>> x = burn.tensor([[3.0, 4.0], [0.0, 0.0]])
        >>> x.norm().tolist(), x.norm(dim=1).tolist(), x.norm(1, dim=1).tolist()
        ([5.0], [5.0, 0.0], [7.0, 0.0])
        """
        dim, keepdim = of.spelled("norm", dim, keepdim, axis, keepdims)
        return of.norm(self, p, dim, keepdim)

    def all_close(  # type: ignore[misc]
        self: Tensor[B], other: Tensor | float, *, rtol: float = 1e-5, atol: float = 1e-8
    ) -> builtins.bool:
        """Whether every element is close to that of `other`, as `is_close` tells. Reads the answer.

        Arguments:
            rtol, atol: the relative and the absolute tolerance.

        >>> burn.tensor([1.0, 2.0]).all_close(burn.tensor([1.0, 2.000001]))
        True
        """
        return builtins.bool(reduce.is_close(self, other, rtol=rtol, atol=atol).all())

    allclose = all_close


def _placed(
    operation: str, kept_dim: Any, dim: Any, keepdim: Any, axis: Any, keepdims: Any
) -> tuple[Any, builtins.bool]:
    """`dim` and `keepdim` of a method whose dim may also stand by its place, and is kept then."""
    if kept_dim is not NOT_GIVEN:
        if dim is not None or axis is not None:
            raise ArgumentError(f"{operation}: the dim is given twice, as {kept_dim!r} and by name; give one of them")
        dim = kept_dim
    if keepdim is None:
        keepdim = kept_dim is not NOT_GIVEN and kept_dim is not None
    return of.spelled(operation, dim, keepdim, axis, keepdims)


_EXTREMES: dict[str, tuple[Any, ...]] = {
    "max": (arithmetic.max_pair, reduce.max_dim_with_indices, reduce.max_dims),
    "min": (arithmetic.min_pair, reduce.min_dim_with_indices, reduce.min_dims),
}
