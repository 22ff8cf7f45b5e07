"""Sizes in the generated source: named ones become variables, sums and quotients of them expressions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from burn.dim import Dim, Operation
from burn_import.onnx.code.expression import Expression, Form, binary, call, literal, product, unary
from burn_import.onnx.ir.types import Shape, Size

Resolve = Callable[[str], Expression | None]


def size_expression(size: Size, resolve: Resolve) -> Expression | None:
    """A size as source; None when it is not known or a name in it has no variable."""
    if size is None:
        return None
    if not isinstance(size, Dim):
        return literal(int(size))
    if not size.is_integral:
        return None
    total: Expression | None = None
    for atoms, factor in size.terms:
        parts: list[Any] = [] if abs(factor) == 1 and atoms else [abs(int(factor))]
        for atom in atoms:
            found = _atom(atom, resolve)
            if found is None:
                return None
            parts.append(found)
        term = product(parts)
        if total is None:
            total = unary("-", term) if factor < 0 else term
        else:
            total = binary("-" if factor < 0 else "+", total, term)
    return None if total is None else total.number()


def _atom(atom: str | Operation, resolve: Resolve) -> Expression | None:
    if isinstance(atom, str):
        return resolve(atom)
    left, right = size_expression(atom.left, resolve), size_expression(atom.right, resolve)
    if left is None or right is None:
        return None
    if atom.operation == "//":
        return binary("//", left, right).number()
    return call(Expression(atom.operation), left, right).number()


def element_expression(element: Any, resolve: Resolve) -> Expression | None:
    """One element of a content: a number, a size, or None."""
    if isinstance(element, Dim):
        return size_expression(element, resolve)
    if isinstance(element, Fraction) or element is None:
        return None
    return literal(element)


def shape_comment(shape: Shape | None, spell: Callable[[str], str]) -> str:
    """A shape as people read it: `(batch, 3, 224, 224)`."""
    if shape is None:
        return ""
    words = []
    for size in shape:
        text = "?" if size is None else str(size)
        if isinstance(size, Dim):
            for symbol in sorted(size.symbols(), key=len, reverse=True):
                text = text.replace(symbol, spell(symbol))
        words.append("".join(c for c in text if c.isascii() and (c.isalnum() or c in "_ ?+-*/().,")))
    return f"({', '.join(words)}{',' if len(words) == 1 else ''})"


__all__ = ["Form", "Resolve", "element_expression", "shape_comment", "size_expression"]
