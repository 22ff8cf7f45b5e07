"""What type checkers know of calling a module: `module(x)` takes and gives what its `forward` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from burn.module.module import Module

    F_co = TypeVar("F_co", bound=Callable[..., Any], covariant=True)

    class Forward(Protocol[F_co]):
        """A module whose class has a `forward`."""

        @property
        def forward(self) -> F_co: ...

    class Call(Protocol):
        """`__call__` in the class of modules: `forward`, where the class of the module is known to have one."""

        @overload
        def __get__(self, instance: Forward[F_co], owner: Any) -> F_co: ...
        @overload
        def __get__(self, instance: Module, owner: Any) -> Callable[..., Any]: ...


def typed_by_forward(function: Callable[..., Any]) -> Call:
    """The function itself, which checkers take for `forward`."""
    return function
