"""Kernels in LLVM IR for tests of the runtime, which must not depend on the kernel compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np

from burn.backend.cpu.native import assemble, load
from burn.backend.cpu.pool import Pool
from burn.backend.cpu.runner import StepArray

SOURCE = """
; slots: the numbers, how many calls were made
define void @count(ptr %slots, i64 %first, i64 %last) nounwind {
entry:
  %numbers = load ptr, ptr %slots
  %callsp = getelementptr ptr, ptr %slots, i64 1
  %calls = load ptr, ptr %callsp
  %before = atomicrmw add ptr %calls, i64 1 seq_cst, align 8
  br label %head
head:
  %i = phi i64 [ %first, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %last
  br i1 %more, label %body, label %done
body:
  %at = getelementptr i32, ptr %numbers, i64 %i
  %old = load i32, ptr %at
  %new = add i32 %old, 1
  store i32 %new, ptr %at
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}

; slots: y, x; y = 2 y + x
define void @twice_plus(ptr %slots, i64 %first, i64 %last) nounwind {
entry:
  %y = load ptr, ptr %slots
  %xp = getelementptr ptr, ptr %slots, i64 1
  %x = load ptr, ptr %xp
  br label %head
head:
  %i = phi i64 [ %first, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %last
  br i1 %more, label %body, label %done
body:
  %ya = getelementptr float, ptr %y, i64 %i
  %xa = getelementptr float, ptr %x, i64 %i
  %yv = load float, ptr %ya
  %xv = load float, ptr %xa
  %double = fmul float %yv, 2.0
  %sum = fadd float %double, %xv
  store float %sum, ptr %ya
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}

; slots: how many are here, how many are awaited; every index waits until so many have come
define void @meet(ptr %slots, i64 %first, i64 %last) nounwind {
entry:
  %here = load ptr, ptr %slots
  %awaitedp = getelementptr i64, ptr %slots, i64 1
  %awaited = load i64, ptr %awaitedp
  br label %head
head:
  %i = phi i64 [ %first, %entry ], [ %next, %met ]
  %more = icmp slt i64 %i, %last
  br i1 %more, label %come, label %done
come:
  %before = atomicrmw add ptr %here, i64 1 seq_cst, align 8
  br label %wait
wait:
  %now = load atomic i64, ptr %here seq_cst, align 8
  %enough = icmp sge i64 %now, %awaited
  %yielded = call i32 @sched_yield()
  br i1 %enough, label %met, label %wait
met:
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}

; slots: numbers, calls, threads inside now, the most that were inside at once, microseconds; what `count` does, slowly
define void @crowd(ptr %slots, i64 %first, i64 %last) nounwind {
entry:
  %nowpp = getelementptr ptr, ptr %slots, i64 2
  %nowp = load ptr, ptr %nowpp
  %mostpp = getelementptr ptr, ptr %slots, i64 3
  %mostp = load ptr, ptr %mostpp
  %timep = getelementptr i64, ptr %slots, i64 4
  %time = load i32, ptr %timep
  %before = atomicrmw add ptr %nowp, i64 1 seq_cst, align 8
  %inside = add i64 %before, 1
  %old = atomicrmw max ptr %mostp, i64 %inside seq_cst, align 8
  call void @count(ptr %slots, i64 %first, i64 %last)
  %lingers = icmp ne i32 %time, 0
  br i1 %lingers, label %linger, label %leave
linger:
  %slept = call i32 @usleep(i32 %time)
  br label %leave
leave:
  %after = atomicrmw sub ptr %nowp, i64 1 seq_cst, align 8
  ret void
}

declare i32 @sched_yield()
declare i32 @usleep(i32)

; slots: a list whose length comes first, and what is appended to it
define void @append(ptr %slots, i64 %first, i64 %last) nounwind {
  %list = load ptr, ptr %slots
  %valuep = getelementptr i64, ptr %slots, i64 1
  %value = load i64, ptr %valuep
  %length = load i64, ptr %list
  %next = add i64 %length, 1
  store i64 %next, ptr %list
  %at = getelementptr i64, ptr %list, i64 %next
  store i64 %value, ptr %at
  ret void
}

; slots: microseconds
define void @sleep(ptr %slots, i64 %first, i64 %last) nounwind {
  %time = load i64, ptr %slots
  %short = trunc i64 %time to i32
  %answer = call i32 @usleep(i32 %short)
  ret void
}
"""


@cache
def addresses() -> dict[str, int]:
    """The address of each kernel by its name."""
    names = ["count", "twice_plus", "append", "sleep", "meet", "crowd"]
    return load(assemble(SOURCE, "tests"), names).addresses


class Counted:
    """A plan whose kernel counts its visits, and how many threads were inside of it at once."""

    def __init__(self, pool: Pool, extent: int = 1000, kernels: int = 1) -> None:
        self.numbers, self.calls = np.zeros(extent, np.int32), np.zeros(3, np.int64)
        self._kernels, calls = kernels, self.calls.ctypes.data
        self._table = np.array([self.numbers.ctypes.data, calls, calls + 8, calls + 16, 0], np.int64)
        self.steps = StepArray(pool)
        for _ in range(kernels):
            self.steps.add_kernel(addresses()["crowd"], self._table.ctypes.data, extent, 1)

    def run(self) -> bool:
        """Run it; whether every index was visited once by each kernel."""
        self.numbers[:] = 0
        self.steps.run()
        return bool((self.numbers == self._kernels).all())

    def most_threads(self, at_least: int = 1) -> int:
        """The most threads that were inside at once, in runs that linger until there are so many."""
        self.calls[:], self._table[4] = 0, 2000
        for _ in range(200):
            assert self.run()
            if self.calls[2] >= at_least:
                break
        self._table[4] = 0
        return int(self.calls[2])


def run_program(program: str, cache: Path | str = "off", timeout: float = 120, **environment: str) -> str:
    """The output of a program in a fresh interpreter, which must succeed in time."""
    cleaned = {name: value for name, value in os.environ.items() if not name.startswith(("BURN_", "OMP_", "GOMP_"))}
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=Path(__file__).resolve().parents[2],
        env={**cleaned, "BURN_CACHE": str(cache), **environment},
    )
    assert result.returncode == 0, f"exit status {result.returncode}\n{result.stdout}\n{result.stderr}"
    assert result.stderr == ""  # LLVM reports features that it does not know here
    return result.stdout
