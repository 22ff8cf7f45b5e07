"""A row of the op table: everything the rest of the package knows about one operation.

A row is made by a decorator of `burn.ops.declare` around a typed function. Its parameters are
*operands* (tensors, or Python numbers lifted to run time) and *attributes* (plain data, part of a
program's identity). Kernels and rules take the operands first, then the attributes, in the order
of the signature.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from burn.classes import dataclass
from burn.errors import ArgumentError, BurnError, CallError
from burn.ops.sizes import bounded

if TYPE_CHECKING:
    from burn.device import Device
    from burn.dtype import DType

OpKind = Literal["primitive", "composite", "hosted", "region"]
Bound = Literal["compute", "memory"]
Group = Literal["elementwise", "reduction", "view"]
"""What kind of kernel a row has; an engine knows rows without a group by their names, or not at all."""

TABLE: dict[str, Op] = {}
"""Every operation by name, in the order of declaration."""

_MISSING: Any = object()


@dataclass(frozen=True)
class Vjp:
    """How a gradient flows to one operand: a function and where each of its parameters comes from.

    A source is `("g", 0)`, `("operand", i)`, `("out", 0)`, `("attribute", i)`, `("shape", i)` or
    `("dtype", i)`: what a function does not name is not kept for it.
    """

    function: Callable[..., Any]
    sources: tuple[tuple[str, int], ...]

    @property
    def saves_operands(self) -> tuple[int, ...]:
        """The operands whose values are kept until backward."""
        return tuple(index for kind, index in self.sources if kind == "operand")

    @property
    def saves_output(self) -> bool:
        """Whether the result is kept until backward."""
        return any(kind == "out" for kind, _ in self.sources)


class Op:
    """An operation: a row of the table, of what the decorators of this package and of `burn.ops.declare` are told.

    Compared and hashed by identity. How kernels compute it is told in terms of the kernel language:

    - `element(b, *operands, *attributes)` gives one element of the result: the row is *elementwise*. It is `costly` if
      that takes longer than writing the result to the nearest cache and reading it again. Results of other dtypes
      than `element_dtypes` have none.
    - `reduction` names the fold of `burn.cube` that reduces the operand along the dims of the only attribute, which are
      kept with size 1: the row is a *reduction*. With an element, each element of the operand goes through it first.
    - `view(walk, shape, *attributes)` tells where the elements of the result are in the memory of the operand (see
      `burn.ops.views`): the row is a *view*.

    Arguments:
        function, name, family, kind: the declared function, and where it belongs.
        rule, prepare: what checks the arguments and gives shape and dtype, and what brings operands to a common dtype.
        reference, vjp: the meaning in NumPy, and the gradient of each operand.
        bound, outputs, version: what checkpointing does, how many results there are, of which definition.

    >>> from burn.extension import operation_of
    >>> op = operation_of(Tensor.cumsum)
    >>> op.operands, op.attributes, op.vjp_on(burn.NdArray()) is op.vjp, op.registered_kernel(burn.NdArray())
    (('x',), ('dim',), True, None)
    >>> op.bind(("x",), {"dim": 0}), op.unbind(["x"], [0]), op.result_count((0,))
    ((['x'], [0]), ['x', 0], 1)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        kind: OpKind,
        *,
        name: str | None = None,
        family: str,
        reference: Callable[..., Any] | None,
        rule: Callable[..., Any] | None = None,
        prepare: Callable[..., Any] | None = None,
        vjp: Mapping[str, Callable[..., Any]] | None = None,
        element: Callable[..., Any] | None = None,
        costly: bool = False,
        element_dtypes: frozenset[DType] | None = None,
        reduction: str | None = None,
        view: Callable[..., Any] | None = None,
        bound: Bound = "memory",
        outputs: int = 1,
        version: int = 1,
    ) -> None:
        code = function.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        self.function = function
        self.name = name or function.__name__
        self.kind = kind
        self.family = family
        self.reference = reference
        self.rule = None if rule is None else bounded(rule)
        self.prepare = prepare
        self.element = element
        self.is_costly = costly
        self.element_dtypes = element_dtypes
        self.reduction = reduction
        self.view = view
        self.group: Group | None = "reduction" if reduction else "view" if view else "elementwise" if element else None
        self.bound = bound
        self.outputs = outputs
        self.version = version
        self.doc = function.__doc__ or ""
        self.gathers = bool(code.co_flags & inspect.CO_VARARGS)
        """Whether the last parameter is a sequence that may also be given number by number, as `*shape`."""
        self._by_place = code.co_argcount + self.gathers
        self.parameters = code.co_varnames[: count + self.gathers]
        self._read_signature(function)
        self.vjp = self._read_vjp(vjp or {})
        self._stack_vjps: dict[type, dict[int, Vjp]] = {}
        self._kernels: dict[type, Callable[..., Any]] = {}
        self.is_elementwise = False
        self.is_total = kind != "hosted"  # whether it never fails for what its operands hold, and may run later
        self.result_dtype: DType | None = None  # of elementwise rows; None stands for the operands' own
        self.accepts: frozenset[DType] | None = None  # the dtypes that an elementwise row computes in
        self.recorded: Callable[..., Any] | None = (
            None  # the rule for what kernels get, where callers give something else
        )
        known = TABLE.get(self.name)
        if known is not None and _origin(known.function) != _origin(function):
            raise ArgumentError(
                f"{self.name}: an operation of this name exists in {known.function.__module__}; give yours another name"
            )
        TABLE[self.name] = self

    def _read_signature(self, function: Callable[..., Any]) -> None:
        annotations = function.__annotations__
        operands, attributes, operand_positions, attribute_positions = [], [], [], []
        self.variadic = False
        for position, parameter in enumerate(self.parameters):
            annotation = str(annotations.get(parameter, ""))
            if annotation.startswith("Sequence[Tensor"):
                self.variadic = True
            if "Tensor" in annotation or annotation == "Operand":
                operands.append(parameter)
                operand_positions.append(position)
            else:
                attributes.append(parameter)
                attribute_positions.append(position)
        self.operands = tuple(operands)
        self.attributes = tuple(attributes)
        self.operand_count = len(operands)
        self._operand_positions = tuple(operand_positions)
        self._attribute_positions = tuple(attribute_positions)
        self.interleaved = operand_positions != list(range(len(operands)))
        defaults = [_MISSING] * len(self.parameters)
        positional = function.__code__.co_argcount
        for offset, value in enumerate(function.__defaults__ or ()):
            defaults[positional - len(function.__defaults__ or ()) + offset] = value
        for parameter, value in (function.__kwdefaults__ or {}).items():
            defaults[self.parameters.index(parameter)] = value
        self._defaults = tuple(defaults)

    def _read_vjp(self, vjp: Mapping[str, Callable[..., Any]]) -> dict[int, Vjp]:
        result = {}
        for operand, function in vjp.items():
            names = function.__code__.co_varnames[: function.__code__.co_argcount]
            result[self.operands.index(operand)] = Vjp(function, tuple(self._source(name) for name in names))
        return result

    def _source(self, name: str) -> tuple[str, int]:
        if name in ("g", "out"):
            return name, 0
        if name in self.operands:
            return "operand", self.operands.index(name)
        if name in self.attributes:
            return "attribute", self.attributes.index(name)
        for suffix in ("shape", "dtype"):
            owner = name.removesuffix("_" + suffix)
            if owner != name and owner in self.operands:
                return suffix, self.operands.index(owner)
        raise BurnError(f"{self.name}: a vjp names {name!r}, which is no operand, attribute, g or out")

    def result_count(self, attributes: tuple[Any, ...]) -> int:
        """How many results a node with these `attributes` has: a region has those of its first program."""
        return self.outputs or len(attributes[0].outputs)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """Sort the `args` and `kwargs` of a call into operands and attributes, as Python would bind them."""
        parameters = self.parameters
        values = list(args)
        faults = []
        if self.gathers and len(values) >= len(parameters) and not _is_sequence(values[len(parameters) - 1]):
            values[len(parameters) - 1 :] = [tuple(values[len(parameters) - 1 :])]
        given = len(values)
        if given > self._by_place:
            faults.append(f"takes {self._by_place} arguments ({', '.join(parameters[: self._by_place])}), got {given}")
            del values[self._by_place :]
        values += self._defaults[len(values) :]
        for name, value in kwargs.items():
            if name not in parameters:
                from burn.guesses import keyword

                faults.append(f"unknown argument {name!r}{keyword(name, parameters)}")
            elif parameters.index(name) < given:
                faults.append(f"argument {name!r} is given twice")
            else:
                values[parameters.index(name)] = value
        missing = [name for name, value in zip(parameters, values, strict=True) if value is _MISSING]
        if missing:
            faults.append(f"missing {', '.join(missing)}")
        if faults:
            from burn.guesses import CALLS

            hint = f"; {CALLS[self.name]}" if self.name in CALLS else ""
            raise CallError(f"{self.name}: {'; '.join(faults)}; write {self.signature()}{hint}")
        return [values[i] for i in self._operand_positions], [values[i] for i in self._attribute_positions]

    def signature(self) -> str:
        """How the operation is called.

        >>> Tensor.flatten.op.signature()
        'flatten(x, start=0, end=-1)'
        """
        shown = [f"*{name}" if self.gathers and name == self.parameters[-1] else name for name in self.parameters]
        for place, default in enumerate(self._defaults):
            if default is not _MISSING:
                shown[place] += f"={default!r}"
        return f"{self.name}({', '.join(shown)})"

    def unbind(self, operands: list[Any], attributes: list[Any]) -> list[Any]:
        """The `operands` and `attributes` in the order of the signature: the inverse of `bind`."""
        values: list[Any] = [None] * len(self.parameters)
        for position, value in zip(self._operand_positions, operands, strict=True):
            values[position] = value
        for position, value in zip(self._attribute_positions, attributes, strict=True):
            values[position] = value
        return values

    # Extension: kernels and backward rules from outside

    def register_kernel(self, device: type[Device], kernel: Callable[..., Any]) -> None:
        """Use `kernel(device, *operands, *attributes)` on devices of that class."""
        self._kernels[device] = kernel
        self._forget()

    def register_vjp(self, device: type[Device], vjp: Mapping[str, Callable[..., Any]]) -> None:
        """Use these backward rules, as in `vjp`, where the device under `Autodiff` has a base of that class."""
        self._stack_vjps[device] = self._read_vjp(vjp)
        self._forget()

    def registered_kernel(self, device: Device) -> Callable[..., Any] | None:
        """The kernel registered for the class of `device`, for one of its parents, or for its host."""
        for cls in type(device).__mro__ if self._kernels else ():
            kernel = self._kernels.get(cls)
            if kernel is not None:
                return kernel.__get__(device)  # type: ignore[no-any-return]
        return None if device.host is None else self.registered_kernel(device.host)

    def vjp_on(self, device: Device) -> dict[int, Vjp]:
        """The backward rules above `device`."""
        base: Device | None = device.base if self._stack_vjps else None
        while base is not None:
            for cls in type(base).__mro__:
                if cls in self._stack_vjps:
                    return self._stack_vjps[cls]
            base = base.host
        return self.vjp

    def _forget(self) -> None:
        from burn.device import _INSTANCES

        for device in list(_INSTANCES.values()):
            device.kernels.clear()  # of composites, too, which may consist of it

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}({', '.join(self.parameters)})>"


def _origin(function: Callable[..., Any]) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def _is_sequence(value: Any) -> bool:
    return hasattr(value, "__iter__") and not hasattr(value, "handle")
