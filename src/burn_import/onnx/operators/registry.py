"""The table of operators: one row each, found by domain and name.

    @operator("Softmax")
    def softmax(op: Operation) -> Expression:
        return op.x.method("softmax", op.axis())

A row sees the newest version of its operator only: lifting has brought older ones to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, Union

from burn.classes import dataclass
from burn_import.onnx.passes.infer.context import RULES, Inference

if TYPE_CHECKING:
    from burn_import.onnx.code.expression import Expression
    from burn_import.onnx.operators.operation import Operation

Written: TypeAlias = Union["Expression", Sequence[Union["Expression", None]], None]
Write: TypeAlias = Callable[["Operation"], Written]


@dataclass(frozen=True, slots=True)
class Row:
    """One operator: the function that writes it, and the family (file) it stands in.

    `impure` operators are written as statements of their own, in the order of the graph: they draw random numbers.
    """

    domain: str
    name: str
    write: Write
    impure: bool = False

    @property
    def family(self) -> str:
        return self.write.__module__.rpartition(".")[2]


ROWS: dict[tuple[str, str], Row] = {}
_OTHERS: set[tuple[str, str]] = set()


def has_others() -> bool:
    """Whether somebody has added operators, or written ours in another way."""
    return bool(_OTHERS)


def operator(*names: str, domain: str = "", impure: bool = False) -> Callable[[Write], Write]:
    """Register the function that writes some operators."""

    def register(write: Write) -> Write:
        for name in names:
            assert (domain, name) not in ROWS, f"{domain}.{name} has a row already"
            ROWS[domain, name] = Row(domain, name, write, impure)
        return write

    return register


def register_op(
    domain: str, name: str, since: int = 1, *, types: Callable[[Inference], None] | None = None
) -> Callable[[Write], Write]:
    """Add an operator of your own (its `domain` and `name`), or write one of ours in another way.

    The function writes the node, as rows do; `types` says what its results are, given its inputs (the types that the
    file declares are taken without it). `since` is the version that the operator appeared in.

    >>> import onnx
    >>> from burn_import.onnx import load, register_op
    >>> @register_op("example", "Twice")
    ... def twice(op):
    ...     return op.x.method("mul", 2.0)
    >>> domains = '<ir_version: 8, opset_import: ["": 17, "example": 1]>'
    >>> graph = 'graph (float[2] x) => (float[2] y) { y = example.Twice(x) }'
    >>> print(load(onnx.parser.parse_model(domains + graph))(burn.tensor([1.0, 2.0])).to_data())
    [2.0, 4.0]
    """
    assert since >= 1, since

    def register(write: Write) -> Write:
        _OTHERS.add((domain, name))
        ROWS[domain, name] = Row(domain, name, write)
        if types is not None:
            RULES[domain, name] = types
        return write

    return register
