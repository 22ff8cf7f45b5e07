"""`Enumeration`: one of several variants, some with fields of their own.

    class PaddingConfig2d(Enumeration):
        Same = variant()
        Valid = variant()
        Explicit = variant(h=int, w=int)

    PaddingConfig2d.Same, PaddingConfig2d.Explicit(1, 1)

The longer form declares a variant as a class, so that type checkers know its fields, and it may have
defaults. Both forms can be mixed.

    class Initializer(Enumeration):
        Zeros = variant()
        Constant: ClassVar[type[Constant]]

    class Constant(Initializer):
        value: float
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, TypeVar, overload

from burn.config.faults import fail
from burn.config.fields import attribute_error
from burn.config.names import is_class_variable
from burn.config.spelling import spell_call
from burn.config.stored import Stored
from burn.config.structs import Choice

T = TypeVar("T")


class _Variant:
    """A variant as the body of an enumeration declares it."""

    def __init__(self, positions: tuple[Any, ...], fields: dict[str, Any]) -> None:
        self.positions = positions
        self.fields = fields


if TYPE_CHECKING:

    class _Unit:
        def __get__(self, instance: object, owner: type[T]) -> T: ...

    class _WithFields:
        # The class of the variant. Its fields are not known to type checkers in this form.
        def __get__(self, instance: object, owner: type[T]) -> Any: ...

    @overload
    def variant() -> _Unit: ...
    @overload
    def variant(*positions: Any, **fields: Any) -> _WithFields: ...
    def variant(*positions: Any, **fields: Any) -> Any: ...

else:

    def variant(*positions: Any, **fields: Any) -> _Variant:
        """Declare a variant: without `fields`, with named ones (`h=int, w=int`), or with `positions` only (`int, int`).

        >>> from burn.config import Enumeration, variant
        >>> class Activation(Enumeration):
        ...     Relu = variant()
        ...     LeakyRelu = variant(slope=float)
        >>> Activation.LeakyRelu(0.1), Activation.Relu
        (Activation.LeakyRelu(slope=0.1), Activation.Relu)
        """
        if positions and fields:
            fail("variant", ["fields have names or positions, not both"])
        return _Variant(positions, fields)


class Enumeration(Stored):
    """One of several variants, some with fields of their own; written as Rust's serde writes an enum.

    `"Same"`, `{"Explicit": {"h": 1, "w": 1}}`. With `positional=True` a variant is written without the names of its
    fields.

    >>> from burn.config import Enumeration, variant
    >>> class Padding(Enumeration):
    ...     Same = variant()
    ...     Explicit = variant(h=int, w=int)
    >>> Padding.Explicit(1, 2), list(Padding.variants())
    (Padding.Explicit(h=1, w=2), ['Same', 'Explicit'])
    >>> match Padding.Explicit(1, 2):
    ...     case Padding.Explicit(h, w):
    ...         print(h + w)
    3
    """

    __enumeration: ClassVar[type[Enumeration] | None] = None
    __variants: ClassVar[dict[str, Any]] = {}
    __name: ClassVar[str] = ""
    __is_positional: ClassVar[bool] = False
    __is_unit: ClassVar[bool] = False

    def __init_subclass__(cls, *, variant: str | None = None, positional: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        parent = cls.__enumeration
        if parent is None:
            cls.__enumeration = cls
            cls.__variants = {}
            fields = [
                name for name, each in vars(cls).get("__annotations__", {}).items() if not is_class_variable(each)
            ]
            if fields:
                fail(
                    cls.__name__,
                    [f"{name}: fields belong to a variant; derive one from {cls.__name__}" for name in fields],
                )
            for name, declared in list(vars(cls).items()):
                if isinstance(declared, _Variant):
                    _declare(cls, name, declared)
            return
        cls.__name = variant or cls.__name__
        cls.__is_positional = positional
        before = parent.__variants.get(cls.__name)
        # A notebook cell may run twice.
        if before is not None and getattr(before, "__qualname__", "") != cls.__qualname__:
            fail(parent.__name__, [f"the variant {cls.__name} is declared twice"])
        parent.__variants[cls.__name] = cls
        setattr(parent, cls.__name, cls)

    if not TYPE_CHECKING:

        def __new__(cls, *args: Any, **given: Any) -> Enumeration:
            if cls.__enumeration is None or cls is cls.__enumeration:
                shown = [f"{cls.__name__}.{name}" for name in cls.__variants] or ["a subclass"]
                fail(cls.__name__, [f"choose a variant: {', '.join(shown)}"])
            return super().__new__(cls)

        def __getattr__(self, name: str) -> Any:
            return attribute_error(self, name)

    @classmethod
    def _enumeration(cls) -> type[Enumeration]:
        """The enumeration that this variant belongs to; the class itself if it is one."""
        return cls.__enumeration or cls

    @classmethod
    def variants(cls) -> dict[str, Any]:
        """The variants by name: the value of one without fields, the class of one with."""
        return dict(cls.__variants)

    @classmethod
    def _guessed(cls, value: Any) -> Any:
        """The variant that a value of another library means, such as the text "same"; else the value itself."""
        if not isinstance(value, str):
            return value
        named = [each for name, each in cls._enumeration().variants().items() if name.lower() == value.lower()]
        return named[0] if named and not isinstance(named[0], type) else value

    @classmethod
    def _variant_name(cls) -> str:
        """The name of this variant."""
        return cls.__name

    @classmethod
    def _is_positional(cls) -> bool:
        """Whether the variant is written without the names of its fields."""
        return cls.__is_positional

    @classmethod
    def _is_unit(cls) -> bool:
        """Whether the variant has no fields and is a value by itself."""
        return cls.__is_unit

    @classmethod
    def _title(cls) -> str:
        return f"{cls._enumeration().__name__}.{cls.__name}" if cls.__name else cls.__name__

    @classmethod
    def _field_kind(cls, arguments: tuple[Any, ...]) -> Choice:
        """The kind of a field that holds a variant."""
        return Choice(cls)

    @classmethod
    def _as_unit(cls) -> None:
        """Make the variant a value by itself."""
        cls.__is_unit = True
        parent = cls._enumeration()
        value = cls._from_fields({})
        parent.__variants[cls.__name] = value
        setattr(parent, cls.__name, value)

    def __repr__(self) -> str:
        if self.__is_unit:
            return self._title()
        values = {name: vars(self)[name] for name in type(self)._table().by_name if name in vars(self)}
        return spell_call(self._title(), values, by_position=self.__is_positional)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        if self.__is_unit:
            return getattr, (self._enumeration(), self.__name)
        return super().__reduce_ex__(protocol)


def _declare(cls: type[Enumeration], name: str, declared: _Variant) -> None:
    """Make the class of a variant that the body declares."""
    fields = declared.fields or {f"_{index}": each for index, each in enumerate(declared.positions)}
    body = {"__annotations__": fields, "__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}.{name}"}
    options = {"positional": bool(declared.positions)}
    made: Any = types.new_class(name, (cls,), options, lambda names: names.update(body))
    if not fields:
        made._as_unit()
