"""The module of a model: its class made from source, its weights in their places, and what it can do beside."""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

import burn
from burn import Device, Module, Tensor
from burn.backend.fusion import Fusion
from burn.tensor import TensorData
from burn.tree import flatten
from burn_import.onnx import versions
from burn_import.onnx.code.fields import array_of
from burn_import.onnx.code.frame import argument_names
from burn_import.onnx.errors import TextOnly
from burn_import.onnx.ir.graph import Graph, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.types import TensorType
from burn_import.onnx.kept import Card, Opening
from burn_import.onnx.running import FileWeights, Runtime
from burn_import.onnx.running.arrays import checked, dtype_of, sizes_of, to_device, to_host
from burn_import.onnx.running.checking import check_nodes

if TYPE_CHECKING:
    from burn_import.onnx.importing import Imported
    from burn_import.onnx.writer import Written

ALIGNMENT = 64

_NUMBERS = count(1)


class Runnable:
    """What a loaded model can do beside what every module can."""

    source: ClassVar[str] = ""
    input_names: ClassVar[tuple[str, ...]] = ()
    output_names: ClassVar[tuple[str, ...]] = ()
    metadata: ClassVar[Mapping[str, Any]] = {}  # inputs and outputs: their names, dtypes and shapes
    _arguments: ClassVar[dict[str, str]] = {}
    _dtypes: ClassVar[tuple[Any, ...]] = ()  # of the inputs, as NumPy has them; None where anything goes
    _sizes: ClassVar[tuple[Any, ...]] = ()  # of the inputs: the size of each dim, None where it is open
    _captured: ClassVar[Any] = None
    _unchanged: ClassVar[Unchanged | None] = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results for tensors in the order of the graph's inputs, or by their names."""
        named = {self._arguments.get(name, name): value for name, value in kwargs.items()}
        return super().__call__(*args, **named)  # type: ignore[misc]

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The results by name for arrays by name; lists for sequences, None for absent optionals.

        An array must have the dtype of its input, numbers and lists of numbers take it. Sizes that the file gives as
        numbers hold here; a call of the model with tensors takes what its operations take.
        """
        unchanged = self._unchanged
        if unchanged is not None and unchanged.holds(self):
            try:
                return unchanged.runtime.run(inputs)
            except TextOnly:
                type(self)._unchanged = None
        given = checked(self.input_names, self._dtypes, self._sizes, inputs)
        device = self._device()
        if self._captured is not None and isinstance(device, Fusion) and all(map(_is_plain, given)):
            results = self._captured_on_arrays(given)
        else:
            results = self._replayed(device, [to_device(each, device) for each in given])
        if len(self.output_names) == 1:
            results = (results,)
        return {name: to_host(value) for name, value in zip(self.output_names, results)}

    def _device(self) -> Device:
        flat = self.__flat__()  # type: ignore[attr-defined]  # known from the call before, where nothing changed
        for leaf in [] if flat is None else flat[0]:
            if isinstance(leaf, Tensor):
                known: Device = leaf.device
                return known
        found = self.devices()  # type: ignore[attr-defined]
        place: Device = found[0] if found else self.__dict__.get("_place", burn.default_device())
        return place

    def _captured_on_arrays(self, given: list[Any]) -> Any:
        """A captured call that reads the arrays where they are."""
        with burn.default_device(self._device()):
            return type(self)._captured.numpy(self, *given)

    def _replayed(self, device: Device, values: list[Any]) -> Any:
        function = type(self)._captured
        if function is None or device.is_autodiff or not all(isinstance(each, Tensor) for each in values):
            return self(*values)
        return function(self, *values)


def _unsaid(reason: str) -> None:
    """Models that read values to decide what to do run as they stand; that is no news to who only runs them."""


class Unchanged:
    """The module that was made of a graph, and what it held then: while it does, the graph gives its results."""

    def __init__(self, module: Any, runtime: Runtime) -> None:
        self.runtime = runtime
        self._module: Callable[[], Any] = weakref.ref(module)
        self._quick: Any = None
        self._leaves, self._structure = flatten(module)

    def holds(self, module: Any) -> bool:
        """Whether a module is that one, and still holds what it held."""
        if self._module() is not module:
            return False
        flat = module.__flat__()
        if flat is not None and flat[0] is self._quick:
            return True
        leaves, structure = flatten(module)
        if len(leaves) != len(self._leaves) or any(one is not two for one, two in zip(leaves, self._leaves)):
            return False
        if structure != self._structure:
            return False
        self._quick = None if flat is None else flat[0]
        return True


def runtime_for(imported: Imported, place: Device, opening: Opening | None = None) -> Runtime:
    """What runs the graph of a prepared model; recordings are kept where it is known from where it comes."""
    check_nodes(imported.model)
    described = ports(imported.model)
    computing = place
    while computing.is_autodiff:
        computing = computing.inner()
    card = None if opening is None or not imported.model.is_whole else Card.of(opening, computing, described)
    return Runtime(imported.model, FileWeights(), place, described, card)


def open_files(source: Path, weights: Path | None, described: Mapping[str, Any], device: Device) -> Any:
    """A model from the files that `burn-import` wrote: its source runs, so only for files of your own."""
    versions.check("load", described)
    inputs = [(each["name"], each["argument"]) for each in described["inputs"]]
    outputs = [each["name"] for each in described["outputs"]]
    from burn_import.onnx.writer import Written

    written = Written(source.read_text(encoding="utf-8"), {}, inputs, outputs)
    cls: Any = compiled(written, {name: described[name] for name in ("inputs", "outputs")})
    return cls.from_embedded(device) if weights is None else cls.from_file(weights, device)


def instantiate(written: Written, device: Device, described: Mapping[str, Any] | None = None) -> Any:
    """An instance of a written model with its weights."""
    cls: Any = compiled(written, described)
    module = fill(cls(device), written)
    object.__setattr__(module, "_place", device)
    return module


def compiled(written: Written, described: Mapping[str, Any] | None = None) -> type[Module]:
    """The class of a written model, made from its source; tracebacks show its lines."""
    name = f"<onnx model {next(_NUMBERS)}>"
    scope: dict[str, Any] = {"__name__": "burn_onnx_model", "__file__": name}
    exec(compile(written.source, name, "exec"), scope)
    linecache.cache[name] = (len(written.source), None, written.source.splitlines(True), name)
    base: type[Module] = scope["Model"]
    attributes = {
        "source": written.source,
        "input_names": tuple(name for name, _ in written.inputs),
        "output_names": tuple(written.outputs),
        "metadata": dict(described or {}),
        "_arguments": dict(written.inputs),
        "_dtypes": tuple(map(dtype_of, (described or {}).get("inputs", ()))),
        "_sizes": tuple(map(sizes_of, (described or {}).get("inputs", ()))),
        "__module__": "burn_onnx_model",
        "__doc__": base.__doc__,
    }
    made = type("Model", (Runnable, base), attributes)

    def forward(model: Any, *tensors: Any) -> Any:
        return model(*tensors)

    made._captured = staticmethod(burn.compile(forward, notice=_unsaid))  # type: ignore[attr-defined]
    return made


def fill(module: Any, written: Written) -> Any:
    """A module with the weights of the file in place of those it would draw."""
    if not written.weights:
        return module
    leaves = list(module.leaves())
    arrays = _in_one_block([array_of(written.weights[path]) for path, _ in leaves])
    sources = {id(leaf): array for (_, leaf), array in zip(leaves, arrays)}

    def filled(leaf: Any) -> Any:
        return leaf.loaded(TensorData.give(sources[id(leaf)]))

    return module._with(filled, filled)


def _in_one_block(arrays: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Row-major copies that lie one after the other: the system gives a large block in large pages, which is faster."""
    sizes = [-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in arrays]
    block = np.empty(sum(sizes) + ALIGNMENT, np.uint8)
    start = -block.ctypes.data % ALIGNMENT
    copies = []
    for array, size in zip(arrays, sizes):
        copy = block[start : start + array.nbytes].view(array.dtype.newbyteorder("=")).reshape(array.shape)
        np.copyto(copy, array)
        copies.append(copy)
        start += size
    return copies


def ports(model: Model) -> dict[str, Any]:
    """Inputs and outputs of a model: names, dtypes and shapes, in which a text is a size that is open."""
    graph: Graph = model.graph
    inputs = [
        {**_port(value, value.name), "argument": argument}
        for value, argument in zip(graph.inputs, argument_names(graph))
    ]
    return {"inputs": inputs, "outputs": [_port(value, name) for value, name in zip(graph.outputs, graph.output_names)]}


def _port(value: Value, name: str) -> dict[str, Any]:
    type_ = value.type
    if not isinstance(type_, TensorType):
        return {"name": name, "type": str(type_)}
    shape = None if type_.shape is None else [each if isinstance(each, int) else str(each) for each in type_.shape]
    return {"name": name, "dtype": None if type_.dtype is None else str(type_.dtype), "shape": shape}


def _is_plain(value: Any) -> bool:
    """Whether a value is an array of numbers."""
    return value.__class__ is np.ndarray and value.dtype.kind in "fiub" and value.dtype.isnative
