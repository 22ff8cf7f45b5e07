"""Operands in the form that an operator wants, and the fields that hold what is constant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn_import.onnx.code.expression import Argument, Expression, Form, call, first, literal
from burn_import.onnx.code.fields import LITERAL, Array, Source, Weight, is_learnt
from burn_import.onnx.code.frame import form_of
from burn_import.onnx.code.hints import constant_hint, is_scale, node_hint, relative
from burn_import.onnx.code.symbols import Symbols
from burn_import.onnx.ir.graph import Value
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.operation import Operation, Unsupported

if TYPE_CHECKING:
    from burn_import.onnx.writer.regions import Scope

ARITHMETIC = frozenset(each for each in ElementType if each.burn is not None and each.burn.is_arithmetic)


class Operands(Symbols):
    """A function that finds its operands: written before, known from sizes, or kept in a field."""

    scope: Scope = ()
    plain_fields: bool = False  # fields are named after their kinds alone, as repetitions without names need it

    def lookup(self, value: Value) -> Expression | None:
        """The expression of a value that was written before, here or around here."""
        raise NotImplementedError

    def result(self, value: Value) -> Expression:
        """A result of the function or of a body: tensors as tensors, everything else as it is."""
        return self.tensor(value) if form_of(value) is Form.tensor else self.raw(value)

    def raw(self, value: Value) -> Expression:
        known = self.lookup(value)
        if known is not None:
            return known
        if value.constant is not None and value.constant.dtype is ElementType.string:
            return self._text(value.constant.array)
        return self.tensor(value)

    def _text(self, array: Array) -> Expression:
        self.imports.setdefault("numpy", set())
        made = call(Expression("np.array"), _listed(array.tolist()), dtype=Expression("object"))
        return made.other()

    def tensor(self, value: Value) -> Expression:
        known = self.lookup(value)
        if known is not None and known.form in (Form.tensor, Form.other):
            return known
        if value.constant is not None:
            return self._constant(value)
        dtype = value.tensor.dtype
        if dtype is None:
            raise Unsupported(f"the element type of {value.name!r} is not known")
        content = known
        if content is None:
            each = self.each(value)
            if each is None:
                raise Unsupported(f"{value.name!r} has no expression")
            content = each[0] if value.tensor.rank == 0 else literal(list(each))
        return self.new(content, dtype)

    def new(self, content: Argument, dtype: ElementType) -> Expression:
        """A tensor of Python numbers; a captured call keeps it as a part of the program."""
        return call(self.imported("burn.ops.constants", "constant"), content, dtype, self.device)

    def operand(self, value: Value, beside: Value) -> Expression:
        constant, rank, other = value.constant, value.tensor.rank, beside.tensor.rank
        if (
            constant is not None
            and constant.size == 1
            and rank is not None
            and beside.constant is None
            and (rank == 0 or (other is not None and rank <= other))
            and constant.dtype in ARITHMETIC
            and beside.tensor.dtype is constant.dtype
            and self._is_plain_tensor(beside)
            and not self._is_learnt(value)
        ):
            return first(constant.array)
        if value.constant is None and rank == 0 and self._is_plain_tensor(beside):
            known = self.lookup(value)
            if known is not None and known.form is Form.number:
                return known
            if known is None:
                each = self.each(value)
                if each is not None:
                    return each[0]
        return self.tensor(value)

    def _is_learnt(self, value: Value) -> bool:
        """Whether a number belongs into the record: it was learnt, or blocks that are alike differ in it."""
        if is_learnt(value) or is_scale(value):
            return True
        return self.current is not None and (self.current, value) in self.classes.learnt

    def _is_plain_tensor(self, value: Value) -> bool:
        known = self.lookup(value)
        return known is not None and known.form is Form.tensor

    def number(self, value: Value) -> Expression:
        found = self.each(value)
        if found is not None and len(found) == 1:
            return found[0]
        known = self.lookup(value)
        if known is not None and known.form is Form.number:
            return known
        if known is not None and known.form is Form.numbers:
            return known.item(0).number()
        if value.constant is not None and value.constant.size == 1:
            return first(value.constant.array)
        return self.tensor(value).method("item").number()

    def numbers(self, value: Value) -> Expression:
        found = self.each(value)
        if found is not None:
            return literal(list(found))
        known = self.lookup(value)
        if known is not None and known.form is Form.numbers:
            return known
        if value.tensor.rank == 0:
            return literal([self.number(value)])
        return self.tensor(value).method("tolist").numbers()

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

    def _constant(self, value: Value) -> Expression:
        constant = value.constant
        assert constant is not None
        if constant.dtype is ElementType.string:
            return self._text(constant.array)
        if constant.dtype.burn is None:
            raise Unsupported(f"a constant of {constant.dtype}")
        if self._is_learnt(value):
            named = is_scale(value) or (is_learnt(value) and not self.plain_fields)
            hint = self.constant_hint(value) if named else "scale" if self._multiplies() else "shift"
            return self.fields.parameter(hint, Weight(value))
        small = constant.size <= (1 if constant.dtype.is_float else LITERAL)
        if small and constant.dtype in ARITHMETIC and constant.size:
            return self.fields.constant(self.constant_hint(value), constant.array)
        return self.fields.parameter(self.constant_hint(value), Weight(value))

    def _multiplies(self) -> bool:
        return self.current is not None and self.current.op_type in ("Mul", "Div")

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
