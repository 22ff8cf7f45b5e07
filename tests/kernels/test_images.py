"""Objects linked and mapped without LLVM: what they do, what is refused, and that nothing damaged does harm."""

from __future__ import annotations

import ctypes
import functools
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn.cube import CompiledKernel, Kernel, KernelBuilder, KernelError, compile_object, load_object
from burn.cube.images import Image, Unlinkable, is_supported, link, map_image
from burn.cube.images.elf import read
from burn.cube.images.image import AARCH64, PAGE
from burn.cube.targets.llvm import compile as module
from burn.cube.targets.llvm.compile import load_with_llvm
from burn.cube.targets.slots import pack_slots
from burn.dtype import f32

llvm: Any = pytest.importorskip("llvmlite.binding")
on_linux = pytest.mark.skipif(not is_supported(), reason="images are for Linux")

SOURCE = """
@numbers = internal constant [4 x i64] [i64 3, i64 5, i64 7, i64 11]
@counter = global i64 40
@empty = internal global [100 x i64] zeroinitializer
@which = internal constant [2 x ptr] [ptr @one, ptr @two]

declare double @cos(double)
declare ptr @memcpy(ptr, ptr, i64)
declare double @fmod(double, double)

define i64 @one() { ret i64 1 }
define i64 @two() { ret i64 2 }

define i64 @number(i64 %i) {
  %at = getelementptr i64, ptr @numbers, i64 %i
  %value = load i64, ptr %at
  ret i64 %value
}

define i64 @chosen(i64 %i) {
  %at = getelementptr ptr, ptr @which, i64 %i
  %function = load ptr, ptr %at
  %value = call i64 %function()
  ret i64 %value
}

define i64 @count() {
  %old = load i64, ptr @counter
  %new = add i64 %old, 1
  store i64 %new, ptr @counter
  %place = getelementptr i64, ptr @empty, i64 7
  %seen = load i64, ptr %place
  store i64 %new, ptr %place
  %both = add i64 %new, %seen
  ret i64 %both
}

define double @cosine(double %x) {
  %y = call double @cos(double %x)
  %z = call double @fmod(double %y, double 4.0)
  %w = fadd double %z, 0x3FB99999A0000000
  ret double %w
}

define i64 @copied(i64 %x) {
  %from = alloca i64
  %to = alloca i64
  store i64 %x, ptr %from
  %end = call ptr @memcpy(ptr %to, ptr %from, i64 8)
  %y = load i64, ptr %to
  ret i64 %y
}
"""


@functools.cache
def assembled(source: str, triple: str = "", model: str = "default", opt: int = 2) -> bytes:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple) if triple else llvm.Target.from_default_triple()
    machine = target.create_target_machine(opt=opt, reloc="pic", codemodel=model)
    parsed = llvm.parse_assembly(source)
    parsed.verify()
    return bytes(machine.emit_object(parsed))


def double() -> Kernel:
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    count = b.size()
    with b.lane(count) as i:
        b.store(out, i, b.exp(b.load(x, i)) * 2.0)
    return b.finish()


@functools.cache
def kernel_object() -> bytes:
    return compile_object(double())


def run(compiled: CompiledKernel) -> Any:
    x = np.linspace(-3, 3, 101, dtype=np.float32)
    out = np.zeros(101, np.float32)
    compiled(pack_slots(double(), [x, out], [101]), 0, 1)
    return out


@on_linux
@pytest.mark.parametrize("model", ["default", "jitdefault", "small", "large"])
def test_code_constants_variables_and_functions_of_the_system_are_found(model: str) -> None:
    mapped = map_image(link({"number": assembled(SOURCE, model=model)}))
    word, real = ctypes.c_int64, ctypes.c_double
    number = ctypes.CFUNCTYPE(word, word)(mapped.addresses["number"])
    assert [number(i) for i in range(4)] == [3, 5, 7, 11]
    chosen = ctypes.CFUNCTYPE(word, word)(mapped.addresses["chosen"])
    assert [chosen(0), chosen(1)] == [1, 2]
    count = ctypes.CFUNCTYPE(word)(mapped.addresses["count"])
    assert [count(), count()] == [41, 42 + 41]
    cosine = ctypes.CFUNCTYPE(real, real)(mapped.addresses["cosine"])
    assert cosine(1.25) == pytest.approx(np.cos(1.25) + np.float32(0.1), rel=1e-12)
    assert ctypes.CFUNCTYPE(word, word)(mapped.addresses["copied"])(-12) == -12


@on_linux
def test_objects_call_each_other_and_have_names_of_their_own() -> None:
    caller = "declare i64 @one()\ndefine i64 @more() { %x = call i64 @one() %y = add i64 %x, 1 ret i64 %y }"
    image = link({"more": assembled(caller), "number": assembled(SOURCE)})
    mapped = map_image(image)
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(mapped.addresses["more"])() == 2
    with pytest.raises(Unlinkable, match="'more' is defined twice"):
        link({"more": assembled(caller), "other": assembled(caller)})


