"""Modules to records and back.

A record of a module is a tree with a struct for each module: parameters and states with their ids,
constants as nothing. Loading makes a new module; the old one's structure and constants stay. A
parameter at two places is written at both with one id, and two entries with one id become one
parameter again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.device import Device
from burn.errors import ArgumentError
from burn.module.fields import field_names, optional_type
from burn.module.foreign import fit
from burn.module.identity import ParamId
from burn.module.param import Param
from burn.module.state import State
from burn.module.walk import is_module, leaves
from burn.record.errors import RecordError
from burn.record.items import Absent, Item, ParamItem, Some, Variant
from burn.record.layouts import Deferred, Tensors, layout_of, read, unmarked
from burn.tensor import TensorData
from burn.tensor.quantization import QuantizedTensor

if TYPE_CHECKING:
    from burn.record import FileRecorder, Record

NOTHING: Any = TensorData([0.0])


def into_record(module: Any) -> Record:
    """The parameters and states of a module."""
    from burn.record import Record

    return Record(item_of(module, with_data=True))


def item_of(value: Any, with_data: bool) -> Item:
    """A module or a part of it as a record item; without data it is the schema that a file is read by."""
    if isinstance(value, Param | State):
        return ParamItem(str(value.id), _data(value) if with_data else None)
    if is_module(value):
        return _struct(value, with_data)
    if isinstance(value, list):
        return [item_of(each, with_data) for each in value]
    if isinstance(value, tuple):
        return tuple(item_of(each, with_data) for each in value)
    if isinstance(value, dict):
        return {str(key): item_of(each, with_data) for key, each in value.items()}
    return None


def _data(leaf: Any) -> Any:
    tensor = leaf.val() if isinstance(leaf, Param) else leaf.value
    return tensor if isinstance(tensor, QuantizedTensor) else tensor.to_data()


def _struct(module: Any, with_data: bool) -> Item:
    if hasattr(type(module), "record_variant"):
        name, index, value = module.record_variant()
        return Variant(name, index, item_of(value, with_data))
    if next(leaves(module), None) is None:
        return None
    return {name: _field(module, name, with_data) for name in recorded_fields(module)}


def recorded_fields(module: Any) -> list[str]:
    """The fields that a record names: all public ones, and private ones that hold parameters."""
    values = module.__dict__
    return [name for name in field_names(module) if not name.startswith("_") or _is_recorded(values[name])]


def _is_recorded(value: Any) -> bool:
    return any(isinstance(leaf, Param | State) for _, leaf in leaves(value))


def _field(module: Any, name: str, with_data: bool) -> Item:
    value = module.__dict__[name]
    optional = optional_type(type(module), name)
    if value is None:
        return Absent(ParamItem("", NOTHING) if optional is Param else None)
    item = item_of(value, with_data)
    return item if optional is None else Some(item)


# Loading


def load_record(module: Any, record: Any, strict: bool) -> Any:
    """A module with the values of a record."""
    from burn.record import Record

    if not isinstance(record, Record):
        raise ArgumentError(f"load_record: needs a Record, got {type(record).__name__}; read files with load_file")
    reading = _Reading()
    foreign = _foreign(record)
    if foreign is not None:
        fitted = fit(module, *foreign, strict, getattr(record, "source", "the record"))
        record.missing, record.extra = fitted.missing, fitted.extra
        made = reading.value(module, fitted.item, "")
        reading.check(type(module).__name__, strict=False)
        return made
    made = reading.value(module, record.item_for(item_of(module, with_data=False)), "")
    reading.check(type(module).__name__, strict)
    return made


def _foreign(record: Any) -> tuple[Tensors, str] | None:
    """The tensors and the layout of a record that was imported; None for one of our own."""
    tensors = getattr(record, "tensors", None)
    if tensors is not None:
        return tensors, record.layout
    layout = layout_of(record.item) if record.is_described else None
    return None if layout is None else (unmarked(record.item), layout)


class _Reading:
    """One load: what was found wrong, and the parameters made so far by id."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.extra: list[str] = []
        self.wrong: list[str] = []
        self.made: dict[str, tuple[Any, Any]] = {}

    def check(self, name: str, strict: bool) -> None:
        faults = list(self.wrong)
        if strict:
            faults += [f"{path}: missing in the record" for path in self.missing]
            faults += [f"{path}: in the record, but not in the module" for path in self.extra]
        if not faults:
            return
        listed = "\n".join(f"  {fault}" for fault in faults)
        hint = ""
        if strict and (self.missing or self.extra) and not self.wrong:
            hint = "\nload_record(record, strict=False) takes what fits and keeps the rest"
        raise RecordError(f"load_record: the record does not fit {name}:\n{listed}{hint}")

    def value(self, value: Any, item: Any, path: str) -> Any:
        if isinstance(item, Some):
            item = item.value
        if isinstance(item, Absent):
            item = None
        if isinstance(value, Param | State):
            return self.leaf(value, item, path)
        if is_module(value):
            return self.module(value, item, path)
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            return self.sequence(value, item, path)
        if isinstance(value, dict):
            return self.mapping(value, item, path)
        if value is None and _holds_parameters(item):
            self.extra.append(path)
        return value

    def leaf(self, leaf: Any, item: Any, path: str) -> Any:
        if item is None:
            self.missing.append(path)
            return leaf
        if isinstance(item, TensorData | QuantizedTensor):
            item = ParamItem(str(leaf.id), item)
        if not isinstance(item, ParamItem):
            self.wrong.append(f"{path}: the module has a parameter here, the record has {_kind(item)}")
            return leaf
        if tuple(item.data.shape) != tuple(leaf.shape):
            self.wrong.append(f"{path}: shape {list(leaf.shape)} in the module, {list(item.data.shape)} in the record")
            return leaf
        known = self.made.get(item.id)
        if known is not None and isinstance(known[0], State) is isinstance(leaf, State):
            if not _equal(known[1], item.data):
                self.wrong.append(f"{path}: has the id {item.id} of another parameter, with other values")
                return leaf
            return known[0]
        made = _loaded(leaf, item)
        self.made[item.id] = made, item.data
        return made

    def module(self, module: Any, item: Any, path: str) -> Any:
        if isinstance(item, Variant) or hasattr(type(module), "record_variant"):
            return self.variant(module, item, path)
        names = recorded_fields(module) if next(leaves(module), None) is not None else []
        if item is None and names:
            self.all_missing(module, path)
            item = {}
            names = []
        if item is not None and not isinstance(item, dict):
            if names:
                self.wrong.append(
                    f"{path}: the module has a {type(module).__name__} here, the record has {_kind(item)}"
                )
            return module
        fields = dict(module.__dict__)
        item = item or {}
        for name in names:
            here = f"{path}.{name}" if path else name
            if name in item:
                fields[name] = self.value(fields[name], item[name], here)
            elif _is_recorded(fields[name]):
                self.all_missing(fields[name], here)
        for name, other in item.items():
            if name not in names and _holds_parameters(other):
                self.extra.append(f"{path}.{name}" if path else name)
        made = object.__new__(type(module))
        made.__dict__.update(fields)
        return made

    def variant(self, module: Any, item: Any, path: str) -> Any:
        if isinstance(item, dict) and len(item) == 1:
            ((name, value),) = item.items()
            item = Variant(name, -1, value)
        elif isinstance(item, str):
            item = Variant(item, -1, None)
        if not isinstance(item, Variant) or not hasattr(type(module), "record_variant"):
            self.wrong.append(f"{path}: the module has a {type(module).__name__} here, the record has {_kind(item)}")
            return module
        name = module.variant
        if item.name != name:
            self.wrong.append(f"{path}: the module is the variant {name}, the record {item.name}")
            return module
        return module.with_variant_value(self.value(module.value, item.value, f"{path}.{name}" if path else name))

    def sequence(self, values: Any, item: Any, path: str) -> Any:
        if not _is_recorded(values):
            return values
        if not isinstance(item, list | tuple) or len(item) != len(values):
            found = f"{len(item)} entries" if isinstance(item, list | tuple) else _kind(item)
            if item is None:
                self.all_missing(values, path)
            else:
                self.wrong.append(f"{path}: the module has {len(values)} entries here, the record has {found}")
            return values
        return type(values)(self.value(v, i, f"{path}.{n}") for n, (v, i) in enumerate(zip(values, item, strict=True)))

    def mapping(self, values: dict[Any, Any], item: Any, path: str) -> dict[Any, Any]:
        if not _is_recorded(values):
            return values
        if not isinstance(item, dict):
            self.wrong.append(f"{path}: the module has a dict here, the record has {_kind(item)}")
            return values
        made = {}
        for key, value in values.items():
            if str(key) in item:
                made[key] = self.value(value, item[str(key)], f"{path}.{key}")
            else:
                made[key] = value
                self.all_missing(value, f"{path}.{key}")
        self.extra += [f"{path}.{key}" for key in item if key not in map(str, values)]
        return made

    def all_missing(self, value: Any, path: str) -> None:
        found = [f"{path}.{name}" if name else path for name, leaf in leaves(value) if isinstance(leaf, Param | State)]
        self.missing += found


