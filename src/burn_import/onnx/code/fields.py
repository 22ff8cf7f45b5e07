"""The fields of the generated class: layers, parameters and small constants, and the weights that fill them.

A field's construction gives lazy values; its real ones go to the record under `field.parameter`. Two nodes that use
the same weights in the same way share one field.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from burn.classes import dataclass
from burn_import.onnx.code.expression import Expression, first
from burn_import.onnx.code.hints import is_path
from burn_import.onnx.code.names import RESERVED, Names
from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.ir.types import ElementType

if TYPE_CHECKING:
    from burn_import.onnx.code.classes import Block

Array: TypeAlias = np.ndarray[Any, Any]
LITERAL = 16  # elements; constants of more are kept in the record


@dataclass(frozen=True, slots=True)
class Weight:
    """A constant of the model as a layer stores it; `change` transposes, splits or sums up."""

    value: Value
    change: Callable[[Array], Array] | None = None

    def array(self) -> Array:
        assert self.value.constant is not None
        array = self.value.constant.array
        return array if self.change is None else self.change(array)


Source: TypeAlias = "Weight | Array"


@dataclass(slots=True)
class Field:
    """One field: its annotation, how it is made, and what fills it."""

    name: str
    annotation: str
    construction: Expression
    comment: str = ""
    weights: dict[str, Source] = field(default_factory=dict)  # by the path inside the field; "" is the field itself
    block: Block | None = None  # of a field that holds a class of the file: construction is known at the end


class Fields:
    """The fields of one class in order of first use."""

    def __init__(self) -> None:
        self.entries: list[Field] = []
        self.names = Names(RESERVED | frozenset(_MODULE_NAMES))
        self._known: dict[Hashable, Field] = {}

    def layer(
        self,
        hint: str,
        annotation: str,
        construction: Expression,
        weights: Mapping[str, Source],
        *,
        shared: bool = True,
    ) -> Expression:
        """`self.name` of a layer."""
        key = (annotation, construction.text, *((path, _key(source)) for path, source in sorted(weights.items())))
        known = self._known.get(key) if shared and weights else None
        if known is None:
            known = Field(self.names.fresh(hint), annotation, construction, weights=dict(weights))
            self.entries.append(known)
            if shared and weights:
                self._known[key] = known
        return Expression(f"self.{known.name}", simple=True)

    def block(self, hint: str, block: Block, weights: Mapping[str, Source]) -> Expression:
        """`self.name` of an instance of a class of this file; the same weights in the same class are one instance."""
        key = ("block", block.group, *((path, _key(source)) for path, source in sorted(weights.items())))
        known = self._known.get(key) if weights else None
        if known is not None:
            block.name = known.name
            block.is_again = True
            return Expression(f"self.{known.name}", simple=True)
        made = Field(self.names.fresh(hint), "", Expression(""), weights=dict(weights), block=block)
        block.name = made.name
        self._known[key] = made
        self.entries.append(made)
        return Expression(f"self.{made.name}", simple=True)

    def parameter(self, hint: str, source: Source) -> Expression:
        """`self.name` of a tensor that is kept in the record; floats are trained."""
        key = ("parameter", _key(source))
        known = self._known.get(key)
        if known is None:
            dtype, shape = _type(source)
            known = Field(self.names.fresh(hint), "Param", _empty(dtype, shape), _sizes(dtype, shape), {"": source})
            self.entries.append(known)
            self._known[key] = known
        return Expression(f"self.{known.name}", simple=True)

    def constant(self, hint: str, array: Array) -> Expression:
        """`self.name` of a few numbers that stand in the source."""
        key = ("constant", array.dtype.str, array.shape, array.tobytes())
        known = self._known.get(key)
        if known is None:
            dtype = ElementType.from_numpy(array.dtype)
            made = Expression("burn.tensor")(nested(array), device=DEVICE, dtype=dtype)
            known = Field(self.names.fresh(hint), "Tensor", made, _sizes(dtype, array.shape))
            self.entries.append(known)
            self._known[key] = known
        return Expression(f"self.{known.name}", simple=True)

    def anchor(self) -> Expression:
        """A field that only knows the model's device, for models without inputs."""
        made = Expression("Tensor.zeros")([1], DEVICE)
        known = self._known.setdefault("anchor", Field("place", "Tensor", made, "the device of the model"))
        if known not in self.entries:
            self.names.reserve("place")
            self.entries.append(known)
        return Expression(f"self.{known.name}", simple=True)

    def has_copies(self) -> bool:
        """Whether two blocks hold the same weight, which would be trained as two. Layers beside each other that share
        a part of their weights do so with and without blocks."""
        seen: dict[Hashable, str] = {}
        for path, source in self.weights().items():
            if isinstance(source, Weight) and is_learnt(source.value):
                holder = path.rsplit(".", 2)[0]
                if seen.setdefault(_key(source), holder) != holder and "." in path:
                    return True
        return False

    def weights(self) -> dict[str, Source]:
        """Everything that the record holds, by path."""
        found: dict[str, Source] = {}
        for each in self.entries:
            for path, source in each.weights.items():
                found[f"{each.name}.{path}" if path else each.name] = source
        return found


