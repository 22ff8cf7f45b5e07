"""The files of PyTorch: a pickle that says which tensors there are, and the bytes of their storages.

| container | written by | storages |
| --- | --- | --- |
| zip | PyTorch 1.6 and later | files of the archive, `data/0`, `data/1`, ... |
| legacy | 0.1.10 to 1.5, and `_use_new_zipfile_serialization=False` | after the pickle, one after the other |
| tar | before 0.1.10 | in a file of the archive, with tensors in another |
| pickle | `pickle.dump` | none: numbers, texts and arrays of NumPy |
"""

from __future__ import annotations

from typing import Any, NamedTuple

from burn.record.errors import RecordError
from burn.record.source import Source
from burn_import.pytorch import tar_file, zip_file
from burn_import.pytorch.elements import Element
from burn_import.pytorch.known import find
from burn_import.pytorch.machine import Known, Machine, PickleError
from burn_import.pytorch.storage import Storage

MAGIC = 0x1950A86A20F9469CFC6C
PROTO = 0x80
MAX_PICKLE = 1 << 28


class Contents(NamedTuple):
    """What a file holds: the value of its pickle, the kind of container, and the order of bytes."""

    value: Any
    container: str
    big_endian: bool


class Storages:
    """The storages that a pickle asks for, by key."""

    def __init__(self) -> None:
        self.by_key: dict[str, Storage] = {}
        self.views: list[tuple[Storage, Storage, int]] = []

    def __call__(self, key: Any) -> Storage:
        """The storage of a persistent id: `("storage", class, key, location, count)`, and a view of it in old files."""
        if isinstance(key, tuple) and key and key[0] == "module":
            raise PickleError(
                "it holds a whole pickled module, which could only be read by running its code; save its weights "
                "instead: torch.save(model.state_dict(), path)"
            )
        if not isinstance(key, tuple) or len(key) not in (5, 6) or key[0] != "storage":
            raise RecordError("this is no id of a storage")
        _, kind, name, _, count, *view = key
        element = kind.value if isinstance(kind, Known) else None
        if not isinstance(element, Element) or not isinstance(name, str) or type(count) is not int or count < 0:
            raise RecordError("this is no id of a storage")
        root = self.by_key.get(name)
        if root is None:
            root = self.by_key[name] = Storage(name, element, count)
        elif root.element.size * root.count != element.size * count:
            raise RecordError(f"storage {name[:40]} has two sizes")
        return self.part(root, view[0]) if view and view[0] is not None else root

    def part(self, root: Storage, view: Any) -> Storage:
        """A storage that is a part of another."""
        if not isinstance(view, tuple) or len(view) != 3 or not isinstance(view[0], str):
            raise RecordError("this is no part of a storage")
        name, offset, count = view
        if type(offset) is not int or type(count) is not int or min(offset, count, root.count - offset - count) < 0:
            raise RecordError(f"a part of storage {root.key[:40]} lies outside it")
        made = Storage(name, root.element, count)
        self.views.append((made, root, offset * root.element.size))
        return made

    def place_parts(self) -> None:
        """Place the parts, once the whole ones have their places."""
        for part, root, shift in self.views:
            part.source, part.offset, part.swapped = root.source, root.offset + shift, root.swapped


def read_contents(source: Source) -> Contents:
    """The value of a file of PyTorch, whatever its container."""
    head = bytes(source.view[:512])
    if not head:
        raise RecordError("it is empty")
    if head[:4] in (zip_file.LOCAL, zip_file.END):
        return _zip(source)
    if head[257:262] == b"ustar":
        return _tar(source)
    if len(head) > 9 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= source.size:
        raise RecordError("this is a safetensors file; read it with burn_import.safetensors.SafetensorsFileRecorder")
    return _legacy(source)


def _zip(source: Source) -> Contents:
    entries = zip_file.directory(source)
    pickles = sorted((name for name in entries if name.rpartition("/")[2] == "data.pkl"), key=len)
    if not pickles:
        raise RecordError("a zip archive without data.pkl: PyTorch did not write this file")
    prefix = pickles[0].removesuffix("data.pkl")
    if f"{prefix}constants.pkl" in entries:
        raise RecordError(
            "this is a TorchScript archive, which holds code; save its weights instead: "
            "torch.save(torch.jit.load(path).state_dict(), path)"
        )
    start, size = zip_file.place(source, pickles[0], entries[pickles[0]])
    if size > MAX_PICKLE:
        raise RecordError(f"a pickle of {size:,} bytes; {MAX_PICKLE:,} are allowed")
    order = entries.get(f"{prefix}byteorder")
    big_endian = False
    if order is not None:
        at, length = zip_file.place(source, "byteorder", order)
        big_endian = bytes(source.view[at : at + min(length, 8)]) == b"big"
    storages = Storages()
    value = Machine(source.view[start : start + size], 0, find, storages).run()
    for key, storage in storages.by_key.items():
        name = f"{prefix}data/{key}"
        if name not in entries:
            raise RecordError(f"damaged: the archive has no {name[:80]}")
        storage.place(source, *zip_file.place(source, name, entries[name]), big_endian)
    storages.place_parts()
    return Contents(value, "zip", big_endian)


def _legacy(source: Source) -> Contents:
    first = Machine(source.view, 0, find)
    try:
        magic = first.run()
    except PickleError as error:
        if source.view[0] != PROTO and first.instruction not in ("GLOBAL", "INST"):
            raise RecordError("PyTorch did not write this file: it is neither an archive nor a pickle") from None
        raise error
    if magic != MAGIC or isinstance(magic, bool):
        return Contents(magic, "pickle", False)
    version = _next(first)
    if version.run() != 1001:
        raise RecordError("a legacy file of an unknown version; 1001 is known")
    about = _next(version)
    system = about.run()
    big_endian = isinstance(system, dict) and system.get("little_endian") is False
    storages = Storages()
    body = _next(about, storages)
    value = body.run()
    listing = _next(body)
    keys = listing.run()
    if not isinstance(keys, list):
        raise RecordError("damaged: the list of storages is missing")
    at = listing.position
    for key in keys:
        storage = storages.by_key.get(key) if isinstance(key, str) else None
        if storage is None:
            raise RecordError("damaged: it lists a storage that no tensor has")
        count = int.from_bytes(source.view[at : at + 8], "big" if big_endian else "little")
        if count != storage.count:
            raise RecordError(f"damaged: storage {key[:40]} has {count:,} elements, and {storage.count:,} are expected")
        storage.place(source, at + 8, count * storage.element.size, big_endian)
        at += 8 + count * storage.element.size
    absent = [key for key, storage in storages.by_key.items() if storage.source is None]
    if absent:
        raise RecordError(f"damaged: it does not list storage {absent[0][:40]}")
    storages.place_parts()
    return Contents(value, "legacy", big_endian)


def _next(machine: Machine, persistent: Any = None) -> Machine:
    return Machine(machine.view, machine.position, find, persistent)


def _tar(source: Source) -> Contents:
    return Contents(tar_file.read_value(source), "tar", False)
