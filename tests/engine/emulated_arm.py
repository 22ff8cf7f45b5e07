"""Plans for 64-bit ARM, run on an emulator: kernels as object files, and a small program that calls them.

A plan of `Cpu(features="neon")` is lowered and compiled as on such a machine. Its values lie one after the other in a
file; the program maps it, fills the slots of each kernel, calls it over its whole extent and writes the file back.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from burn.backend.cpu.bound import NO_FAULT
from burn.backend.cpu.compiler import object_of
from burn.backend.cpu.plan import Plan
from burn.engine.plan import HostCall

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"

DRIVER = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

%(declarations)s

static char *memory;

static void run(void (*kernel)(void **, int64_t, int64_t), const int64_t (*slots)[2], int count, int64_t extent) {
    int64_t filled[64];
    for (int i = 0; i < count; i++)
        filled[i] = slots[i][0] ? (int64_t)(memory + slots[i][1]) : slots[i][1];
    kernel((void **)filled, 0, extent);
}

int main(int count, char **arguments) {
    FILE *file = fopen(arguments[1], "r+b");
    memory = aligned_alloc(64, %(size)d);
    if (!file || !memory || fread(memory, 1, %(size)d, file) != %(size)d) return 1;
%(calls)s
    rewind(file);
    return fwrite(memory, 1, %(size)d, file) != %(size)d || fclose(file);
}
"""

COLUMNS = 64


@functools.cache
def absent() -> str:
    """What is missing to run ARM's code, or nothing."""
    missing = [name for name in (COMPILER, EMULATOR) if shutil.which(name) is None]
    return f"{' and '.join(missing)} not installed (Debian: gcc-aarch64-linux-gnu, qemu-user)" if missing else ""


class Image:
    """The memory of a run: values by number, each at a multiple of 64."""

    def __init__(self) -> None:
        self.places: dict[Any, int] = {}
        self.contents = bytearray()

    def place(self, number: Any, size: int, contents: bytes = b"") -> int:
        """Where a value lies; it gets its place, and its contents, when it is asked for first."""
        if number not in self.places:
            self.places[number] = len(self.contents)
            self.contents += contents + bytes(-(-max(size, 1) // 64) * 64 + 64 - len(contents))
        return self.places[number]


def run(plan: Plan, inputs: list[Any], scalars: list[Any]) -> list[Any]:
    """The results of a plan, as `Plan.__call__` gives them, computed by ARM's instructions."""
    assert not [work for work in plan.works if isinstance(work, HostCall)], "a step runs on NumPy"
    image, calls, objects = Image(), [], {}
    for number, storage in enumerate(inputs):
        array = np.ascontiguousarray(storage.value)
        image.place(number, array.nbytes, array.tobytes())
    for position, work in enumerate(work for work in plan.works if not isinstance(work, HostCall) and work.extent):
        symbol, contents = object_of(work.kernel, plan.features)
        objects[symbol] = contents
        slots = [_slot(image, plan, argument, scalars, position) for argument in work.arguments]
        assert len(slots) <= COLUMNS
        listed = ", ".join(f"{{{is_address}, {value}LL}}" for is_address, value in slots)
        calls.append(f"    run({symbol}, (const int64_t[][2]){{{listed}}}, {len(slots)}, {work.extent}LL);")
    results = []
    for number in plan.program.outputs:  # all of them have memory of their own
        access = plan.schedule.accesses.get(number)
        assert access is None or access.value == number or number in plan.copied
        results.append((image.place(number, plan.bytes(number)), plan.program.values[number]))
    memory = _emulate(bytes(image.contents), calls, objects)
    return [
        np.frombuffer(memory, value.dtype.numpy, value.shape.num_elements(), start).reshape(value.shape).copy()
        for start, value in results
    ]


def _slot(image: Image, plan: Plan, argument: Any, scalars: list[Any], position: int) -> tuple[int, int]:
    """Whether a slot is an address, and the word in it."""
    if argument.kind == "size":
        return 0, argument.value
    if argument.kind == "scalar":
        return 0, int.from_bytes(argument.dtype.numpy.type(scalars[argument.value]).tobytes(), "little")
    if argument.kind == "status":
        return 1, image.place(("status", position), 16, np.array(NO_FAULT, np.int64).tobytes())
    return 1, image.place(argument.value, plan.bytes(argument.value)) + argument.offset


def _emulate(memory: bytes, calls: list[str], objects: dict[str, bytes]) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for symbol, contents in objects.items():
            (folder / f"{symbol}.o").write_bytes(contents)
        declarations = "\n".join(f"void {symbol}(void **, int64_t, int64_t);" for symbol in objects)
        source = DRIVER % {"declarations": declarations, "size": len(memory), "calls": "\n".join(calls)}
        (folder / "driver.c").write_text(source)
        (folder / "memory").write_bytes(memory)
        files = [str(folder / f"{symbol}.o") for symbol in objects]
        program = str(folder / "program")
        command = [
            COMPILER,
            "-static",
            "-O1",
            "-Wall",
            "-Werror",
            str(folder / "driver.c"),
            *files,
            "-lm",
            "-o",
            program,
        ]
        made = subprocess.run(command, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        ran = subprocess.run([EMULATOR, program, str(folder / "memory")], capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, f"exit status {ran.returncode}\n{ran.stderr}"
        return (folder / "memory").read_bytes()
