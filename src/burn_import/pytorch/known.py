"""The names that pickles of weights may use, and what they make here.

Each stands for a function of this package, never for what Python or PyTorch have under that name. Containers
become containers, functions that rebuild tensors give views of storages, and classes that only say what a storage
holds are names and nothing more.
"""

from __future__ import annotations

from typing import Any

from burn.record.errors import RecordError
from burn.record.layouts import Deferred
from burn_import.pytorch.arrays import NAMES as ARRAYS
from burn_import.pytorch.elements import ELEMENTS, STORAGES, Element
from burn_import.pytorch.machine import Dictionary, Known, Machine
from burn_import.pytorch.storage import Storage, Unreadable, View, sizes_of

# Containers


def _copied(m: Machine, values: Any) -> list[Any]:
    if not isinstance(values, list | tuple | set | frozenset | dict):
        raise TypeError("no container")
    m.count_copied(len(values))
    return list(values)


def _list(m: Machine, values: Any = ()) -> list[Any]:
    return _copied(m, values)


def _tuple(m: Machine, values: Any = ()) -> tuple[Any, ...]:
    return tuple(_copied(m, values))


def _set(m: Machine, values: Any = ()) -> set[Any]:
    return set(map(m.plain_key, _copied(m, values)))


def _frozen_set(m: Machine, values: Any = ()) -> frozenset[Any]:
    return frozenset(_set(m, values))


def _dict(m: Machine, values: Any = ()) -> Dictionary:
    made = Dictionary()
    pairs = values.items() if isinstance(values, dict) else values
    for key, value in _copied(m, list(pairs) if isinstance(values, dict) else pairs):
        m.store(made, key, value)
    return made


def _default_dict(m: Machine, factory: Any = None, values: Any = ()) -> Dictionary:
    return _dict(m, values)


def _namespace(m: Machine) -> Dictionary:
    return Dictionary(takes_state=True)


def _encode(m: Machine, text: Any, encoding: Any = "utf-8") -> bytes:
    """How protocol 2 writes bytes."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1", "utf-8", "utf8"):
        raise ValueError("no text")
    m.count_copied(len(text) // 64)
    return text.encode(encoding)


def _bytes(m: Machine, value: Any = b"", encoding: Any = None) -> bytes:
    if isinstance(value, str) and encoding is not None:
        return _encode(m, value, encoding)
    if not isinstance(value, bytes):
        raise TypeError("no bytes")
    return value


def _plain(kind: type) -> Any:
    def make(m: Machine, value: Any) -> Any:
        if isinstance(value, str | bytes) and len(value) > 400:
            raise ValueError("too long")
        return kind(value) if isinstance(value, str | bytes | int | float) else _wrong()

    return make


def _text(m: Machine, value: Any = "") -> str:
    return value if isinstance(value, str) else _wrong()


def _wrong() -> Any:
    raise TypeError("no number")


def _complex(m: Machine, real: float, imaginary: float = 0.0) -> complex:
    return complex(float(real), float(imaginary))


# Tensors


def _view(m: Machine, storage: Any, offset: Any, sizes: Any, strides: Any, element: Element, metadata: Any) -> View:
    made = View(storage, offset, sizes, strides, element)
    m.count_repeated(made.repeated)
    if isinstance(metadata, dict) and metadata.get("neg"):
        made.negated = True
    return made


def _tensor(m: Machine, storage: Any, offset: Any, sizes: Any, strides: Any) -> View:
    return _view(m, storage, offset, sizes, strides, _storage(storage).element, None)


def _tensor_2(
    m: Machine, storage: Any, offset: Any, sizes: Any, strides: Any, grad: Any, hooks: Any, metadata: Any = None
) -> View:
    return _view(m, storage, offset, sizes, strides, _storage(storage).element, metadata)


def _tensor_3(
    m: Machine, storage: Any, offset: Any, sizes: Any, strides: Any, grad: Any, hooks: Any, dtype: Any,
    metadata: Any = None,
) -> View:  # fmt: skip
    _storage(storage)
    return _view(m, storage, offset, sizes, strides, _element(dtype), metadata)


def _storage(value: Any) -> Storage:
    if not isinstance(value, Storage):
        raise RecordError("there is no storage")
    return value


def _element(value: Any) -> Element:
    found = value.value if isinstance(value, Known) else None
    if not isinstance(found, Element):
        raise RecordError("there is no element type")
    return found


def _same(m: Machine, data: Any, *others: Any) -> Any:
    """A parameter is its tensor; whether it learns is the module's to say."""
    if not isinstance(data, Deferred):
        raise TypeError("no tensor")
    return data


