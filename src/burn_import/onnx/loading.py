"""A model at run time: its graph runs as it stands, and it is a module as soon as somebody asks for one.

    from burn_import.onnx import load

    model = load("mobilenetv2.onnx", burn.Cpu())
    answer = model.run({"input": array})           # NumPy in, NumPy out: the graph itself
    scores = model(images)                         # tensors, in order or by name: the module

`run` needs no source. The module is written as source, executed with its weights and put in the place of the model when
an attribute of a module is first asked for: then it trains, moves and is saved like any other. While nothing of it has
changed, `run` goes on with the graph.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import burn
from burn import Device, Module
from burn.module.flat import Flat
from burn_import.onnx.errors import TextOnly
from burn_import.onnx.kept import Opening, open_kept, opening_of

if TYPE_CHECKING:
    from burn_import.onnx.importing import Imported
    from burn_import.onnx.running import Runtime


class Running(Protocol):
    """What runs the graph of a model: prepared, or kept from an earlier process."""

    input_names: tuple[str, ...]
    output_names: tuple[str, ...]

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The results by name for arrays by name."""

    def whole(self) -> Any:
        """What can run it in every way."""


class Origin:
    """What a loaded model begins with: its graph, made ready to run, and how the module is made of it."""

    __slots__ = ("described", "make", "runtime")

    def __init__(self, runtime: Running, described: Mapping[str, Any], make: Callable[[], Any]) -> None:
        self.runtime, self.described, self.make = runtime, described, make


_BECOMING = threading.RLock()
_FIELDS: Any = Module.__dict__["__dict__"]
_ORIGIN: Any = Module.__dict__["_flat"]
_CLASS: Any = object.__dict__["__class__"]


class Loaded(Module):
    """A model whose graph runs, and which becomes the module of it when anything but `run` and what describes it is
    asked for."""

    __slots__ = ()

    if not TYPE_CHECKING:

        @property
        def __class__(self) -> type:
            """The class of the module: whoever asks for the class wants to know what can be done with it."""
            return type(self._as_module())

        @property
        def __dict__(self) -> dict[str, Any]:
            return _FIELDS.__get__(self._as_module())

        def __getattr__(self, name: str) -> Any:
            return getattr(self._as_module(), name)

        def __setattr__(self, name: str, value: Any) -> None:
            setattr(self._as_module(), name, value)

        def __delattr__(self, name: str) -> None:
            delattr(self._as_module(), name)

    @classmethod
    def of(cls, origin: Origin) -> Loaded:
        """A model at its beginning."""
        made = object.__new__(cls)
        _ORIGIN.__set__(made, origin)
        return made

    def _as_module(self) -> Any:
        """This model, which is a module from now on."""
        with _BECOMING:
            origin: Any = _ORIGIN.__get__(self)
            if type(self) is Loaded:
                from burn_import.onnx.modules import Unchanged

                made = origin.make()
                cls: Any = type(made)
                _FIELDS.__get__(self).update(made.__dict__)
                _ORIGIN.__set__(self, Flat())
                _CLASS.__set__(self, cls)
                cls._unchanged = Unchanged(self, origin.runtime.whole())
        return self

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The results by name for arrays by name; lists for sequences, None for absent optionals."""
        origin: Any = _ORIGIN.__get__(self)
        if origin.__class__ is Origin:
            try:
                return origin.runtime.run(inputs)
            except TextOnly:  # a row that can only be written
                pass
        return self._as_module().run(inputs)  # type: ignore[no-any-return]

    @property
    def _runtime(self) -> Runtime:
        return _ORIGIN.__get__(self).runtime.whole()  # type: ignore[no-any-return]

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs in order."""
        return _ORIGIN.__get__(self).runtime.input_names  # type: ignore[no-any-return]

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the results in order."""
        return _ORIGIN.__get__(self).runtime.output_names  # type: ignore[no-any-return]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Inputs and outputs: their names, dtypes and shapes."""
        return dict(_ORIGIN.__get__(self).described)


def runtime_of(model: Any) -> Runtime | None:
    """What runs the graph of a model that `load` or `open_program` gave; None where it has become a module."""
    origin: Any = _ORIGIN.__get__(model) if type(model) is Loaded else None
    return origin.runtime.whole() if origin.__class__ is Origin else None


def _asked(name: str) -> Any:
    """An attribute of modules, which makes the model one. Special methods are looked up in the class."""
    if not name.startswith("__"):
        return property(lambda self: getattr(self._as_module(), name))

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(type(self._as_module()), name)(self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in (*vars(Module), "__dir__", "__reduce_ex__", "__reduce__"):
    if _name not in vars(Loaded) and callable(getattr(Module, _name)) and _name not in ("__init_subclass__", "__new__"):
        setattr(Loaded, _name, _asked(_name))


def load(model: Any, device: Device | None = None) -> Any:
    """The model of a path, bytes, an open file or a `ModelProto`, ready to be called on `device`.

    It is a module: it can be trained, captured and saved. `model.run` takes and gives arrays by name.

    >>> import onnx
    >>> from burn_import.onnx import load
    >>> text = '<ir_version: 8, opset_import: ["": 17]> graph (float[N, 2] x) => (float[N, 2] y) { y = Relu(x) }'
    >>> model = load(onnx.parser.parse_model(text))
    >>> print(model(burn.tensor([[1.0, -2.0]])).to_data())
    [[1.0, 0.0]]
    >>> model.run({"x": np.array([[1.0, -2.0]], np.float32)})
    {'y': array([[1., 0.]], dtype=float32)}
    """
    place = burn.default_device() if device is None else device
    computing = place
    while computing.is_autodiff:
        computing = computing.inner()
    opening = opening_of(model, computing)
    if opening is not None:
        found = _kept(opening, place, computing)
        if found is not None:
            return found
    from burn_import.onnx.importing import import_model

    return loaded(import_model(model), place, opening)


def _kept(opening: Opening, place: Device, computing: Device) -> Loaded | None:
    """The model by what earlier processes kept of it."""

    def imported() -> Imported:
        from burn_import.onnx.importing import import_model

        return import_model(opening.source.read())

    def whole() -> Runtime:
        from burn_import.onnx.modules import runtime_for

        return runtime_for(imported(), place, opening)

    def make() -> Any:
        from burn_import.onnx.modules import instantiate, ports

        read = imported()
        return instantiate(read.write(), place, ports(read.model))

    kept = open_kept(opening, computing, whole)
    return None if kept is None else Loaded.of(Origin(kept, kept.described, make))


def loaded(imported: Imported, place: Device, opening: Opening | None = None) -> Loaded:
    """A prepared model, ready to run; its recordings are kept where it is known from where it comes."""
    from burn_import.onnx.modules import instantiate, ports, runtime_for

    described = ports(imported.model)

    def make() -> Any:
        return instantiate(imported.write(), place, described)

    return Loaded.of(Origin(runtime_for(imported, place, opening), described, make))
