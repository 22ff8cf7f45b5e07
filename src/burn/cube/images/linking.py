"""From object files to one image: every section gets its place, every relocation is done.

Objects see each other's global names, and what none of them has is a function of the system: it gets a word in the
table and a jump that other code can call, whatever the distance.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

import numpy as np

from burn.cube.images import arm, x86
from burn.cube.images.elf import EXECUTE, WRITE, ObjectFile, Section, read
from burn.cube.images.image import AARCH64, LARGEST, PAGE, WORD, X86_64, Image, Unlinkable
from burn.cube.images.relocations import Array, Rule, Wanted

_MACHINES: dict[int, ModuleType] = {X86_64: x86, AARCH64: arm}

TABLE_NAME = "_GLOBAL_OFFSET_TABLE_"
CODE_ALIGN = 64


def link(objects: Mapping[str, bytes]) -> Image:
    """One image of object files, each under a function that it defines; `Unlinkable` where that cannot be done.

    >>> from burn.cube.images import Unlinkable, link
    >>> try:
    ...     link({"kernel": b"no object"})
    ... except Unlinkable as error:
    ...     print(error)
    object: 64 bytes at 0 of 9
    """
    files = [read(contents) for contents in objects.values()]
    machines = {each.machine for each in files}
    if len(machines) != 1:
        raise Unlinkable(f"link: {len(files)} objects for {len(machines)} machines")
    linking = _Linking(machines.pop(), files)
    image = linking.image()
    for symbol, each in zip(objects, files):
        if symbol not in each.functions:
            raise Unlinkable(f"link: an object has no function {symbol!r}")
    return image


class _Linking:
    """The state of one `link`."""

    def __init__(self, machine: int, files: list[ObjectFile]) -> None:
        self.machine = machine
        self.files = files
        self.module = _MACHINES[machine]
        self.rules: dict[int, Rule] = self.module.RULES
        self.owners: dict[str, int] = {}
        for number, each in enumerate(files):
            for name in each.defined:
                if self.owners.setdefault(name, number) != number:
                    raise Unlinkable(f"link: {name!r} is defined twice")
        outside = {name for each in files for name in each.undefined}
        self.imports = sorted(outside - self.owners.keys() - {TABLE_NAME})
        self.slots: dict[tuple[int, int], int] = {}
        """Words of the table by the address that they hold; those of imports come before."""
        self.pointers: list[tuple[int, int]] = []

    def image(self) -> Image:
        """Everything in its place."""
        page = PAGE[self.machine]
        sections = [section for each in self.files for section in each.sections.values()]
        executable = [each for each in sections if each.flags & EXECUTE]
        writable = [each for each in sections if each.flags & WRITE]
        constant = [each for each in sections if not each.flags & (EXECUTE | WRITE)]
        self.jumps = _up(_place(executable, 0, CODE_ALIGN), self.module.JUMP_BYTES)
        code = _up(self.jumps + self.module.JUMP_BYTES * len(self.imports), page)
        data = _up(_place(writable, code), page)
        self.table = _up(_place(constant, data), WORD)
        self._count_slots()
        size = self.table + WORD * (len(self.imports) + len(self.slots))
        if size > LARGEST:
            raise Unlinkable(f"link: {size} bytes")
        contents = np.zeros(size, np.uint8)
        for each in sections:
            if each.contents is not None:
                contents[each.offset : each.offset + each.size] = each.contents
        for number in range(len(self.imports)):
            place = self.jumps + self.module.JUMP_BYTES * number
            code_of = self.module.jump(place, self.table + WORD * number)
            contents[place : place + len(code_of)] = np.frombuffer(code_of, np.uint8)
        addresses = [self._addresses(each) for each in self.files]
        for number, file in enumerate(self.files):
            self._connect(file, addresses, number)
        for number, file in enumerate(self.files):
            for section in file.sections.values():
                self._relocate(contents, section, number, addresses[number], code)
        symbols = {
            name: int(addresses[number][file.defined[name]])
            for number, file in enumerate(self.files)
            for name in file.functions
        }
        for (number, symbol), slot in self.slots.items():
            self.pointers.append((slot, int(addresses[number][symbol])))
        imports = {name: self.table + WORD * number for number, name in enumerate(self.imports)}
        return Image(self.machine, contents.tobytes(), code, data - code, symbols, imports, tuple(self.pointers))

    def _count_slots(self) -> None:
        """Words of the table for symbols of the image whose addresses are read from there."""
        for number, each in enumerate(self.files):
            outside = {symbol for name, symbol in each.undefined.items() if name in self.imports}
            for section in each.sections.values():
                if section.relocations is None:
                    continue
                for kind in set(section.relocations["kind"].tolist()):
                    rule = self.rules.get(kind)
                    if rule is None:
                        raise Unlinkable(f"object: a relocation of the unknown type {kind}")
                    if rule.wanted is not Wanted.SLOT:
                        continue
                    used = section.relocations["symbol"][section.relocations["kind"] == kind]
                    for symbol in set(used.tolist()) - outside:
                        slot = self.table + WORD * (len(self.imports) + len(self.slots))
                        self.slots.setdefault((number, symbol), slot)

    def _addresses(self, file: ObjectFile) -> Array:
        """Where each symbol is in the image; -1 for those that are not."""
        begins = np.full(int(file.section_of.max(initial=0)) + 1, -1, np.int64)
        sizes = np.zeros_like(begins)
        for number, section in file.sections.items():
            if number < len(begins):
                begins[number], sizes[number] = section.offset, section.size
        begin, value = begins[file.section_of], file.value_of
        return np.where((begin >= 0) & (value >= 0) & (value <= sizes[file.section_of]), begin + value, -1)

    def _connect(self, file: ObjectFile, addresses: list[Array], number: int) -> None:
        """Give symbols the places that other objects have for them."""
        for name, symbol in file.undefined.items():
            owner = self.owners.get(name)
            if owner is not None:
                addresses[number][symbol] = addresses[owner][self.files[owner].defined[name]]

    def _relocate(self, contents: Array, section: Section, number: int, addresses: Array, code: int) -> None:
        """Do the relocations of a section."""
        if section.relocations is None:
            return
        kinds, file = section.relocations["kind"], self.files[number]
        for kind in set(kinds.tolist()):
            rule = self.rules[kind]
            rows = section.relocations[kinds == kind]
            offsets = rows["offset"]
            if rule.size > section.size or (offsets > section.size - rule.size).any():
                raise Unlinkable("object: a relocation outside of its section")
            symbols, addends = rows["symbol"], rows["addend"]
            if (np.abs(addends) > LARGEST).any():
                raise Unlinkable("object: a relocation far from its symbol")
            found = self._wanted(rule.wanted, file, number, symbols, addresses)
            if (found < 0).any():
                raise Unlinkable("object: a relocation without a place")
            places, targets = offsets.astype(np.int64) + section.offset, found + addends
            if rule.wanted is Wanted.POINTER:
                if section.offset < code:
                    raise Unlinkable("object: an address inside of code")
                self.pointers.extend(zip(places.tolist(), targets.tolist()))
            rule.write(contents, places, targets, self.table)

    def _wanted(self, wanted: Wanted, file: ObjectFile, number: int, symbols: Array, addresses: Array) -> Array:
        """The addresses that relocations name; -1 for none."""
        if wanted is Wanted.TABLE:
            return np.full(len(symbols), self.table, np.int64)
        if wanted in (Wanted.CALL, Wanted.SLOT):
            addresses = addresses.copy()
            step, begin = (
                (self.module.JUMP_BYTES, self.jumps) if wanted is Wanted.CALL else (WORD, self.table)
            )  # of imports
            if wanted is Wanted.SLOT:
                for (owner, symbol), slot in self.slots.items():
                    if owner == number:
                        addresses[symbol] = slot
            for position, name in enumerate(self.imports):
                if name in file.undefined:
                    addresses[file.undefined[name]] = begin + step * position
        return addresses[symbols]


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def _place(sections: list[Section], begin: int, least: int = 1) -> int:
    """Put sections one after the other; says where they end."""
    for each in sections:
        each.offset = _up(begin, max(each.align, least))
        begin = each.offset + each.size
        if begin > LARGEST:
            raise Unlinkable(f"link: {begin} bytes")
    return begin