def _from_type(m: Machine, function: Any, kind: Any, arguments: Any, state: Any) -> Any:
    """A tensor with attributes, or of a class of its own."""
    return m.call(function, arguments)


def _sparse(m: Machine, layout: Any, data: Any) -> Unreadable:
    sizes = next((each for each in reversed(data) if isinstance(each, tuple)), ()) if isinstance(data, tuple) else ()
    return Unreadable("SPARSE", "a sparse tensor; save tensor.to_dense() instead", sizes_of(sizes))


def _quantized(m: Machine, storage: Any, offset: Any, sizes: Any, *others: Any) -> Unreadable:
    return Unreadable("QUANTIZED", _storage(storage).element.fault or "a quantised tensor", sizes_of(sizes))


def _meta(m: Machine, dtype: Any, sizes: Any, strides: Any, grad: Any) -> Unreadable:
    return Unreadable("META", "a tensor on the device meta, which has no values", sizes_of(sizes))


def _nested(m: Machine, *parts: Any) -> Unreadable:
    return Unreadable("NESTED", "a nested tensor; save tensor.to_padded_tensor(0.0) instead")


def _size(m: Machine, sizes: Any = ()) -> tuple[Any, ...]:
    return tuple(_copied(m, sizes))


def _device(m: Machine, *parts: Any) -> str:
    return ":".join(str(part) for part in parts if isinstance(part, str | int))


def _layout(m: Machine, name: Any) -> str:
    return str(name) if isinstance(name, str) else _wrong()


CALLS = {
    "collections.OrderedDict": _dict,
    "collections.defaultdict": _default_dict,
    "collections.Counter": _dict,
    "argparse.Namespace": _namespace,
    "types.SimpleNamespace": _namespace,
    "builtins.dict": _dict,
    "builtins.list": _list,
    "builtins.tuple": _tuple,
    "builtins.set": _set,
    "builtins.frozenset": _frozen_set,
    "builtins.bytes": _bytes,
    "builtins.bytearray": _bytes,
    "builtins.int": _plain(int),
    "builtins.float": _plain(float),
    "builtins.bool": _plain(bool),
    "builtins.str": _text,
    "builtins.complex": _complex,
    "_codecs.encode": _encode,
    "torch.Size": _size,
    "torch.device": _device,
    "torch.serialization._get_layout": _layout,
    "torch.nn.parameter.Parameter": _same,
    "torch.nn.parameter.Buffer": _same,
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor_2,
    "torch._utils._rebuild_tensor_v3": _tensor_3,
    "torch._utils._rebuild_parameter": _same,
    "torch._utils._rebuild_parameter_with_state": _same,
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": _same,
    "torch._utils._rebuild_device_tensor_from_numpy": _same,
    "torch._utils._rebuild_xla_tensor": _same,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch._utils._rebuild_sparse_csr_tensor": _sparse,
    "torch._utils._rebuild_qtensor": _quantized,
    "torch._utils._rebuild_meta_tensor_no_storage": _meta,
    "torch._utils._rebuild_nested_tensor": _nested,
    "torch._tensor._rebuild_from_type_v2": _from_type,
    "torch._tensor._rebuild_from_type": _from_type,
    **ARRAYS,
}

TENSOR_CLASSES = [name.replace("Storage", "Tensor") for name in STORAGES if not name.endswith("UntypedStorage")]


def _table() -> dict[str, Known]:
    found = {name: Known(name, call) for name, call in CALLS.items()}
    for place in ("torch", "torch.cuda", "torch.storage"):
        for name, element in STORAGES.items():
            found[f"{place}.{name}"] = Known(f"{place}.{name}", value=ELEMENTS[element])
        for name in ("Tensor", *TENSOR_CLASSES):
            found[f"{place}.{name}"] = Known(f"{place}.{name}")
    for name, kind in ELEMENTS.items():
        found[f"torch.{name}"] = Known(f"torch.{name}", value=kind)
    for name in ("per_tensor_affine", "per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric",
                 "per_channel_affine_float_qparams", "strided", "sparse_coo", "preserve_format",
                 "contiguous_format", "channels_last"):  # fmt: skip
        found[f"torch.{name}"] = Known(f"torch.{name}")
    return found


TABLE = _table()
OLD_MODULES = {"__builtin__": "builtins", "numpy.core": "numpy._core", "torch.tensor": "torch"}


def find(name: str) -> Known | None:
    """What a name of a pickle stands for; None for all others."""
    known = TABLE.get(name)
    if known is None:
        for old, new in OLD_MODULES.items():
            if name.startswith(old + "."):
                return TABLE.get(new + name[len(old) :])
    return known
