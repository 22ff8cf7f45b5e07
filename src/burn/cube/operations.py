"""The closed set of operations, and the dtype each gives: what the builder infers and the verifier demands.

`f16` and `bf16` are storage here: they are loaded, stored, moved and cast, and every computation on them
happens in `f32` (loads and stores of the builder cast by themselves).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from burn.cube.errors import KernelError
from burn.dtype import ARITHMETIC, DType, bool_, f32, f64, i32, i64, u32, u64

NUMBERS = frozenset(each for each in ARITHMETIC if not each.is_bool and each.name not in ("f16", "bf16"))
REALS = frozenset((f32, f64))
INTEGERS = frozenset(each for each in ARITHMETIC if each.is_int)
BITS = INTEGERS | {bool_}
EVERYTHING = frozenset(ARITHMETIC)

MATH_UNARY = frozenset(
    "exp exp2 expm1 log log2 log1p tanh erf sin cos tan sinh cosh asin acos atan asinh acosh atanh".split()
)
MATH_BINARY = frozenset(("pow", "atan2"))
MATH = MATH_UNARY | MATH_BINARY
COMPARISONS = frozenset("lt le gt ge eq ne".split())
UNCHECKED = frozenset("div_unchecked rem_unchecked shl_unchecked shr_unchecked".split())
ATOMICS = frozenset("atomic_add atomic_min atomic_max atomic_exchange".split())
TOPOLOGY = (
    "absolute_position unit_position cube_position cube_dimension cube_count plane_dimension unit_plane_position"
).split()

_SAME: dict[str, tuple[int, frozenset[DType]]] = {
    **dict.fromkeys("add sub mul div rem min max".split(), (2, NUMBERS)),
    **dict.fromkeys("neg abs".split(), (1, NUMBERS)),
    **dict.fromkeys("floor ceil rint trunc sqrt".split(), (1, REALS)),
    **dict.fromkeys(MATH_UNARY, (1, REALS)),
    **dict.fromkeys(MATH_BINARY, (2, REALS)),
    "fma": (3, REALS),
    "ldexp": (2, REALS),
    "mulhi": (2, frozenset((i32, u32, i64, u64))),
    **dict.fromkeys("bit_and bit_or bit_xor".split(), (2, BITS)),
    "bit_not": (1, BITS),
    **dict.fromkeys("shl shr".split(), (2, INTEGERS)),
    **dict.fromkeys(UNCHECKED, (2, INTEGERS)),
    "plane_any": (1, frozenset((bool_,))),
}
"""Operations whose operands and result have one dtype: how many operands, of which dtypes."""

PURE = (frozenset(_SAME) - {"plane_any"}) | COMPARISONS | {"const", "select", "isnan", "cast", "bitcast", "topology"}
"""Operations without effect, which may be computed early, once, or not at all."""

STRUCTURED = frozenset(("grid", "lane", "reduce", "serial", "if"))
MEMORY = frozenset(("load", "store")) | ATOMICS
VECTORS = frozenset(("vector", "extract"))
OPERATIONS = PURE | STRUCTURED | MEMORY | VECTORS | {"barrier", "plane_any"}


def _names(dtypes: Sequence[DType]) -> str:
    return ", ".join(each.name for each in dtypes)


def _expect(name: str, condition: bool, dtypes: Sequence[DType], wanted: str) -> None:
    if not condition:
        raise KernelError(f"{name}: takes {wanted}, not ({_names(dtypes)})")


def _one_of(dtypes: frozenset[DType]) -> str:
    if dtypes == NUMBERS:
        return "numbers (cast f16 and bf16 to f32 first)"
    return " or ".join(each.name for each in ARITHMETIC if each in dtypes)


def _compare(name: str, dtypes: Sequence[DType]) -> DType:
    allowed = NUMBERS | {bool_} if name in ("eq", "ne") else NUMBERS
    fits = len(dtypes) == 2 and dtypes[0] is dtypes[1] and dtypes[0] in allowed
    _expect(name, fits, dtypes, "two operands of one dtype that compares")
    return bool_


def _select(name: str, dtypes: Sequence[DType]) -> DType:
    fits = len(dtypes) == 3 and dtypes[0].is_bool and dtypes[1] is dtypes[2]
    _expect(name, fits, dtypes, "a bool and two operands of one dtype")
    return dtypes[1]


def _isnan(name: str, dtypes: Sequence[DType]) -> DType:
    _expect(name, len(dtypes) == 1 and dtypes[0] in REALS, dtypes, "one f32 or f64")
    return bool_


def _cast(name: str, dtypes: Sequence[DType], target: Any) -> DType:
    fits = len(dtypes) == 1 and isinstance(target, DType) and target in EVERYTHING
    _expect(name, fits, dtypes, "one operand and an arithmetic dtype")
    if name == "bitcast":
        same = dtypes[0].bits == target.bits and not dtypes[0].is_bool and not target.is_bool
        if not same:
            raise KernelError(f"bitcast: {dtypes[0].name} and {target.name} have different bits; use cast")
    result: DType = target
    return result


_RULES: dict[str, Callable[[str, Sequence[DType]], DType]] = {
    **dict.fromkeys(COMPARISONS, _compare),
    "select": _select,
    "isnan": _isnan,
}


def result_dtype(name: str, dtypes: Sequence[DType], attributes: dict[str, Any]) -> DType:
    """The dtype of a pure operation's result; KernelError where the operands do not fit."""
    same = _SAME.get(name)
    if same is not None:
        arity, allowed = same
        fits = len(dtypes) == arity and all(each is dtypes[0] for each in dtypes) and dtypes[0] in allowed
        if not fits:
            count = "one operand" if arity == 1 else f"{arity} operands of one dtype"
            _expect(name, False, dtypes, f"{count}: {_one_of(allowed)}")
        return dtypes[0]
    rule = _RULES.get(name)
    if rule is not None:
        return rule(name, dtypes)
    if name in ("cast", "bitcast"):
        return _cast(name, dtypes, attributes.get("dtype"))
    if name == "const":
        result: DType = attributes["dtype"]
        return result
    if name == "topology":
        if attributes.get("which") not in TOPOLOGY:
            raise KernelError(f"topology: unknown value {attributes.get('which')!r}; known are {', '.join(TOPOLOGY)}")
        return i64
    raise KernelError(f"{name}: no such operation; the set is {', '.join(sorted(OPERATIONS))}")
