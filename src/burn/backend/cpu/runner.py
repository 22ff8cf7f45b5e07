"""Step arrays: what a plan becomes before it runs.

A plan is a list of kernels, library calls and copies with all their arguments known. `StepArray`
writes them into one block of memory and runs it in a single native call, which costs Python once and
each step two nanoseconds, and which leaves the interpreter to other threads.

    steps = StepArray()
    steps.add_kernel(kernel_address, slots_address, extent=rows, grain=64, name="gelu")
    steps.add_call(execute, primitive, stream, count, arguments, name="matmul")
    steps.run()
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from burn.backend.cpu.native import KERNEL, STATUS_CALL, VOID_CALL, WORDS, Record, native
from burn.backend.cpu.pool import Pool, pool
from burn.errors import ArgumentError, BurnError

COPY_GRAIN = 1 << 18
"""Bytes below which one thread copies alone: waking a team costs about as much as copying these."""

ARGUMENTS = WORDS - 2


class StepFault(BurnError, RuntimeError):
    """A step that answered with an error; the steps after it did not run."""

    def __init__(self, index: int, status: int, name: str) -> None:
        super().__init__(f"run: step {index} ({name}) failed with status {status}; the steps after it did not run")
        self.index = index
        self.status = status
        self.name = name


class StepArray:
    """The steps of a plan in order. Addresses are integers; `keep` holds what they point to.

    One array may be run by several threads at once as far as the memory that it writes to allows.
    `binding` is the address of a `native.Binding` that is done before the steps of every run.
    """

    def __init__(self, on: Pool | None = None, binding: int = 0) -> None:
        self._binding = binding
        self._pool = pool() if on is None else on
        self._steps: list[tuple[int, ...]] = []
        self._serial: dict[int, tuple[int, ...]] = {}
        self._names: list[str] = []
        self._kept: list[object] = []
        self._team = False
        self._sealed: _Sealed | None = None

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def names(self) -> tuple[str, ...]:
        """What each step was called when it was added."""
        return tuple(self._names)

    # Building

    def keep(self, *values: object) -> None:
        """Hold objects whose memory the steps use."""
        self._kept.extend(values)

    def add_kernel(self, kernel: int, slots: int, extent: int, grain: int = 1, name: str = "kernel") -> int:
        """Run `kernel(slots, first, last)` over parts of `[0, extent)`; gives the step's index.

        With `extent <= grain` one thread runs it whole; never more than `extent / grain` threads, rounded up, share it.
        Where the parts begin and end depends on who is free, so the result must not depend on it.
        """
        if extent < 0 or grain < 1:
            raise ArgumentError(f"add_kernel: extent is {extent} and grain {grain}; write at least 0 and at least 1")
        self._team |= extent > grain
        return self._add(name, (kernel, slots, extent, grain), KERNEL)

    def add_call(
        self,
        function: int,
        *arguments: int,
        name: str = "call",
        checked: bool = True,
        serial: Sequence[int] | None = None,
        team: bool = True,
    ) -> int:
        """Call `function` with up to six words; gives the step's index.

        `checked` functions return a 32-bit status, and one that is not zero stops the plan. `serial`
        are the arguments for runs on one thread: a library object made for a team of two may wait
        for its second thread for ever. `team` tells whether the team is worth waking for this call.
        """
        kind = STATUS_CALL if checked else VOID_CALL
        self._team |= team
        if serial is not None:
            self._serial[len(self._steps)] = _words(name, (function, *serial), kind)
        return self._add(name, (function, *arguments), kind)

    def add_copy(self, destination: int, source: int, size: int, name: str = "copy") -> int:
        """Copy `size` bytes between ranges that do not overlap; gives the step's index."""
        return self._add_bytes(native().copy_bytes, destination, source, size, name)

    def add_fill(self, destination: int, byte: int, size: int, name: str = "fill") -> int:
        """Set `size` bytes to `byte`; gives the step's index."""
        if not 0 <= byte < 256:
            raise ArgumentError(f"add_fill: {byte} is not a byte; write 0 to 255")
        return self._add_bytes(native().fill_bytes, destination, byte, size, name)

    def _add_bytes(self, kernel: int, destination: int, operand: int, size: int, name: str) -> int:
        slots = np.array([destination, operand], np.int64)
        self.keep(slots)
        return self.add_kernel(kernel, slots.ctypes.data, size, COPY_GRAIN, name)

    def _add(self, name: str, words: tuple[int, ...], kind: int) -> int:
        self._steps.append(_words(name, words, kind))
        self._names.append(name)
        self._sealed = None
        return len(self._steps) - 1

    # Running

    def run(self, parallel: bool = True) -> None:
        """Run every step; on the threads of the caller's share where `parallel` says so and a step can use them."""
        sealed = self._sealed or self._seal()
        if parallel and sealed.shared and (threads := self._pool.running()) != 1:
            if sealed.parallel.threads != threads:
                sealed.parallel.threads = threads
            answer = sealed.call(sealed.parallel_address)
        else:
            answer = sealed.call(sealed.serial_address)
        if answer != -1:
            raise self.fault(answer)

    def alone(self) -> tuple[Callable[[int], int], int] | None:
        """A function and its argument that run every step, where none of them can use the team; else None.

        They answer -1, or what `fault` makes an error of, and hold for any number of threads.
        """
        sealed = self._sealed or self._seal()
        return None if sealed.shared else (sealed.call, sealed.serial_address)

    def time_steps(self, repeats: int = 20, parallel: bool = True) -> list[float]:
        """The median seconds of each step, run one by one: where the time of a plan goes."""
        seconds = np.array([self.run_timed(parallel) for _ in range(repeats)])
        return [float(each) for each in np.median(seconds, axis=0)]

    def run_timed(self, parallel: bool = True) -> list[float]:
        """Run every step, one by one; the seconds of each."""
        sealed = self._sealed or self._seal()
        threads = self._pool.running() if parallel else 1
        record = sealed.serial if threads == 1 else sealed.parallel
        seconds = [0.0] * len(self)
        bound = Record(record.context, record.steps, 0, threads, record.binding)
        sealed.call(ctypes.addressof(bound))  # no step, but what is done before the first
        for index in range(len(self)):
            step = record.steps + index * WORDS * 8
            before = time.perf_counter()
            answer = native().run_steps(record.context, step, 1, threads)
            seconds[index] = time.perf_counter() - before
            if answer != -1:
                raise self.fault(answer + index)
        return seconds

    def signatures(self) -> list[tuple[object, ...]]:
        """What each step does, whatever memory it does it in: equal for equal steps of two plans."""
        return [
            (name, step[0], *(step[2:4] if step[-1] == KERNEL else step[1:2]))
            for name, step in zip(self._names, self._steps, strict=True)
        ]

    def fault(self, answer: int) -> StepFault:
        """The error for an answer of native code."""
        index, status = answer & 0xFFFFFFFF, answer >> 32
        return StepFault(index, status, self._names[index])

    def _seal(self) -> _Sealed:
        """Write the steps to memory. Two threads that come here at once write it twice, and either copy serves."""
        sealed = self._sealed = _Sealed(self._pool, self._steps, self._serial, self._team, self._binding)
        return sealed


