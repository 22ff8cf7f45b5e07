"""Reductions and searches along dims."""

from __future__ import annotations

from burn_import.onnx.code.expression import Expression, binary
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator

SIMPLE = {
    "ReduceSum": "sum_dims", "ReduceMean": "mean_dims", "ReduceProd": "prod_dims", "ReduceMax": "largest_dims",
    "ReduceMin": "smallest_dims", "ReduceLogSumExp": "log_sum_exp_dims", "ReduceL1": "sum_dims",
    "ReduceL2": "sum_dims", "ReduceSumSquare": "sum_dims", "ReduceLogSum": "sum_dims",
}  # fmt: skip


@operator(*SIMPLE)
def reduce(op: Operation) -> Expression:
    """Without axes all dims are meant, unless the node says that then nothing is reduced."""
    name = op.node.op_type
    x = op.x
    if name == "ReduceL1":
        x = x.method("abs")
    elif name in ("ReduceL2", "ReduceSumSquare"):
        x = op.assign("x", x)
        x = binary("*", x, x)
    dims = op.known_ints(1) if op.has(1) else []
    rank = op.known_rank()
    result = x
    if dims is None:
        result = _counted(op, x, SIMPLE[name])
    elif dims or not op.flag("noop_with_empty_axes"):
        if rank is not None:
            dims = sorted(dim + rank if dim < 0 else dim for dim in dims) or list(range(rank))
        if not dims and rank is None:
            raise op.refuse("all dims of an input of unknown rank")
        if dims or rank == 0:
            result = x.method(SIMPLE[name], dims) if dims else x
            if dims and not op.flag("keepdims"):
                result = _squeezed(result, dims)
    if name == "ReduceL2":
        return result.method("sqrt")
    return result.method("log") if name == "ReduceLogSum" else result


def _squeezed(result: Expression, dims: list[int]) -> Expression:
    return result.method("squeeze_dim", dims[0]) if len(dims) == 1 else result.method("squeeze_dims", dims)


def _counted(op: Operation, x: Expression, method: str) -> Expression:
    """Axes that are known only at run time."""
    axes = op.assign("axes", op.numbers(1))
    everything = op.named("list")(op.named("range")(op.x.method("dims").method("__len__")))
    if not op.flag("noop_with_empty_axes"):
        axes = op.assign("axes", axes.or_else(everything))
    result = x.method(method, axes)
    return result if op.flag("keepdims") else result.method("squeeze_dims", axes)


@operator("ArgMax", "ArgMin")
def arg_extreme(op: Operation) -> Expression:
    name = "argmax" if op.node.op_type == "ArgMax" else "argmin"
    if op.flag("select_last_index"):
        name += "_last"
    axis = op.axis(default=0)
    found = op.x.method(name, axis)
    if not op.flag("keepdims"):
        found = found.method("squeeze_dim", axis)
    return found


@operator("TopK")
def top_k(op: Operation) -> list[Expression | None]:
    axis, largest, in_order = op.axis(default=-1), op.flag("largest"), op.flag("sorted")
    return op.unpack(op.x.method("extremes_with_indices", op.number(1), axis, largest, in_order), 2)


@operator("CumSum", "CumProd")
def running(op: Operation) -> Expression:
    name = "running_sum" if op.node.op_type == "CumSum" else "running_product"
    return op.x.method(name, op.number(1), op.flag("exclusive"), op.flag("reverse"))


@operator("NonZero")
def non_zero(op: Operation) -> Expression:
    return op.x.method("argwhere").method("transpose")