def _loaded(leaf: Any, item: ParamItem) -> Any:
    if isinstance(item.data, Deferred):
        return leaf.loaded(item.data.read(), ParamId(item.id))
    if isinstance(item.data, QuantizedTensor):
        if isinstance(leaf, State):
            return leaf.loaded(item.data.dequantize().to_data(), ParamId(item.id))
        return Param(item.data.cast(leaf.dtype).to_device(leaf.device), item.id, leaf.learns)
    return leaf.loaded(item.data, ParamId(item.id))


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, Deferred) or isinstance(other, Deferred):
        return _equal(read(one), read(other))
    if isinstance(one, TensorData) and isinstance(other, TensorData):
        return one.dtype == other.dtype and one.as_bytes() == other.as_bytes()
    if isinstance(one, QuantizedTensor) and isinstance(other, QuantizedTensor):
        pairs = zip(one.parts, other.parts, strict=False)
        return one.scheme == other.scheme and all(_equal(a.to_data(), b.to_data()) for a, b in pairs)
    return False


def _holds_parameters(item: Any) -> bool:
    if isinstance(item, ParamItem | TensorData | QuantizedTensor):
        return True
    if isinstance(item, Some | Variant):
        return _holds_parameters(item.value)
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, list | tuple) else ()
    return any(_holds_parameters(each) for each in parts) if not isinstance(item, Absent) else False


def _kind(item: Any) -> str:
    if item is None:
        return "nothing"
    if isinstance(item, ParamItem | TensorData):
        return "a parameter"
    names: dict[type, str] = {dict: "a struct", list: "a list", tuple: "a tuple"}
    return names.get(type(item), f"a {type(item).__name__}")


# Files


def save_file(module: Any, path: Any, recorder: FileRecorder[Any] | None) -> None:
    """Write a module to a file."""
    from burn.record import DefaultFileRecorder

    (recorder or DefaultFileRecorder()).record(into_record(module), path)


def load_file(module: Any, path: Any, recorder: FileRecorder[Any] | None, device: Device | None, strict: bool) -> Any:
    """A module with the values of a file."""
    from burn.record import DefaultFileRecorder

    record = (recorder or DefaultFileRecorder()).load(path, device)
    target = module if device is None else module.to_device(device)
    return load_record(target, record, strict)
