"""The decorators that make rows: `unary`, `binary`, `primitive`, `creation`, `composite`, `hosted`.

A row is a typed function with a docstring. The decorator carries what the other layers need: the
dtypes it takes, the code of one element, the NumPy reference, and the gradient of each operand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from burn.dtype import ARITHMETIC, FLOATS, INTS, DType, bool_
from burn.errors import DTypeError
from burn.ops import dispatch
from burn.ops.dispatch import Accepts
from burn.ops.elements import Element
from burn.ops.op import Bound, Op

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    from burn.backend.autodiff import Autodiff
    from burn.device import Device
    from burn.tensor import Tensor

    B = DefaultTypeVar("B", bound=Device, default=Device)
    Operand = float
    I = DefaultTypeVar("I", bound=Device, default=Device)  # noqa: E741
    B_co = DefaultTypeVar("B_co", bound=Device, default=Device, covariant=True)

    class BoundBinary(Generic[B_co]):
        """A two-operand operation as a method of `Tensor[B]`."""

        @overload
        def __call__(self: BoundBinary[Autodiff[I]], y: Tensor[I]) -> Tensor[Autodiff[I]]: ...
        @overload
        def __call__(self: BoundBinary[I], y: Tensor[Autodiff[I]]) -> Tensor[Autodiff[I]]: ...
        @overload
        def __call__(self: BoundBinary[B], y: Tensor[B] | float) -> Tensor[B]: ...
        @overload  # reached all the same: B is what `self` says before `y` is looked at
        def __call__(self, y: Tensor) -> Tensor: ...  # type: ignore[overload-cannot-match]
        def __call__(self, y: Any) -> Any: ...

    class Binary(Protocol):
        """A two-operand operation: a function, and a method when found on a tensor."""

        @overload
        def __call__(self, x: Tensor[Autodiff[I]], y: Tensor[I]) -> Tensor[Autodiff[I]]: ...
        @overload
        def __call__(self, x: Tensor[I], y: Tensor[Autodiff[I]]) -> Tensor[Autodiff[I]]: ...
        @overload
        def __call__(self, x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]: ...
        @overload
        def __call__(self, x: float, y: Tensor[B]) -> Tensor[B]: ...
        @overload
        def __get__(self, instance: None, owner: Any) -> Binary: ...
        @overload
        def __get__(self, instance: Tensor[B], owner: Any) -> BoundBinary[B]: ...


F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")
Gradients = Mapping[str, Callable[..., Any]]
Coerce = Callable[[Op, Any], Any]


class Domain:
    """Which dtypes an operation computes in, and what happens to the others."""

    def __init__(self, accepts: Accepts, coerce: Coerce) -> None:
        self.accepts = accepts
        self.coerce = coerce


def _refuse(what: str, hint: str) -> Coerce:
    def coerce(op: Op, x: Any) -> Any:
        raise DTypeError(f"{op.name}: needs {what}, got {x.dtype}; {hint}")

    return coerce


def _to_float(op: Op, x: Any) -> Any:
    if x.dtype in FLOATS:
        return x
    if not x.dtype.is_arithmetic:
        raise DTypeError(f"{op.name}: {x.dtype} only stores values; cast first with .cast('f32')")
    return x.cast(x.device.float_dtype)


def _checked(accepts: Accepts, coerce: Coerce) -> Coerce:
    def check(op: Op, x: Any) -> Any:
        return x if x.dtype in accepts else coerce(op, x)

    return check


def _domain(accepts: Accepts, what: str, hint: str) -> Domain:
    return Domain(accepts, _checked(accepts, _refuse(what, hint)))


ALL = frozenset(ARITHMETIC)
floating = Domain(FLOATS, _to_float)
"""Floats; ints and bools become the device's float dtype."""
only_floats = _domain(FLOATS, "a float tensor", "convert it with .float()")
numeric = _domain(FLOATS | INTS, "numbers", "convert it with .int() or .float()")
integral = _domain(INTS, "an int tensor", "convert it with .int()")
boolean = _domain(frozenset((bool_,)), "a bool tensor", "convert it with .bool() or a comparison")
bitwise = _domain(INTS | {bool_}, "ints or bools", "convert it with .int()")
anything = _domain(ALL, "an arithmetic dtype", "cast first with .cast('f32')")


def _family(function: Callable[..., Any]) -> str:
    return function.__module__.rpartition(".")[2]


