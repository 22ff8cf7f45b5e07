"""The first files of PyTorch: a tar archive of storages, tensors and a pickle that names the tensors by number."""

from __future__ import annotations

from typing import Any

from burn.record.errors import RecordError
from burn.record.source import Source
from burn.record.tensors import MAX_RANK
from burn_import.pytorch.elements import Element
from burn_import.pytorch.known import find
from burn_import.pytorch.machine import Known, Machine
from burn_import.pytorch.storage import Storage, View

BLOCK = 512
MAX_COUNT = 1_000_000


def read_value(source: Source) -> Any:
    """The value of the pickle, with its tensors."""
    files = _files(source)
    missing = [name for name in ("storages", "tensors", "pickle") if name not in files]
    if missing:
        raise RecordError(f"a tar archive without {', '.join(missing)}: PyTorch did not write this file")
    storages = _storages(source, _part(source, files["storages"]), files["storages"][0])
    tensors = _tensors(_part(source, files["tensors"]), storages)

    def persistent(key: Any) -> Any:
        number = int(key) if isinstance(key, int) or (isinstance(key, str) and key.isdecimal()) else None
        found = tensors.get(number, storages.get(number)) if number is not None else None
        if found is None:
            raise RecordError("there is no such tensor")
        return found

    return Machine(_part(source, files["pickle"]), 0, find, persistent).run()


def _part(source: Source, place: tuple[int, int]) -> memoryview:
    return source.view[place[0] : place[0] + place[1]]


def _files(source: Source) -> dict[str, tuple[int, int]]:
    """Where the files of the archive lie, by the last part of their names."""
    found: dict[str, tuple[int, int]] = {}
    at = 0
    while at + BLOCK <= source.size:
        head = bytes(source.view[at : at + BLOCK])
        if not head.strip(b"\0"):
            break
        digits = head[124:136].strip(b"\0 ")
        if not digits.isdigit() or len(found) > 1000:
            raise RecordError("damaged tar archive")
        size = int(digits, 8) if all(each in b"01234567" for each in digits) else -1
        if not 0 <= size <= source.size - at - BLOCK:
            raise RecordError("damaged tar archive: a file reaches out of it")
        if head[156:157] in (b"0", b"\0"):
            name = head[:100].split(b"\0")[0].decode("utf-8", "replace")
            found[name.rpartition("/")[2]] = (at + BLOCK, size)
        at += BLOCK + -(-size // BLOCK) * BLOCK
    return found


def _storages(source: Source, view: memoryview, base: int) -> dict[int, Storage]:
    machine = Machine(view, 0, find)
    count = _count(machine.run())
    found: dict[int, Storage] = {}
    for _ in range(count):
        machine = Machine(view, machine.position, find)
        key, _, kind = _triple(machine.run())
        element = kind.value if isinstance(kind, Known) else None
        if not isinstance(element, Element) or type(key) is not int:
            raise RecordError("damaged: a storage without a type")
        at = machine.position
        size = _number(view, at)
        storage = Storage(str(key), element, size)
        storage.place(source, base + at + 8, max(0, min(size * element.size, len(view) - at - 8)))
        found[key] = storage
        machine.position = at + 8 + size * element.size
    views = Machine(view, machine.position, find).run()
    for each in views if isinstance(views, list) else ():
        if not isinstance(each, tuple) or len(each) != 4 or not all(type(number) is int for number in each):
            raise RecordError("damaged: a part of a storage is broken")
        target, root, offset, size = each
        if root not in found or min(offset, size, found[root].count - offset - size) < 0:
            raise RecordError("damaged: a part of a storage lies outside it")
        whole = found[root]
        part = Storage(str(target), whole.element, size)
        part.source, part.offset, part.swapped = whole.source, whole.offset + offset * whole.element.size, whole.swapped
        found[target] = part
    return found


def _tensors(view: memoryview, storages: dict[int, Storage]) -> dict[int, View]:
    machine = Machine(view, 0, find)
    count = _count(machine.run())
    found: dict[int, View] = {}
    for _ in range(count):
        machine = Machine(view, machine.position, find)
        key, storage_key, _ = _triple(machine.run())
        at = machine.position
        rank = int.from_bytes(view[at : at + 4], "little")
        if rank > MAX_RANK or type(key) is not int or type(storage_key) is not int or storage_key not in storages:
            raise RecordError("damaged: a tensor without a storage")
        numbers = [_number(view, at + 8 + 8 * index) for index in range(2 * rank + 1)]
        storage = storages[storage_key]
        sizes, strides = tuple(numbers[:rank]), tuple(numbers[rank : 2 * rank])
        made = View(storage, numbers[-1], sizes, strides, storage.element)
        machine.count_repeated(made.repeated)
        found[key] = made
        machine.position = at + 8 + 8 * (2 * rank + 1)
    return found


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MAX_COUNT:
        raise RecordError("damaged: a number of storages or tensors is missing")
    return value


def _triple(value: Any) -> tuple[Any, Any, Any]:
    if not isinstance(value, tuple) or len(value) != 3:
        raise RecordError("damaged: a storage or tensor is broken")
    return value


def _number(view: memoryview, at: int) -> int:
    if at + 8 > len(view):
        raise RecordError("damaged: it ends in the middle")
    return int.from_bytes(view[at : at + 8], "little")
