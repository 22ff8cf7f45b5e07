"""Optimizer records: the state of every parameter under its id, in the layout that files have.

    {"8vojso07rkksg": {"V1": {"Rank2": {"momentum": {"time": 3, "moment_1": ..., "moment_2": ...}}}}}

A layout (see `SimpleOptimizer.layout`) says where the tensors of a state stand. Reading accepts a
record written by another layout of the same names and lists what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burn.errors import ArgumentError, raise_faults
from burn.optim.simple import TIME, Optional, SimpleOptimizer, Slot
from burn.record.errors import RecordError
from burn.record.items import Absent, Choice, Item, Mapping, MappingOf, Some, Variant
from burn.record.matching import match
from burn.record.record import Record
from burn.tensor import Tensor, TensorData

MOST_RANKS = 9
A_TENSOR: Any = TensorData([0.0])


def written(simple: SimpleOptimizer, slot: Slot) -> Item:
    """The state of one parameter as a record item."""
    assert slot.state is not None
    rank = next(len(each.shape) for each in slot.state if each is not None)
    item = _write(simple.layout(), slot)
    return Variant("V1", 0, Variant(f"Rank{rank}", rank, item))


def _write(layout: Any, slot: Slot) -> Any:
    if isinstance(layout, dict):
        return {name: _write(part, slot) for name, part in layout.items()}
    if isinstance(layout, Optional):
        return Some(_write(layout.part, slot)) if _is_there(layout.part, slot) else Absent(_schema(layout.part))
    if layout is TIME:
        return round(float(slot.time))
    value = getattr(slot.state, layout)
    return value.to_data() if isinstance(value, Tensor) else value


def _is_there(layout: Any, slot: Slot) -> bool:
    if isinstance(layout, dict):
        return all(_is_there(part, slot) for part in layout.values())
    return layout is TIME or getattr(slot.state, layout) is not None


def schema(simple: SimpleOptimizer) -> Item:
    """What a record of this optimizer looks like."""
    state = _schema(simple.layout())
    return MappingOf(Choice({"V1": Choice({f"Rank{rank}": state for rank in range(MOST_RANKS)})}))


def _schema(layout: Any) -> Any:
    if isinstance(layout, dict):
        return {name: _schema(part) for name, part in layout.items()}
    if isinstance(layout, Optional):
        return Some(_schema(layout.part))
    return 0 if layout is TIME else A_TENSOR


def read(simples: Sequence[SimpleOptimizer], record: Any) -> dict[str, Slot]:
    """The states in a record by parameter id, with `TensorData` in the place of tensors."""
    if not isinstance(record, Record):
        raise ArgumentError(f"load_record: needs a Record, got {type(record).__name__}; read files with a recorder")
    stateful = [simple for simple in simples if simple.state_type is not None]
    if not stateful:
        return {}
    items = record.item_for(schema(stateful[0]))
    faults: list[str] = []
    found: dict[str, Slot] = {}
    times: dict[int, float] = {}
    if not isinstance(items, dict):
        raise RecordError("load_record: this is no record of an optimizer: it is not a map of parameter ids")
    for id, item in items.items():
        attempts = [(simple, match(Mapping({id: item}), schema(simple))) for simple in stateful]
        simple, best = min(attempts, key=lambda each: len(each[1].faults) + len(each[1].missing))
        wrong = best.faults + [f"{path}: missing in the record" for path in best.missing]
        if wrong:
            faults += wrong
            continue
        made: Any = best.item
        found[id] = _read(simple, made[id].value.value, times)
    raise_faults("load_record", faults, RecordError)
    return found


def _read(simple: SimpleOptimizer, item: Any, times: dict[int, float]) -> Slot:
    values: dict[str, Any] = {}
    _gather(simple.layout(), item, values)
    time = values.pop(TIME, None)
    # Parameters of one time share one number, as after a step.
    clock = None if time is None else times.setdefault(time, float(time))
    fields = simple.state_type._fields
    return Slot(clock, simple.state_type(**{name: values.get(name) for name in fields}))


def _gather(layout: Any, item: Any, values: dict[str, Any]) -> None:
    if isinstance(layout, dict):
        for name, part in layout.items():
            _gather(part, item[name], values)
    elif isinstance(layout, Optional):
        if isinstance(item, Some):
            _gather(layout.part, item.value, values)
    else:
        values[layout] = item
