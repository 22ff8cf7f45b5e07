"""How a module is made: from the values of its fields, or from the arguments of the config that describes it.

    class Linear(Module, config=LinearConfig):
        weight: Param
        bias: Param | None

    Linear(3, 4)                                # LinearConfig(3, 4).init()
    Linear(weight=Param(...), bias=None)        # its fields, since one of them is a tensor

A field whose default is a config is made anew for each module:

    class Net(Module):
        first: Linear = layer(LinearConfig(784, 10))

    Net.init(device)
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar, cast

from burn.device import Device, default_device, given_device
from burn.errors import ArgumentError
from burn.guesses import spelled
from burn.module.fields import bind, declared, hints
from burn.module.param import Param
from burn.module.walk import is_module, is_part, leaves

_here = threading.local()

M = TypeVar("M")
M_co = TypeVar("M_co", covariant=True)


class Describes(Protocol[M_co]):
    """A config: its `init` makes a module."""

    def init(self, device: Device | None = None) -> M_co:
        """The module on a device."""
        ...


def layer(config: Describes[M]) -> M:
    """A config as the default of a module's field, which each new module gets made from it.

    Type checkers take it for what the config makes.

    >>> from burn.module import layer
    >>> class Net(burn.Module):
    ...     hidden: nn.Linear = layer(nn.LinearConfig(3, 4))
    >>> Net(device=burn.NdArray()).hidden
    Linear {d_input: 3, d_output: 4, bias: true, params: 16}
    """
    return cast(M, config)


def fields_of(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The values of the fields for a constructor call."""
    config = cls._config
    if config is not None and cls not in _being_made() and not _are_fields(cls, config, args, kwargs):
        if args and isinstance(args[-1], Device) and "device" not in kwargs:
            args, kwargs = args[:-1], {**kwargs, "device": args[-1]}
        device = given_device(cls.__name__, kwargs.pop("device", None))
        from burn.config.loose import loose

        given: Any = loose(config, cls.__name__, args, kwargs)
        return dict(given.init(device).__dict__)
    device = None
    if "device" in kwargs and "device" not in declared(cls):
        device = given_device(cls.__name__, kwargs.pop("device"))
    return bind(cls, args, kwargs, lambda name, value: made_default(cls, name, value, device))


def _are_fields(cls: type, config: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether these are values of the fields: there is a tensor or a module, or a name that only a field has."""
    names = config._table().by_name
    if any(map(is_part, args)):
        return True
    for name, value in kwargs.items():
        if name in names or spelled(name, names) is not None:
            continue
        if name in declared(cls) or is_part(value):
            return True
    return False


def made_default(cls: type, name: str, value: Any, device: Device | None) -> Any:
    """The default of a field: what a config makes if the field is not for the config itself."""
    if isinstance(value, list | tuple):
        made = [made_default(cls, name, each, device) for each in value]
        return type(value)(made) if any(new is not old for new, old in zip(made, value, strict=True)) else value
    if is_module(value) and any(isinstance(leaf, Param) for _, leaf in leaves(value)):
        raise ArgumentError(
            f"{cls.__name__}.{name}: all {cls.__name__}s would share the parameters of this default; write "
            f"{name}: {type(value).__name__} = layer({type(value).__name__}Config(...)), with layer from burn.module"
        )
    if not _describes(value):
        return value
    hint = hints(cls).get(name)
    if isinstance(hint, type) and isinstance(value, hint):
        return value
    if not isinstance(hint, type) and any(base.__name__ in str(hint) for base in type(value).__mro__[:-1]):
        return value
    return value.init(device)


def _describes(value: Any) -> bool:
    return hasattr(type(value), "_field_kind") and callable(getattr(type(value), "init", None))


def made_on(cls: Any, device: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A module of a class on a device: the constructor gets the device if it has a parameter for it."""
    if device is None:
        return cls(*args, **kwargs)
    with default_device(given_device(f"{cls.__name__}.init", device)):
        if not has_own_constructor(cls):
            return cls(*args, device=device, **kwargs)
        name = _device_parameter(cls, args, kwargs)
        return cls(*args, **kwargs) if name is None else cls(*args, **{**kwargs, name: device})


def has_own_constructor(cls: Any) -> bool:
    """Whether the class, or one that it derives from, writes an `__init__` of its own."""
    return not getattr(cls.__init__, "__makes_modules__", False)


def _device_parameter(cls: type, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """The parameter of a constructor that takes the device: by its name, its annotation, or as the only one missing."""
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    named = [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    for each in named:
        if each.name == "device" or "Device" in str(each.annotation):
            return each.name if each.name not in kwargs else None
    missing = [each.name for each in named[len(args) :] if each.default is each.empty and each.name not in kwargs]
    return missing[0] if len(missing) == 1 else None


def signature_of(cls: Any) -> inspect.Signature | None:
    """The constructor as `help` and editors show it; None where the class writes one."""
    if has_own_constructor(cls):
        return None
    device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Device | None")
    if cls._config is not None:
        from burn.config.loose import signature

        return inspect.Signature([*signature(cls._config), device])
    annotations = {name: note for base in reversed(cls.__mro__) for name, note in inspect.get_annotations(base).items()}
    found: list[inspect.Parameter] = []
    for name in declared(cls):
        default = getattr(cls, name, inspect.Parameter.empty)
        how = found[-1].kind if found else inspect.Parameter.POSITIONAL_OR_KEYWORD
        if found and found[-1].default is not inspect.Parameter.empty and default is inspect.Parameter.empty:
            how = inspect.Parameter.KEYWORD_ONLY
        found.append(inspect.Parameter(name, how, default=default, annotation=annotations[name]))
    if "device" not in declared(cls):
        found.append(device)
    return inspect.Signature(found)


class Signature:
    """`inspect.signature` of a class of modules; instances have that of their `forward`."""

    def __get__(self, instance: Any, owner: type) -> inspect.Signature | None:
        if instance is not None:
            raise AttributeError("__signature__")
        return signature_of(owner)


def described_by(cls: Any, config: Any) -> None:
    """Let the constructor of a class take the arguments of a config. Inside of the config's `init` it takes fields."""
    if not (hasattr(config, "_table") and callable(getattr(config, "init", None))):
        raise ArgumentError(f"class {cls.__name__}: config= is a Config whose init makes the module, got {config!r}")
    init = config.init

    @functools.wraps(init)
    def from_fields(self: Any, *args: Any, **kwargs: Any) -> Any:
        making = _being_made()
        if cls in making:
            return init(self, *args, **kwargs)
        making.add(cls)
        try:
            return init(self, *args, **kwargs)
        finally:
            making.discard(cls)

    config.init = from_fields
    cls._config = config


def _being_made() -> set[type]:
    """The classes whose configs make a module at the moment, in this thread."""
    found: set[type] = _here.__dict__.setdefault("making", set())
    return found
