"""Step arrays: what a plan becomes before it runs.

A plan is a list of kernels with all their arguments known. `StepArray` writes them into one block of memory and runs it
in a single native call, which costs Python once and each step two nanoseconds, and leaves the interpreter to others.

    steps = StepArray()
    steps.add_kernel(kernel_address, slots_address, extent=rows, grain=64, name="gelu")
    steps.run()
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from burn.backend.cpu.native import WORDS, Record, native
from burn.backend.cpu.pool import Pool, pool
from burn.errors import ArgumentError

_LINE = 64
"""Bytes of a cache line."""


class StepArray:
    """The steps of a plan in order. Addresses are integers; `keep` holds what they point to.

    One array may be run by several threads at once as far as the memory that it writes to allows.
    `binding` is the address of a `native.Binding` that is done before the steps of every run.
    """

    def __init__(self, on: Pool | None = None, binding: int = 0) -> None:
        self._binding = binding
        self._pool = pool() if on is None else on
        self._steps: list[tuple[int, ...]] = []
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
        self._steps.append((kernel, slots, extent, grain))
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
            sealed.call(sealed.parallel_address)
        else:
            sealed.call(sealed.serial_address)

    def record(self) -> int:
        """The address of what native code runs all steps from, for the threads that there are now."""
        sealed = self._sealed or self._seal()
        if sealed.shared and (threads := self._pool.running()) != 1:
            sealed.parallel.threads = threads
            return sealed.parallel_address
        return sealed.serial_address

    def alone(self) -> tuple[Callable[[int], None], int] | None:
        """A function and its argument that run every step, where none of them can use the team; else None.

        They hold for any number of threads.
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
            native().run_steps(record.context, step, 1, threads)
            seconds[index] = time.perf_counter() - before
        return seconds

    def signatures(self) -> list[tuple[object, ...]]:
        """What each step does, whatever memory it does it in: equal for equal steps of two plans."""
        return [(name, kernel, *cut) for name, (kernel, _, *cut) in zip(self._names, self._steps, strict=True)]

    def _seal(self) -> _Sealed:
        """Write the steps to memory. Two threads that come here at once write it twice, and either copy serves."""
        sealed = self._sealed = _Sealed(self._pool, self._steps, self._team, self._binding)
        return sealed


class _Sealed:
    """Steps in memory, on cache lines, and the arguments of the calls that run them."""

    __slots__ = ("shared", "parallel", "serial", "parallel_address", "serial_address", "call", "_rows")

    def __init__(self, on: Pool, steps: Sequence[tuple[int, ...]], shared: bool, binding: int) -> None:
        context, self._rows = ctypes.addressof(on.context()), _aligned_words(steps)
        at, count = self._rows.ctypes.data, len(steps)
        self.parallel = Record(context, at, count, 0, binding or None)
        self.serial = Record(context, at, count, 1, binding or None)
        self.parallel_address = ctypes.addressof(self.parallel)
        self.serial_address = ctypes.addressof(self.serial)
        self.call: Callable[[int], None] = native().run_record
        self.shared = shared  # nobody is hired where every step is too small


def _aligned_words(steps: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
    """The steps as rows of words that start on a cache line."""
    block = np.empty(len(steps) * WORDS + _LINE // 8, np.int64)
    offset = -block.ctypes.data % _LINE // 8
    rows = block[offset : offset + len(steps) * WORDS].reshape(len(steps), WORDS)
    if steps:
        rows[:] = steps
    return rows