def _publish(op: Op, call: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """Give the dispatcher the public face of the declared function."""
    call.__name__ = function.__name__
    call.__qualname__ = function.__name__
    call.__module__ = function.__module__
    call.__doc__ = function.__doc__
    call.__wrapped__ = function  # type: ignore[attr-defined]
    call.op = op  # type: ignore[attr-defined]
    return call


def unary(
    *,
    dtype: Domain,
    reference: Callable[..., Any],
    element: Element | None = None,
    costly: bool = False,
    element_dtypes: Accepts | None = None,
    vjp: Gradients | None = None,
    result: DType | None = None,
) -> Callable[[F], F]:
    """Declare an elementwise primitive of one operand."""

    def declare(function: F) -> F:
        op = Op(
            function, "primitive", family=_family(function), reference=reference, vjp=vjp,
            element=element, costly=costly, element_dtypes=element_dtypes,
        )  # fmt: skip
        op.rule = lambda op, x: (x.shape, result or x.dtype, ())
        op.is_elementwise, op.result_dtype, op.accepts = True, result, dtype.accepts
        return _publish(op, dispatch.unary(op, dtype.accepts, dtype.coerce, result), function)  # type: ignore[no-any-return]

    return declare


def binary(
    *,
    dtype: Domain,
    reference: Callable[..., Any],
    element: Element | None = None,
    costly: bool = False,
    element_dtypes: Accepts | None = None,
    vjp: Gradients | None = None,
    result: DType | None = None,
) -> Callable[[Callable[..., Any]], Binary]:
    """Declare an elementwise primitive of two operands, one of which may be a Python number."""

    def declare(function: Callable[..., Any]) -> Binary:
        op = Op(
            function, "primitive", family=_family(function), reference=reference, vjp=vjp,
            element=element, costly=costly, element_dtypes=element_dtypes,
        )  # fmt: skip
        op.rule = _binary_rule(result)
        op.is_elementwise, op.result_dtype, op.accepts = True, result, dtype.accepts
        call = dispatch.binary(op, dtype.accepts, dtype.coerce, result, exact=result is bool_)
        return _publish(op, call, function)  # type: ignore[no-any-return]

    return declare


def _binary_rule(result: DType | None) -> Callable[..., Any]:
    def rule(op: Op, x: Any, y: Any) -> Any:
        shape, dtype, _ = dispatch.broadcast_rule(op, x, y)
        return shape, result or dtype, ()

    return rule


def primitive(
    *,
    rule: Callable[..., Any],
    reference: Callable[..., Any] | None,
    vjp: Gradients | None = None,
    prepare: Callable[[Op, list[Any]], list[Any]] | None = None,
    bound: Bound = "memory",
    outputs: int = 1,
    element: Element | None = None,
    reduction: str | None = None,
    view: Callable[..., Any] | None = None,
) -> Callable[[F], F]:
    """Declare a primitive described by a rule: `rule(op, *operands, *attributes)`.

    The rule checks the arguments and gives `(shape, dtype, attributes)`, the attributes in the
    normal form that kernels and backward rules receive. `element`, `reduction` and `view` tell how
    kernels compute it (see `Op`).
    """

    def declare(function: F) -> F:
        op = Op(
            function, "primitive", family=_family(function), reference=reference, vjp=vjp, rule=rule,
            prepare=prepare, bound=bound, outputs=outputs, element=element, reduction=reduction, view=view,
        )  # fmt: skip
        if op.operand_count == 1 and not op.variadic:
            assert op.rule is not None
            op.rule = dispatch.remembered(op.rule)
        return _publish(op, dispatch.general(op, prepare), function)  # type: ignore[no-any-return]

    return declare


def hosted(
    *,
    rule: Callable[..., Any],
    reference: Callable[..., Any],
    vjp: Gradients | None = None,
    prepare: Callable[[Op, list[Any]], list[Any]] | None = None,
    outputs: int = 1,
    total: bool = False,
) -> Callable[[F], F]:
    """Declare an operation whose NumPy reference runs on every device, unless a backend overrides it.

    A `total` one never fails for what its operands hold, so it may be recorded and run later.
    """

    def declare(function: F) -> F:
        op = Op(
            function, "hosted", family=_family(function), reference=reference, vjp=vjp, rule=rule,
            prepare=prepare, bound="compute", outputs=outputs,
        )  # fmt: skip
        op.is_total = total
        return _publish(op, dispatch.general(op, prepare), function)  # type: ignore[no-any-return]

    return declare


def creation(
    *, rule: Callable[..., Any], reference: Callable[..., Any], recorded: Callable[..., Any] | None = None
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Declare a primitive without operands, called with `device=`.

    Where kernels receive other arguments than callers give, `recorded` is the rule for those.
    """

    def declare(function: Callable[..., R]) -> Callable[..., R]:
        op = Op(function, "primitive", family=_family(function), reference=reference, rule=rule)
        op.recorded = recorded
        return _publish(op, dispatch.creation(op), function)  # type: ignore[no-any-return]

    return declare


def composite(
    *,
    reference: Callable[..., Any] | None = None,
    vjp: Gradients | None = None,
    rule: Callable[..., Any] | None = None,
    prepare: Callable[[Op, list[Any]], list[Any]] | None = None,
    bound: Bound = "memory",
    outputs: int = 1,
    recorded: Callable[..., Any] | None = None,
) -> Callable[[F], F]:
    """Declare an operation with a body in terms of others. A backend may override it with a kernel.

    A body that other operations check needs no rule. With one, as for a primitive, the arguments
    are checked and brought to normal form before the body, a kernel or a backward rule sees them, and programs hold
    it as one node: its body must be a function of its arguments alone. `recorded` is the rule for the normal form,
    where the rule itself does not take that.
    """

    def declare(function: F) -> F:
        op = Op(
            function, "composite", family=_family(function), reference=reference, vjp=vjp, rule=rule,
            prepare=prepare, bound=bound, outputs=outputs,
        )  # fmt: skip
        op.recorded = recorded
        if rule is None:
            assert prepare is None, "operands are prepared for a rule"
            call = dispatch.composite(op, function)
        else:
            call = dispatch.checked_composite(op, function, prepare)
        return _publish(op, call, function)  # type: ignore[no-any-return]

    return declare


def prepared(domain: Domain, *names: str) -> Callable[[Op, list[Any]], list[Any]]:
    """Bring operands into a domain and to a common dtype; the first operand alone when none is named."""

    def prepare(op: Op, operands: list[Any]) -> list[Any]:
        if not names:
            if operands[0].dtype not in domain.accepts:
                operands[0] = domain.coerce(op, operands[0])
            return operands
        for i, name in enumerate(op.operands):
            if name in names and operands[i] is not None:
                if isinstance(operands[i], dispatch.NUMBERS):
                    raise dispatch.not_a_tensor(op, name, operands[i])
                operands[i] = domain.coerce(op, operands[i])
        result: list[Any] = dispatch.promoted(*names)(op, operands)
        return result

    return prepare