DEVICE = Expression.name("device")
_MODULE_NAMES = (
    "leaves", "named_parameters", "parameters", "named_modules", "children", "num_params", "devices", "visit", "map",
    "to_device", "to", "fork", "autodiff", "no_grad", "freeze", "unfreeze", "cast", "valid", "train", "mode",
    "is_training", "into_record", "load_record", "save_file", "load_file", "quantize_weights", "clone", "format",
    "custom_settings", "custom_content", "default", "from_file", "from_embedded", "from_bytes", "run", "source",
)  # fmt: skip


FIXED = frozenset({
    "Slice", "Equal", "Greater", "Less", "Where", "Cast", "Shape", "QuantizeLinear", "DequantizeLinear",
})  # fmt: skip


SCALED = frozenset({"Mul", "Div", "Add", "Sub"})


def is_learnt(value: Value) -> bool:
    """Whether a constant is a weight: floats that are more than a number, not only cut or compared as masks are. A
    single number is one if its file names it as a part of a module and something is scaled or shifted by it."""
    constant = value.constant
    if constant is None or not constant.dtype.is_float or not constant.size:
        return False
    if constant.size == 1:
        users = [user for user, _ in value.uses]
        return is_path(value.name) and any(isinstance(user, Node) and user.op_type in SCALED for user in users)
    return any(isinstance(user, Node) and user.op_type not in FIXED for user, _ in value.uses)


def nested(array: Array) -> Any:
    """An array as nested lists of its shortest literals."""
    if array.ndim == 0:
        return first(array)
    return [nested(each) for each in array]


def array_of(source: Source) -> Array:
    """The elements of a weight."""
    return source.array() if isinstance(source, Weight) else source


def _key(source: Source) -> Hashable:
    if isinstance(source, Weight):
        change = source.change
        code = getattr(change, "__code__", change)
        cells = tuple(cell.cell_contents for cell in getattr(change, "__closure__", None) or ())
        return id(source.value), code, repr(cells), repr(getattr(change, "__defaults__", None))
    return source.dtype.str, source.shape, source.tobytes()


def _type(source: Source) -> tuple[ElementType, tuple[int, ...]]:
    if isinstance(source, Weight) and source.change is None:
        assert source.value.constant is not None
        return source.value.constant.dtype, source.value.constant.shape
    array = array_of(source)
    return ElementType.from_numpy(array.dtype), array.shape


def _empty(dtype: ElementType, shape: tuple[int, ...]) -> Expression:
    if dtype is ElementType.f32:
        return Expression("nn.Initializer.Normal")(0.0, 0.02).method("init", shape, DEVICE)
    return Expression("Param.from_tensor")(Expression("Tensor.zeros")(list(shape), DEVICE, dtype))


def _sizes(dtype: ElementType, shape: tuple[int, ...]) -> str:
    return f"{dtype} {tuple(shape)}"
