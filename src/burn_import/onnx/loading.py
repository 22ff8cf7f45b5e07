"""A model at run time: read, prepared, written as source, and executed with its weights, with nothing on disk.

    from burn_import.onnx import load

    model = load("mobilenetv2.onnx", burn.Cpu())
    scores = model(images)                         # tensors, in order or by name
    answer = model.run({"input": array})           # NumPy in, NumPy out

The model is an ordinary module: it trains, moves and is saved like any other. `run` is captured and replayed for
shapes that come again, on devices that can do that.
"""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import burn
from burn import Device, Module, Tensor
from burn.backend.fusion import Fusion
from burn.dtype import from_numpy
from burn.tensor import TensorData
from burn_import.onnx import versions
from burn_import.onnx.code.fields import array_of
from burn_import.onnx.errors import OnnxError
from burn_import.onnx.importing import import_model
from burn_import.onnx.ir.graph import Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.types import ElementType, TensorType
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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results for tensors in the order of the graph's inputs, or by their names."""
        named = {self._arguments.get(name, name): value for name, value in kwargs.items()}
        return super().__call__(*args, **named)  # type: ignore[misc]

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The results by name for arrays by name; lists for sequences, None for absent optionals.

        An array must have the dtype of its input, numbers and lists of numbers take it. Sizes that the file gives as
        numbers hold here; a call of the model with tensors takes what its operations take.
        """
        missing = [name for name in self.input_names if name not in inputs]
        unknown = [name for name in inputs if name not in self.input_names]
        if missing or unknown:
            faults = [f"input {name!r} is missing" for name in missing]
            faults += [f"there is no input {name!r}; there are {', '.join(self.input_names)}" for name in unknown]
            raise OnnxError("run", faults)
        given = [inputs[name] for name in self.input_names]
        for index, (dtype, value) in enumerate(zip(self._dtypes, given)):
            if dtype is not None and (value.__class__ is not np.ndarray or value.dtype != dtype):
                given = [*given[:index], *_in_dtypes(self.input_names[index:], self._dtypes[index:], given[index:])]
                break
        if not all(map(_fits, given, self._sizes)):
            raise OnnxError("run", _size_faults(self.input_names, self._sizes, given))
        device = self._device()
        if self._captured is not None and isinstance(device, Fusion) and all(map(_is_plain, given)):
            results = self._captured_on_arrays(given)
        else:
            results = self._replayed(device, [_to_device(each, device) for each in given])
        if len(self.output_names) == 1:
            results = (results,)
        return {name: _to_host(value) for name, value in zip(self.output_names, results)}

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
    imported = import_model(model)
    written = imported.write()
    place = burn.default_device() if device is None else device
    return instantiate(written, place, ports(imported.model, written))


def open_files(source: Path, weights: Path | None, described: Mapping[str, Any], device: Device) -> Any:
    """A model from the files that `burn-import` wrote: its source runs, so only for files of your own."""
    versions.check("load", described)
    inputs = [(each["name"], each["argument"]) for each in described["inputs"]]
    outputs = [each["name"] for each in described["outputs"]]
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
        "_dtypes": tuple(map(_dtype_of, (described or {}).get("inputs", ()))),
        "_sizes": tuple(map(_sizes_of, (described or {}).get("inputs", ()))),
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


def ports(model: Model, written: Written) -> dict[str, Any]:
    """Inputs and outputs of a model: names, dtypes and shapes, in which a text is a size that is open."""
    arguments = dict(written.inputs)
    inputs = [{**_port(value, value.name), "argument": arguments[value.name]} for value in model.graph.inputs]
    outputs = [_port(value, name) for value, name in zip(model.graph.outputs, model.graph.output_names)]
    return {"inputs": inputs, "outputs": outputs}


def _port(value: Value, name: str) -> dict[str, Any]:
    type_ = value.type
    if not isinstance(type_, TensorType):
        return {"name": name, "type": str(type_)}
    shape = None if type_.shape is None else [each if isinstance(each, int) else str(each) for each in type_.shape]
    return {"name": name, "dtype": None if type_.dtype is None else str(type_.dtype), "shape": shape}


def _in_dtypes(names: Sequence[str], dtypes: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """Inputs in the dtypes that the model takes: Python's numbers are converted, arrays of another dtype refused."""
    found, faults = [], []
    for name, dtype, value in zip(names, dtypes, given):
        if dtype is None:
            found.append(value)
            continue
        if value is None:
            faults.append(f"input {name!r} is None, and the model takes a tensor of {dtype.name}")
            continue
        is_tensor, is_array = isinstance(value, Tensor), hasattr(value, "dtype")
        array: Any = value if is_tensor else np.asarray(value)
        has = array.dtype.numpy if is_tensor else array.dtype
        if has == dtype or (dtype.kind == "O" and has.kind in "OUS"):
            found.append(array)
        elif is_array or _KINDS.find(has.kind) > _KINDS.find(dtype.kind):
            wanted = "str" if dtype.kind == "O" else from_numpy(dtype).name if is_tensor else f"np.{dtype.name}"
            advice = f'.cast("{wanted}")' if is_tensor else f".astype({wanted})"
            faults.append(f"input {name!r} is {has.name}, and the model takes {dtype.name}; write {name}{advice}")
        else:
            found.append(array.astype(dtype))
    if faults:
        raise OnnxError("run", faults)
    return found


_KINDS = "buifcV"  # from narrow to wide; V are the floats that NumPy does not have


def _dtype_of(port: Mapping[str, Any]) -> Any:
    """The dtype of an input as NumPy has it; None where it is no tensor or not known."""
    name = port.get("dtype")
    found = next((each for each in ElementType if str(each) == name), None)
    return None if found is None else np.dtype(found.numpy)


def _sizes_of(port: Mapping[str, Any]) -> tuple[int | None, ...] | None:
    """The sizes that the file gives an input as numbers, None for those it leaves open; None where all is open."""
    shape = port.get("shape")
    return None if shape is None else tuple(size if isinstance(size, int) else None for size in shape)


def _fits(value: Any, sizes: tuple[int | None, ...] | None) -> bool:
    """Whether an input has the sizes that the file gives it."""
    if sizes is None or value is None:
        return True
    shape = tuple(value.shape) if hasattr(value, "shape") else np.shape(value)
    return shape == sizes or (
        len(shape) == len(sizes) and all(size is None or has == size for has, size in zip(shape, sizes))
    )


def _size_faults(names: Sequence[str], sizes: Sequence[Any], given: Sequence[Any]) -> list[str]:
    faults = []
    for name, wanted, value in zip(names, sizes, given):
        if not _fits(value, wanted):
            shape = tuple(value.shape) if hasattr(value, "shape") else np.shape(value)
            text = ", ".join("any" if size is None else str(size) for size in wanted)
            reason = f"input {name!r} has shape {list(shape)}, and the model takes [{text}]"
            if len(shape) == len(wanted):
                reason += "; to try other sizes than those of the file, call the model with tensors: model(x)"
            faults.append(reason)
    return faults


def _is_plain(value: Any) -> bool:
    """Whether a value is an array of numbers."""
    return value.__class__ is np.ndarray and value.dtype.kind in "fiub" and value.dtype.isnative


def _to_device(value: Any, device: Device) -> Any:
    if value is None or isinstance(value, dict):
        return value
    if isinstance(value, list):
        return [_to_device(each, device) for each in value]
    if isinstance(value, Tensor):
        return value.to(device)
    array = np.asarray(value)
    return array if array.dtype.kind in "OUS" else burn.tensor(array, device=device)


def _to_host(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, list | tuple):
        return [_to_host(each) for each in value]
    return value
