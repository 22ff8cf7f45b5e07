"""Sizes that are known only when a model runs: polynomials over named sizes.

`Dim("height")` is a named size. Arithmetic gives other sizes in a canonical form, so equal expressions compare equal,
and an expression in which nothing is left open is a plain `int`:

    height = Dim("height")
    (height * 2 + 4) // 2 - 2 == height            # True
    (height - height + 3)                          # 3
    (height + 1) // 2                              # Dim, prints as (height + 1)//2

Coefficients may be fractions on the way (`height * 0.5`, as exporters of scale factors write it); `//` and `floor`
bring them back. Quotients round down, which for sizes is also rounding towards 0. A named size is at least 1; one
whose name begins with `?` depends on data (how many elements are not zero) and is at least 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import TypeAlias, Union

Number: TypeAlias = int | Fraction
MAX_TERMS = 24  # beyond this an expression explains nothing; callers give the size a new name


class TooComplex(ArithmeticError):
    """An expression grew beyond `MAX_TERMS`; the size stays unknown."""


class Operation:
    """An atom that polynomials cannot express: a rounded quotient, a minimum or a maximum."""

    __slots__ = ("operation", "left", "right", "_hash", "_text")

    def __init__(self, operation: str, left: Dim | int, right: Dim | int) -> None:
        self.operation, self.left, self.right = operation, left, right
        self._hash = hash((operation, left, right))
        if operation == "//":
            self._text = f"{_bracket(left)}//{_bracket(right)}"
        else:
            self._text = f"{operation}({left}, {right})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Operation)
            and self._hash == other._hash
            and (self.operation, self.left, self.right) == (other.operation, other.left, other.right)
        )

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self._text


Atom: TypeAlias = str | Operation
Monomial: TypeAlias = tuple[Atom, ...]
Linear: TypeAlias = Union[int, "Dim"]


class Dim:
    """One size: a sum of products of named sizes."""

    __slots__ = ("terms", "_hash", "_text")

    terms: tuple[tuple[Monomial, Number], ...]

    def __init__(self, name: str) -> None:
        self._set((((name,), 1),))

    def _set(self, terms: tuple[tuple[Monomial, Number], ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)
        self._text: str | None = None

    @property
    def name(self) -> str | None:
        """The name, when this is one named size and nothing else."""
        if len(self.terms) == 1:
            (atoms, factor) = self.terms[0]
            if factor == 1 and len(atoms) == 1 and isinstance(atoms[0], str):
                return atoms[0]
        return None

    @property
    def is_integral(self) -> bool:
        """Whether every coefficient is a whole number, so that the value surely is one."""
        return all(type(factor) is int for _, factor in self.terms)

    def symbols(self) -> tuple[str, ...]:
        """The named sizes in the expression, each once, in the order they appear."""
        return tuple(dict.fromkeys(self._symbols()))

    def _symbols(self) -> Iterator[str]:
        for atoms, _ in self.terms:
            for atom in atoms:
                if isinstance(atom, str):
                    yield atom
                else:
                    for side in (atom.left, atom.right):
                        if isinstance(side, Dim):
                            yield from side._symbols()

    def substitute(self, sizes: Mapping[str, Linear]) -> Linear:
        """The expression with some named sizes replaced."""
        total: Linear | Fraction = 0
        for atoms, factor in self.terms:
            product: Linear | Fraction = factor
            for atom in atoms:
                product = _multiply(product, _replaced(atom, sizes))
            total = _add(total, product)
        if isinstance(total, Fraction):
            raise ValueError(f"substitute: {self} is not a whole number for {dict(sizes)}")
        return total

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self._hash == other._hash and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        raise TypeError(f"{self} is not known before the model runs, so it is neither zero nor non-zero")

    def __add__(self, other: Linear | Fraction) -> Linear:
        return _whole(_add(self, other))

    def __sub__(self, other: Linear | Fraction) -> Linear:
        return _whole(_add(self, _multiply(-1, other)))

    def __rsub__(self, other: int) -> Linear:
        return _whole(_add(other, _multiply(-1, self)))

    def __mul__(self, other: Linear | Fraction) -> Linear:
        return _whole(_multiply(self, other))

    def __neg__(self) -> Linear:
        return _whole(_multiply(-1, self))

    def __floordiv__(self, other: Linear) -> Linear:
        return floor_divide(self, other)

    def __rfloordiv__(self, other: int) -> Linear:
        return floor_divide(other, self)

    def __mod__(self, other: Linear) -> Linear:
        return _whole(_add(self, _multiply(-1, _multiply(floor_divide(self, other), other))))

    __radd__ = __add__
    __rmul__ = __mul__

    def __str__(self) -> str:
        if self._text is None:
            self._text = _to_text(self.terms)
        return self._text

    def __repr__(self) -> str:
        return f"Dim({self})"


def _build(terms: Mapping[Monomial, Number]) -> Linear | Fraction:
    """The canonical expression of a sum: no zero terms, whole fractions as ints, highest degree first."""
    kept: list[tuple[Monomial, Number]] = []
    for atoms, factor in terms.items():
        if factor:
            whole = factor.numerator if isinstance(factor, Fraction) and factor.denominator == 1 else factor
            kept.append((atoms, whole))
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    if len(kept) > MAX_TERMS:
        raise TooComplex(f"an expression of {len(kept)} terms")
    kept.sort(key=_order)
    made = Dim.__new__(Dim)
    made._set(tuple(kept))
    return made


def assembled(terms: Mapping[Monomial, Number]) -> Linear:
    """The expression that is the sum of some products of atoms; how sizes are read back from data."""
    return _whole(_build(terms))


def _order(term: tuple[Monomial, Number]) -> tuple[int, list[str]]:
    return -len(term[0]), [str(atom) for atom in term[0]]


def _terms(value: Linear | Fraction) -> tuple[tuple[Monomial, Number], ...]:
    return value.terms if isinstance(value, Dim) else (((), value),)


def _add(left: Linear | Fraction, right: Linear | Fraction) -> Linear | Fraction:
    if not isinstance(left, Dim) and not isinstance(right, Dim):
        return left + right
    total: dict[Monomial, Number] = {}
    for atoms, factor in (*_terms(left), *_terms(right)):
        total[atoms] = total.get(atoms, 0) + factor
    return _build(total)


def _multiply(left: Linear | Fraction, right: Linear | Fraction) -> Linear | Fraction:
    if not isinstance(left, Dim) and not isinstance(right, Dim):
        return left * right
    total: dict[Monomial, Number] = {}
    for first, one in _terms(left):
        for second, other in _terms(right):
            atoms = tuple(sorted(first + second, key=str)) if first and second else first + second
            if len(atoms) > 8:
                raise TooComplex("a product of more than eight sizes")
            total[atoms] = total.get(atoms, 0) + one * other
    return _build(total)


def _whole(value: Linear | Fraction) -> Linear:
    if isinstance(value, Fraction):
        if value.denominator != 1:
            raise TooComplex(f"the fraction {value} as a size")
        return value.numerator
    return value


def _denominator(value: Dim) -> int:
    result = 1
    for _, factor in value.terms:
        if isinstance(factor, Fraction):
            result = max(result, factor.denominator)
    for _, factor in value.terms:
        if isinstance(factor, Fraction) and result % factor.denominator:
            result *= factor.denominator
    if result > 1 << 20:
        raise TooComplex(f"the denominator {result}")
    return result


def floor(value: Linear | Fraction) -> Linear:
    """The greatest whole number not above `value`."""
    if not isinstance(value, Dim):
        return value.__floor__()
    if value.is_integral:
        return value
    common = _denominator(value)
    return floor_divide(_whole(_multiply(value, common)), common)


def floor_divide(left: Linear, right: Linear) -> Linear:
    """`left // right`, exact where the terms divide, else as an atom."""
    if not isinstance(left, Dim) and not isinstance(right, Dim):
        if right == 0:
            raise TooComplex("a division by zero")
        return left // right
    if isinstance(left, Dim) and not left.is_integral:
        left = floor(left)
    if right == 1:
        return left
    exact = _exact(left, right)
    if exact is not None:
        return exact
    if isinstance(left, Dim) and isinstance(right, int):
        if right == 0:
            raise TooComplex("a division by zero")
        if right < 0:
            left, right = _whole(_multiply(-1, left)), -right
        # the part that divides leaves the quotient: (4*n + k*6 + 5)//2 = 2*n + 3*k + 2 + ...
        inside: dict[Monomial, Number] = {}
        outside: dict[Monomial, Number] = {}
        for atoms, factor in _terms(left):
            assert type(factor) is int
            quotient, rest = divmod(factor, right) if not atoms or factor % right == 0 else (0, factor)
            outside[atoms] = quotient
            inside[atoms] = rest
        remaining = _whole(_build(inside))
        if not isinstance(remaining, Dim):
            return _whole(_add(_build(outside), remaining // right))
        inner, rest = _quotient_and_rest(remaining)
        if inner is not None and isinstance(inner.right, int):
            # (x//a + c)//b = (x + a*c)//(a*b)
            joined = floor_divide(_whole(_add(inner.left, inner.right * rest)), inner.right * right)
            return _whole(_add(_build(outside), joined))
        return _whole(_add(_build(outside), _build({(Operation("//", remaining, right),): 1})))
    return _whole(_build({(Operation("//", left, right),): 1}))


def _quotient_and_rest(value: Dim) -> tuple[Operation | None, int]:
    """The parts of `x//a + c`; None when the expression is not of that form."""
    found: Operation | None = None
    rest = 0
    for atoms, factor in value.terms:
        if not atoms and isinstance(factor, int):
            rest = factor
        elif factor == 1 and len(atoms) == 1 and isinstance(atoms[0], Operation) and found is None:
            found = atoms[0]
        else:
            return None, 0
    if found is None or found.operation != "//" or not isinstance(found.right, int) or found.right <= 0:
        return None, 0
    return found, rest


def divides(left: Linear, right: Linear) -> Linear | None:
    """`left / right` when the division surely leaves no rest, else None."""
    if not isinstance(left, Dim) and not isinstance(right, Dim):
        return left // right if right and left % right == 0 else None
    if isinstance(left, Dim) and not left.is_integral:
        return None
    return _exact(left, right)


def _exact(left: Linear, right: Linear) -> Linear | None:
    """The quotient, when `right` is one product that divides every term of `left`, or `left` is a multiple of it."""
    if left == right:
        return 1
    if left == 0:
        return 0
    divisor = _terms(right)
    if len(divisor) != 1:
        return _proportion(left, right)
    atoms, factor = divisor[0]
    if factor == 0:
        return None
    total: dict[Monomial, Number] = {}
    for own, number in _terms(left):
        rest = list(own)
        for atom in atoms:
            if atom not in rest:
                return None
            rest.remove(atom)
        quotient = Fraction(number) / factor
        if quotient.denominator != 1:
            return None
        total[tuple(rest)] = total.get(tuple(rest), 0) + quotient.numerator
    return _whole(_build(total))


def _proportion(left: Linear, right: Linear) -> Linear | None:
    """The constant c with left = c * right, if there is one."""
    mine, theirs = _terms(left), _terms(right)
    if len(mine) != len(theirs) or any(a[0] != b[0] for a, b in zip(mine, theirs)):
        return None
    ratios = {Fraction(a[1]) / b[1] for a, b in zip(mine, theirs)}
    if len(ratios) != 1:
        return None
    ratio = ratios.pop()
    return ratio.numerator if ratio.denominator == 1 else None


def maximum(left: Linear, right: Linear) -> Linear:
    """The larger size."""
    return _choose("max", max, left, right)


def minimum(left: Linear, right: Linear) -> Linear:
    """The smaller size."""
    return _choose("min", min, left, right)


def _choose(name: str, numbers: Callable[[int, int], int], left: Linear, right: Linear) -> Linear:
    if not isinstance(left, Dim) and not isinstance(right, Dim):
        return numbers(left, right)
    if left == right:
        return left
    difference = _whole(_add(left, _multiply(-1, right)))
    if is_at_least(difference, 0):
        return left if name == "max" else right
    if is_at_least(_whole(_multiply(-1, difference)), 0):
        return right if name == "max" else left
    for one, other in ((left, right), (right, left)):
        inner = _single(one)
        if inner is not None and inner.operation in ("max", "min") and other in (inner.left, inner.right):
            return one if inner.operation == name else other  # max(x, min(x, y)) = x
    first, second = sorted((left, right), key=str)
    return _whole(_build({(Operation(name, first, second),): 1}))


def _single(value: Linear) -> Operation | None:
    """The atom, when the expression is nothing else."""
    if isinstance(value, Dim) and len(value.terms) == 1:
        atoms, factor = value.terms[0]
        if factor == 1 and len(atoms) == 1 and isinstance(atoms[0], Operation):
            return atoms[0]
    return None


def _replaced(atom: Atom, sizes: Mapping[str, Linear]) -> Linear:
    if isinstance(atom, str):
        return sizes[atom] if atom in sizes else Dim(atom)
    left, right = (side.substitute(sizes) if isinstance(side, Dim) else side for side in (atom.left, atom.right))
    if atom.operation == "//":
        return floor_divide(left, right)
    return maximum(left, right) if atom.operation == "max" else minimum(left, right)


def is_at_least(value: Linear, bound: int) -> bool:
    """Whether the size is surely `bound` or more, by the least values of the named sizes in it."""
    least = _least(value)
    return least is not None and least >= bound


def _least(value: Linear) -> Number | None:
    """A number that the expression is never below; None when there is none to see."""
    if not isinstance(value, Dim):
        return value
    total: Number = 0
    for atoms, factor in value.terms:
        product: Number = 1
        for atom in atoms:
            least = _least_atom(atom)
            if least is None or least < 0:
                return None
            product *= least
        if atoms and factor < 0:
            return None
        total += factor * product
    return total


def _least_atom(atom: Atom) -> Number | None:
    if isinstance(atom, str):
        return 0 if atom.startswith("?") else 1
    left, right = _least(atom.left), _least(atom.right)
    if atom.operation == "//":
        if left is None or left < 0 or not is_at_least(atom.right, 1):
            return None
        return left // atom.right if isinstance(atom.right, int) else 0
    if atom.operation == "max":
        return max((each for each in (left, right) if each is not None), default=None)
    return None if left is None or right is None else min(left, right)


def source(value: Linear) -> str:
    """A Python expression of the value over the named sizes, which must be identifiers; `str` is for reading alone."""
    if not isinstance(value, Dim):
        return f"({value})" if value < 0 else str(value)
    if not value.is_integral:
        raise TooComplex(f"{value} may be no whole number")
    return f"({' + '.join('*'.join((f'({factor})', *map(_atom_source, atoms))) for atoms, factor in value.terms)})"


def _atom_source(atom: Atom) -> str:
    if isinstance(atom, str):
        return atom
    left, right = source(atom.left), source(atom.right)
    return f"({left}//{right})" if atom.operation == "//" else f"{atom.operation}({left}, {right})"


def _bracket(value: Linear) -> str:
    text = str(value)
    return f"({text})" if isinstance(value, Dim) and not text.isidentifier() else text


def _to_text(terms: tuple[tuple[Monomial, Number], ...]) -> str:
    pieces: list[str] = []
    for atoms, factor in terms:
        size = abs(factor)
        alone = len(terms) == 1 and len(atoms) == 1 and abs(factor) == 1
        words = [f"({atom})" if not alone and "//" in str(atom) else str(atom) for atom in atoms]
        if size != 1 or not atoms:
            words.insert(0, str(size) if type(size) is int else f"({size})")
        sign = "-" if factor < 0 else "+"
        pieces.append(f" {sign} {'*'.join(words)}" if pieces else ("-" if factor < 0 else "") + "*".join(words))
    return "".join(pieces)
