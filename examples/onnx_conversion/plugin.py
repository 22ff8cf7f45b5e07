"""An operator of your own for the importer: `burn-import --input model.onnx --plugin plugin.py`.

`register_op` takes the domain, the name and the version that the operator appeared in. The function writes the node as
an expression of the generated source; `types` tells what the result is. What a function can ask and write is in
`docs/contributing/onnx-operator.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn_import.onnx import register_op

if TYPE_CHECKING:
    from burn_import.onnx.code.expression import Expression
    from burn_import.onnx.operators.operation import Operation
    from burn_import.onnx.passes.infer.context import Inference


def same_as_the_input(context: Inference) -> None:
    """The result has the dtype and the shape of the first input."""
    context.types[0] = context.type(0)


@register_op("example", "ScaledSoftplus", 1, types=same_as_the_input)
def scaled_softplus(op: Operation) -> Expression:
    """`activation.softplus(x, 1.0).mul(scale)`"""
    return op.function("activation", "softplus")(op.x, 1.0).method("mul", op.attribute("scale", 1.0))
