"""What is public: every function, class and method that a user reaches by a name without an underscore."""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from burn.device import Device

MODULES = """
burn burn.prelude
burn.tensor burn.tensor.activation burn.tensor.linalg burn.tensor.loss burn.tensor.module burn.tensor.options
burn.tensor.quantization burn.tensor.recurrent burn.tensor.signal burn.tensor.slicing burn.tensor.vision
burn.backend burn.backend.autodiff burn.capture burn.control burn.dtype burn.extension
burn.config burn.data burn.data.dataloader burn.data.dataset burn.data.dataset.source burn.data.dataset.sqlite
burn.data.dataset.text burn.data.dataset.transform burn.data.dataset.vision burn.grad_clipping burn.lr_scheduler
burn.module burn.nn burn.nn.activation burn.nn.attention burn.nn.conv burn.nn.loss burn.nn.norm burn.nn.pool
burn.nn.rnn burn.nn.transformer burn.optim burn.quantization burn.record burn.train burn.train.checkpoint
burn.train.logger burn.train.metric burn.train.renderer burn.train.strategy
burn_import.common burn_import.onnx burn_import.pytorch burn_import.safetensors furnace
""".split()  # the order decides under which name a thing is listed that has several

GIVEN = """
burn:Distribution.Bernoulli burn:Distribution.Uniform burn:Distribution.Normal burn.device:Generator
burn.backend.cpu.memory:MemoryUse burn.engine.tuning:Report burn.tensor.closeness:Closeness
burn.tensor.methods.creation:tensor
""".split()
"""What public names hold, are, or give."""

OF_DEVICES = "autodiff inner base is_autodiff seed generator sync memory".split()
"""What users call of a device. The rest is what the framework asks of backends."""

OURS = ("burn", "burn_import", "furnace")


class Public(NamedTuple):
    """A public function, class, method or property, and the class it was found in."""

    name: str
    value: Any
    owner: type | None

    @property
    def text(self) -> str:
        """Its docstring, or that of the method which it overrides."""
        if self.owner is None:
            return inspect.cleandoc(self.value.__doc__ or "")
        last = self.name.rpartition(".")[2]
        found = (getattr(each.__dict__.get(last), "__doc__", None) for each in self.owner.__mro__)
        return inspect.cleandoc(next(filter(None, found), ""))

    @property
    def parameters(self) -> list[str]:
        """What its signature names, without the object itself."""
        if isinstance(self.value, property) or (self.is_class and issubclass(self.value, enum.Enum | BaseException)):
            return []
        if getattr(self.value, "_is_protocol", False):
            return []
        names = [] if self._signature is None else self._signature.parameters
        return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]

    @property
    def signature(self) -> str:
        """Its signature as help shows it."""
        return str(self._signature or "")

    @property
    def _signature(self) -> inspect.Signature | None:
        try:
            return None if isinstance(self.value, property) else inspect.signature(self.value)
        except (TypeError, ValueError):  # written in C
            return None

    @property
    def is_class(self) -> bool:
        return isinstance(self.value, type)


def _is_ours(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").partition(".")[0] in OURS


def _members(name: str, cls: type) -> Iterator[Public]:
    """The public methods and properties of a class, its own before inherited ones."""
    names: dict[str, None] = {}
    foreign = [base for base in cls.__mro__[:-1] if not _is_ours(base)]
    for each in filter(_is_ours, cls.__mro__):
        names.update(dict.fromkeys(each.__dict__))
    for member in names:
        value = inspect.getattr_static(cls, member)
        value = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if issubclass(cls, Device) and member not in OF_DEVICES:
            continue
        if any(member in base.__dict__ and value.__doc__ in (None, base.__dict__[member].__doc__) for base in foreign):
            continue  # Python's own, with Python's own text
        if not member.startswith("_") and isinstance(value, types.FunctionType | property):
            yield Public(f"{name}.{member}", value, cls)


def _exports(module: types.ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]


def public_names() -> list[Public]:
    """Each public thing once, under the first of its names."""
    found: dict[int, Public] = {}

    def add(each: Public) -> bool:
        function = each.value.fget if isinstance(each.value, property) else each.value
        return _is_ours(function) and found.setdefault(id(function), each) is each

    def add_all(name: str, value: Any) -> None:
        if add(Public(name, value, None)) and isinstance(value, type):
            for member in _members(name, value):
                add(member)

    for module_name in MODULES:
        module = importlib.import_module(module_name)
        exports = {name: getattr(module, name) for name in _exports(module) if not name.startswith("_")}
        # Bases come first, so that a method goes by the name of the class which has it.
        for name, value in sorted(exports.items(), key=lambda each: len(getattr(each[1], "__mro__", ()))):
            if isinstance(value, type | types.FunctionType):
                add_all(f"{module_name}.{name}", value)
    for path in GIVEN:
        add_all(path.replace(":", "."), pkgutil.resolve_name(path))
    return sorted(found.values(), key=lambda each: each.name)