@on_linux
def test_a_kernel_gives_the_bits_that_it_gives_with_the_loader_of_llvm() -> None:
    expected = run(load_with_llvm({"kernel": kernel_object()})["kernel"])
    np.testing.assert_array_equal(run(load_object(kernel_object())), expected)
    image = Image.from_bytes(link({"kernel": kernel_object()}).to_bytes())
    mapped = map_image(image)
    np.testing.assert_array_equal(run(CompiledKernel(mapped.addresses["kernel"], mapped)), expected)


@on_linux
def test_what_cannot_be_linked_is_left_to_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def noted(contents: Any) -> Any:
        asked.append(list(contents))
        return load_with_llvm(contents)

    def refused(objects: Any) -> Image:
        if "odd" in objects:
            raise Unlinkable("no")
        return link(objects)

    monkeypatch.setattr(module, "load_with_llvm", noted)
    monkeypatch.setattr(module, "link", refused)
    odd, plain = (compile_object(double(), symbol=name) for name in ("odd", "plain"))
    found = module.load_objects({"odd": odd, "plain": plain})
    assert list(found) == ["plain", "odd"]
    assert asked == [["odd"]]
    np.testing.assert_array_equal(run(found["odd"]), run(found["plain"]))


def test_a_name_that_nobody_has_is_refused() -> None:
    with pytest.raises(Unlinkable, match="no function 'other'"):
        link({"other": kernel_object()})
    with pytest.raises(KernelError, match="no function 'other'"):
        load_object(kernel_object(), "other")
    source = "declare void @nobody_has_this()\ndefine void @f() { call void @nobody_has_this() ret void }"
    if is_supported():
        with pytest.raises(Unlinkable, match="no function 'nobody_has_this'"):
            map_image(link({"f": assembled(source)}))


@pytest.mark.parametrize(
    "source",
    [
        "@x = thread_local global i64 1\ndefine i64 @f() { %v = load i64, ptr @x ret i64 %v }",
        "declare extern_weak i64 @gone()\ndefine i1 @f() { %v = icmp eq ptr @gone, null ret i1 %v }",
    ],
)
def test_what_is_not_understood_is_refused(source: str) -> None:
    with pytest.raises(Unlinkable):
        link({"f": assembled(source)})


def test_no_relocation_is_guessed() -> None:
    contents = kernel_object()
    (section,) = [each for each in read(contents).sections.values() if each.relocations is not None]
    begin = contents.index(section.relocations.tobytes())  # type: ignore[union-attr]
    for kind in (3, 5, 10, 11, 19, 1000, 2**31):
        changed = contents[: begin + 8] + struct.pack("<I", kind) + contents[begin + 12 :]
        with pytest.raises(Unlinkable):
            link({"kernel": changed})


@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"])
def test_a_damaged_object_is_refused_or_linked_and_never_does_harm(triple: str) -> None:
    contents = assembled(SOURCE, triple, "small")
    for size in range(0, len(contents), 5):
        with pytest.raises(Unlinkable):
            link({"number": contents[:size]})
    rng = np.random.default_rng(0)
    for place in range(0, len(contents), 2):
        changed = bytearray(contents)
        changed[place] = int(rng.choice([0, 0xFF, 0x80, changed[place] ^ 1, changed[place] ^ 0x40]))
        try:
            image = link({"number": bytes(changed)})
            assert Image.from_bytes(image.to_bytes()) == image
            if triple.startswith("x86") and is_supported():
                map_image(image)
        except (Unlinkable, OSError):
            continue


def test_an_image_goes_to_bytes_and_back_and_nothing_else_does() -> None:
    image = link({"number": assembled(SOURCE, model="large")})
    data = image.to_bytes()
    assert Image.from_bytes(data) == image
    for size in [*range(120), *range(len(data) - 300, len(data))]:
        with pytest.raises(Unlinkable):
            Image.from_bytes(data[:size])
    with pytest.raises(Unlinkable):
        Image.from_bytes(data + b"\0")
    for place in [*range(72), *range(len(data) - 400, len(data))]:
        changed = bytearray(data)
        changed[place] ^= 0x81
        try:
            found = Image.from_bytes(bytes(changed))
        except Unlinkable:
            continue
        assert found.code % PAGE[found.machine] == 0
        assert all(0 <= each < found.code for each in found.symbols.values())


@on_linux
def test_an_image_of_another_machine_is_not_mapped() -> None:
    triple = "aarch64-unknown-linux-gnu" if llvm.get_process_triple().startswith("x86") else "x86_64-unknown-linux-gnu"
    with pytest.raises(Unlinkable, match="made for machine"):
        map_image(link({"number": assembled(SOURCE, triple)}))


@on_linux
def test_memory_is_written_or_run_and_given_back() -> None:
    mapped = map_image(link({"number": assembled(SOURCE)}))
    address = mapped.addresses["number"]

    def rights() -> list[str]:
        found = []
        for line in Path("/proc/self/maps").read_text().splitlines():
            begin, _, rest = line.partition("-")
            end, _, rest = rest.partition(" ")
            if int(begin, 16) <= address < int(end, 16):
                found.append(rest[:4])
        return found

    assert rights() == ["r-xp"]
    del mapped
    assert rights() == []


