"""Kernels in LLVM IR for tests of the runtime, which must not depend on the kernel compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from burn.backend.cpu.native import assemble, load

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

; Appends its second argument to a list whose length comes first, and answers its third.
define i32 @note(ptr %list, i64 %value, i64 %status, i64 %a, i64 %b, i64 %c) nounwind {
  %length = load i64, ptr %list
  %next = add i64 %length, 1
  store i64 %next, ptr %list
  %at = getelementptr i64, ptr %list, i64 %next
  store i64 %value, ptr %at
  %result = trunc i64 %status to i32
  ret i32 %result
}

define i64 @sum_of_six(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, ptr %out) nounwind {
  %ab = add i64 %a, %b
  %cd = add i64 %c, %d
  %abcd = add i64 %ab, %cd
  %sum = add i64 %abcd, %e
  store i64 %sum, ptr %out
  ret i64 77
}
"""


@cache
def addresses() -> dict[str, int]:
    """The address of each kernel by its name."""
    return load(assemble(SOURCE, "tests"), ["count", "twice_plus", "note", "sum_of_six"]).addresses


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
