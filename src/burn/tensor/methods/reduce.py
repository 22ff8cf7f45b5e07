"""Reductions, running sums and statistics under Burn's names."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from burn.ops import aggregation, choices, cumulative, reduce, statistics

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor


class ReduceMethods:
    """Operations that turn many elements into one, or into a running value."""

    __slots__ = ()

    sum = reduce.sum
    sum_dim = reduce.sum_dim
    sum_dims = reduce.sum_dims
    sum_dims_squeeze = reduce.sum_dims_squeeze
    prod = reduce.prod
    prod_dim = reduce.prod_dim
    prod_dims = reduce.prod_dims
    mean = reduce.mean
    mean_dim = reduce.mean_dim
    mean_dims = reduce.mean_dims

    max = reduce.max
    max_dim = reduce.max_dim
    max_dims = reduce.max_dims
    max_dim_with_indices = reduce.max_dim_with_indices
    max_abs = reduce.max_abs
    max_abs_dim = reduce.max_abs_dim
    max_abs_dims = reduce.max_abs_dims
    min = reduce.min
    min_dim = reduce.min_dim
    min_dims = reduce.min_dims
    min_dim_with_indices = reduce.min_dim_with_indices
    argmax = reduce.argmax
    argmin = reduce.argmin
    argmax_last = choices.argmax_last
    argmin_last = choices.argmin_last
    largest_dims = aggregation.largest_dims
    smallest_dims = aggregation.smallest_dims
    log_sum_exp_dims = aggregation.log_sum_exp_dims

    any = reduce.any
    any_dim = reduce.any_dim
    any_dims = reduce.any_dims
    all = reduce.all
    all_dim = reduce.all_dim
    all_dims = reduce.all_dims
    contains_nan = reduce.contains_nan
    is_close = reduce.is_close

    cumsum = cumulative.cumsum
    cumprod = cumulative.cumprod
    cummax = cumulative.cummax
    cummin = cumulative.cummin
    running_sum = cumulative.running_sum
    running_product = cumulative.running_product

    var = statistics.var
    var_bias = statistics.var_bias
    var_mean = statistics.var_mean
    var_mean_bias = statistics.var_mean_bias
    cov = statistics.cov

    def all_close(  # type: ignore[misc]
        self: Tensor[B], other: Tensor[Any] | float, *, rtol: float = 1e-5, atol: float = 1e-8
    ) -> builtins.bool:
        """Whether every element is close to that of `other`, as `is_close` tells. Reads the answer.

        Arguments:
            rtol, atol: the relative and the absolute tolerance.

        >>> burn.tensor([1.0, 2.0]).all_close(burn.tensor([1.0, 2.000001]))
        True
        """
        return builtins.bool(reduce.is_close(self, other, rtol=rtol, atol=atol).all())