# 64-bit ARM: what the instructions of an image say, by the manual of the architecture

ARM_SOURCE = (
    SOURCE
    + """
@table = external global [16 x i64]
@byte = internal global i8 17
@half = internal global i16 8738
@word = internal global i32 858993459
@wide = internal global <2 x i64> <i64 81985529216486895, i64 1>
define i64 @far(i64 %i) {
  %at = getelementptr [16 x i64], ptr @table, i64 0, i64 %i
  %x = load i64, ptr %at
  %byte = load i8, ptr @byte
  %half = load i16, ptr @half
  %word = load i32, ptr @word
  %wide = load <2 x i64>, ptr @wide
  %part = extractelement <2 x i64> %wide, i64 1
  %a = zext i8 %byte to i64
  %b = zext i16 %half to i64
  %c = zext i32 %word to i64
  %ab = add i64 %a, %b
  %abc = add i64 %ab, %c
  %all = add i64 %abc, %part
  %y = add i64 %x, %all
  ret i64 %y
}
"""
)


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def arm_targets(contents: bytes, code: int) -> dict[str, set[int]]:
    """Where the branches, addresses and loads of an image lead, one instruction after the other."""
    found: dict[str, set[int]] = {kind: set() for kind in ("call", "address", "load", "jump")}
    pages: dict[int, int] = {}
    for place in range(0, code, 4):
        (word,) = struct.unpack_from("<I", contents, place)
        into, base = word & 31, word >> 5 & 31
        if word >> 26 in (0b100101, 0b000101):  # BL, B
            found["call"].add(place + 4 * signed(word & 0x3FFFFFF, 26))
        elif word & 0x9F000000 == 0x90000000:  # ADRP
            pages[into] = (place & ~0xFFF) + (signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21) << 12)
        elif word & 0xFFC00000 == 0x91000000 and base in pages:  # ADD, 64 bits, immediate
            found["address"].add(pages[base] + (word >> 10 & 0xFFF))
        elif word & 0x3B000000 == 0x39000000 and base in pages:  # LDR and STR with an unsigned offset
            scale = 4 if word >> 26 & 1 and word >> 23 & 1 else word >> 30
            target = pages[base] + ((word >> 10 & 0xFFF) << scale)
            found["jump" if into == base == 16 else "load"].add(target)
    return found


@pytest.mark.parametrize("opt", [0, 2])
def test_instructions_of_arm_reach_what_they_name(opt: int) -> None:
    contents = assembled(ARM_SOURCE, "aarch64-unknown-linux-gnu", "small", opt)
    image = link({"number": contents})
    assert image.machine == AARCH64
    assert {"cos", "memcpy", "fmod"} <= image.imports.keys() <= {"cos", "memcpy", "fmod", "table"}
    found = arm_targets(image.contents, image.code)
    # Functions of the system are called through jumps, and those read the slots of their imports.
    jumps = set()
    for place in range(0, image.code, 4):
        words = struct.unpack_from("<4I", image.contents.ljust(image.code + 16, b"\0"), place)
        if words[0] & 0x9F00001F == 0x90000010 and words[1] & 0xFFC003FF == 0xF9400210 and words[2] == 0xD61F0200:
            jumps.add(place)
    assert len(jumps) == len(image.imports)
    assert found["jump"] == set(image.imports.values())
    assert len(found["call"] & jumps) >= 2
    # The numbers are where some instruction says that they are.
    where = image.contents.index(struct.pack("<4q", 3, 5, 7, 11))
    assert where in found["address"]
    # The address of the variable is in the table, since others may have one of that name.
    counter = image.contents.index(struct.pack("<q", 40), image.code)
    slots = {place for place, target in image.pointers if target == counter}
    assert slots
    assert slots <= found["load"]
    # Each width of access scales its offset.
    reached = found["load"] | found["address"]
    for value in (b"\x11", b"\x22" * 2, b"\x33" * 4, struct.pack("<qq", 81985529216486895, 1)):
        assert image.contents.index(value, image.code) in reached
    tables = [each.relocations for each in read(contents).sections.values() if each.relocations is not None]
    kinds = {kind for each in tables for kind in each["kind"].tolist()}
    assert kinds >= {257, 275, 277, 278, 283, 284, 285, 286, 311, 312}
    # Functions whose addresses are data are pointers to code.
    assert {image.symbols["one"], image.symbols["two"]} <= {target for _, target in image.pointers}


def test_kernels_for_arm_link_and_have_their_constants() -> None:
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    with b.lane(b.size()) as i:
        b.store(out, i, b.erf(b.load(x, i)))
    image = link({"kernel": compile_object(b.finish(), "generic", "+neon,+fp-armv8")})
    assert (image.machine, image.imports, image.variables) == (AARCH64, {}, 0)
    found = arm_targets(image.contents, image.code)
    constants = range(image.code, len(image.contents))
    assert found["load"] | found["address"]
    assert all(each in constants for each in found["load"] | found["address"])
