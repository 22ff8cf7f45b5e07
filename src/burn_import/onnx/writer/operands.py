"""Operands in the form that an operator wants, and the fields that hold what is constant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn_import.onnx.code.expression import Argument, Expression, Form, call, literal
from burn_import.onnx.code.fields import LITERAL, Array, Source, Weight, is_learnt
from burn_import.onnx.code.hints import constant_hint, is_scale, node_hint, relative
from burn_import.onnx.code.sizes import element_expression
from burn_import.onnx.code.symbols import Symbols
from burn_import.onnx.ir.graph import Value
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.operation import Operation, Unsupported
from burn_import.onnx.operators.values import ARITHMETIC, Values

if TYPE_CHECKING:
    from burn_import.onnx.writer.regions import Scope


class Operands(Symbols, Values):
    """A function that finds its operands: written before, known from sizes, or kept in a field."""

    scope: Scope = ()
    plain_fields: bool = False  # fields are named after their kinds alone, as repetitions without names need it

    def text(self, array: Array) -> Expression:
        self.imports.setdefault("numpy", set())
        made = call(Expression("np.array"), _listed(array.tolist()), dtype=Expression("object"))
        return made.other()

    def is_learnt(self, value: Value) -> bool:
        """Whether a number belongs into the record: it was learnt, or blocks that are alike differ in it."""
        if is_learnt(value) or is_scale(value):
            return True
        return self.current is not None and (self.current, value) in self.classes.learnt

    def element(self, element: Any) -> Expression | None:
        return element_expression(element, self.resolve)

    def imported(self, module: str, name: str) -> Expression:
        return Symbols.imported(self, module, name)

    @property
    def device(self) -> Expression:
        """Where new tensors belong: with the first input, else with a field."""
        for value, name in self.parameters:
            if self.values[value].form is Form.tensor:
                return Expression.name(name).attribute("device")
        if isinstance(self.outer, Operands):
            if "device" not in self.plain:
                self.passed["device"] = self.outer.device
                self.plain.append("device")
            return Expression.name("device", Form.other)
        for each in self.fields.entries:
            if each.annotation in ("Param", "Tensor"):
                return Expression(f"self.{each.name}.device", simple=True)
        return self.fields.anchor().attribute("device")

    # -- fields

    def constant_hint(self, value: Value) -> str:
        return relative(constant_hint(value, plain=self.plain_fields), self.scope)

    def constant(self, value: Value) -> Expression:
        constant = value.constant
        assert constant is not None
        if constant.dtype is ElementType.string:
            return self.text(constant.array)
        if constant.dtype.burn is None:
            raise Unsupported(f"a constant of {constant.dtype}")
        if self.is_learnt(value):
            named = is_scale(value) or (is_learnt(value) and not self.plain_fields)
            hint = self.constant_hint(value) if named else "scale" if self._multiplies() else "shift"
            return self.fields.parameter(hint, Weight(value))
        small = constant.size <= (1 if constant.dtype.is_float else LITERAL)
        if small and constant.dtype in ARITHMETIC and constant.size:
            return self.fields.constant(self.constant_hint(value), constant.array)
        return self.fields.parameter(self.constant_hint(value), Weight(value))

    def _multiplies(self) -> bool:
        return self.current is not None and self.current.op_type in ("Mul", "Div")

    def parameter(self, value: Value, hint: str | None, weight: Weight) -> Expression:
        """A constant as a `Param` of the model, whatever its size."""
        return self.fields.parameter(hint or self.constant_hint(value), weight)

    def table(self, hint: str, array: Array) -> Expression:
        if array.size and array.size <= LITERAL and array.dtype.kind in "biuf":
            return self.fields.constant(hint, array)
        return self.fields.parameter(hint, np.ascontiguousarray(array).reshape(array.shape))

    def layer(
        self,
        op: Operation,
        kind: str,
        settings: Sequence[Argument],
        keywords: dict[str, Argument],
        weights: dict[str, Source],
        mode: str | None,
    ) -> Expression:
        package, _, name = kind.rpartition(".")
        prefix = Expression.name("nn") if not package else Expression.name("nn").attribute(package)
        config = prefix.attribute(f"{name}Config")(*settings, **keywords)
        made = config.method("init", Expression.name("device")) if weights else config.method("init")
        dtypes = {_weight_dtype(each) for each in weights.values()} - {ElementType.f32}
        if dtypes:
            made = made.method("cast", sorted(dtypes, key=lambda each: each.value)[0])
        if mode is not None:
            made = made.method("mode", mode)
        annotation = prefix.attribute(name).text
        values = [each.value for each in weights.values() if isinstance(each, Weight)]
        hint = name if self.plain_fields else relative(node_hint(op.node, name, values), self.scope)
        found = self.fields.layer(hint or name, annotation, made, weights, shared=bool(weights))
        if weights:
            self.layers[op.node] = found.text.removeprefix("self.")
        return found


def _weight_dtype(source: Source) -> ElementType:
    if isinstance(source, Weight):
        assert source.value.constant is not None
        return source.value.constant.dtype
    return ElementType.from_numpy(source.dtype)


def _listed(content: Any) -> Any:
    """Nested lists of texts, as literals."""
    return [_listed(each) for each in content] if isinstance(content, list) else literal(str(content))