class _Sealed:
    """Steps in memory, on cache lines, and the arguments of the calls that run them."""

    __slots__ = ("shared", "parallel", "serial", "parallel_address", "serial_address", "call", "_arrays")

    def __init__(
        self,
        on: Pool,
        steps: Sequence[tuple[int, ...]],
        serial: dict[int, tuple[int, ...]],
        shared: bool,
        binding: int,
    ) -> None:
        context, count = ctypes.addressof(on.context()), len(steps)
        on_team = alone = _aligned_words(steps)
        if serial:
            alone = _aligned_words([serial.get(index, step) for index, step in enumerate(steps)])
        self._arrays = (on_team, alone)
        self.parallel = Record(context, on_team.ctypes.data, count, 0, binding or None)
        self.serial = Record(context, alone.ctypes.data, count, 1, binding or None)
        self.parallel_address = ctypes.addressof(self.parallel)
        self.serial_address = ctypes.addressof(self.serial)
        self.call: Callable[[int], int] = native().run_record
        self.shared = shared  # the team is not taken where every step is too small for it


def _words(name: str, words: tuple[int, ...], kind: int) -> tuple[int, ...]:
    if len(words) > ARGUMENTS + 1:
        raise ArgumentError(f"add_call: {name} has {len(words) - 1} arguments; a step holds {ARGUMENTS}")
    return (*words, *(0 for _ in range(ARGUMENTS + 1 - len(words))), kind)


def _aligned_words(steps: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
    """The steps as rows of words that start on a cache line."""
    block = np.empty((len(steps) + 1) * WORDS, np.int64)
    offset = -block.ctypes.data % (WORDS * 8) // 8
    rows = block[offset : offset + len(steps) * WORDS].reshape(len(steps), WORDS)
    if steps:
        rows[:] = steps
    return rows
