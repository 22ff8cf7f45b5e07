"""Modules that are one of several kinds.

    class Block(ModuleEnum):
        Dense: Linear
        Convolution: Conv2d

    block = Block.Dense(LinearConfig(8, 8).init(device))
    block.variant, block.value          # "Dense", the Linear

A record holds the name of the variant beside its contents.
"""

from __future__ import annotations

from typing import Any, Self

from burn.errors import ArgumentError
from burn.module.fields import declared
from burn.module.module import Module


class ModuleEnum(Module):
    """A module of one of the kinds that its class annotates. Calling it calls the module inside.

    `variant` is the name of the kind, `value` the module inside; a record holds both.

    >>> from burn.module import ModuleEnum
    >>> class Block(ModuleEnum):
    ...     Dense: nn.Linear
    ...     Nothing: nn.Identity
    >>> block = Block.Dense(nn.Linear(2, 3))
    >>> block.variant, block(Tensor.ones([4, 2])).shape
    ('Dense', Shape([4, 3]))
    """

    __match_args__ = ("variant", "value")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in declared(cls):
            setattr(cls, name, _Variant(name))

    def __init__(self, variant: str, value: Any) -> None:
        names = declared(type(self))
        if variant not in names:
            raise ArgumentError(f"{type(self).__name__}: {variant!r} is none of its variants: {', '.join(names)}")
        self.__dict__["_variant"] = variant
        self.__dict__[variant] = value

    @property
    def variant(self) -> str:
        """The name of the variant."""
        return self.__dict__["_variant"]  # type: ignore[no-any-return]

    @property
    def value(self) -> Any:
        """The module inside."""
        return self.__dict__[self.variant]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module inside."""
        return self.value(*args, **kwargs)

    def record_variant(self) -> tuple[str, int, Any]:
        """What a record holds: the name, its position among the variants, and the module inside."""
        return self.variant, declared(type(self)).index(self.variant), self.value

    def with_variant_value(self, value: Any) -> Self:
        """The same variant around another module, `value`."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.__dict__[self.variant] = value
        return made

    def custom_content(self, content: Any) -> Any:
        """The variant's name, then the module inside."""
        return content.set_top_level_type(f"{type(self).__name__}::{self.variant}").add("0", self.value)


class _Variant:
    """Makes the variant of a class, and reads it from an instance that is this variant."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return lambda value: owner(self.name, value)
        try:
            return instance.__dict__[self.name]
        except KeyError:
            kind = type(instance).__name__
            raise AttributeError(f"this {kind} is the variant {instance.variant}, not {self.name}") from None
