"""How a thread waits, as LLVM IR: it looks for a while, then sleeps until it is called.

The next kernel of a plan usually comes within microseconds, and waking a thread takes tens of them, so looking pays on
an idle machine. On a busy one it takes the time of whoever would compute, our own threads among them, and a thread that
has used up its time by looking is not there when work comes. `resting_code.py` finds out which of the two it is.

    nap(word, expected, team)   sleep, unless the word is another by now; what wakes for no reason looks again
    rouse(word, team)           wake who sleeps on the word, after it was changed

Where the system has no futex, one lock and one condition variable serve the whole team.
"""

from __future__ import annotations

import platform
import sys

_PAUSE = {"x86_64": 'call void asm sideeffect "pause", ""()', "aarch64": 'call void asm sideeffect "isb", ""()'}
_PAUSE["AMD64"], _PAUSE["arm64"] = _PAUSE["x86_64"], _PAUSE["aarch64"]

_CLOCK = {
    "x86_64": "call i64 @llvm.readcyclecounter()",
    "aarch64": 'call i64 asm sideeffect "mrs $0, cntvct_el0", "=r"()',
}
_CLOCK["AMD64"], _CLOCK["arm64"] = _CLOCK["x86_64"], _CLOCK["aarch64"]

_FUTEX_NUMBERS = {"x86_64": 202, "aarch64": 98}

_FUTEX = """
declare i64 @syscall(i64, ...)

define internal void @nap(ptr %word, i32 %expected, ptr %team) nounwind {
  %answer = call i64 (i64, ...) @syscall(i64 NUMBER, ptr %word, i32 128, i32 %expected, ptr null, ptr null, i32 0)
  ret void
}

define internal void @rouse(ptr %word, ptr %team) nounwind {
  %answer = call i64 (i64, ...) @syscall(i64 NUMBER, ptr %word, i32 129, i32 1, ptr null, ptr null, i32 0)
  ret void
}
"""

_CONDITION = """
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

define internal void @nap(ptr %word, i32 %expected, ptr %team) nounwind {
entry:
  %lockp = getelementptr %Team, ptr %team, i64 0, i32 2
  %lock = load ptr, ptr %lockp
  %calledp = getelementptr %Team, ptr %team, i64 0, i32 3
  %called = load ptr, ptr %calledp
  %locked = call i32 @pthread_mutex_lock(ptr %lock)
  br label %check
check:
  %now = load atomic i32, ptr %word seq_cst, align 4
  %still = icmp eq i32 %now, %expected
  br i1 %still, label %sleep, label %leave
sleep:
  %woken = call i32 @pthread_cond_wait(ptr %called, ptr %lock)
  br label %leave
leave:
  %unlocked = call i32 @pthread_mutex_unlock(ptr %lock)
  ret void
}

define internal void @rouse(ptr %word, ptr %team) nounwind {
  %lockp = getelementptr %Team, ptr %team, i64 0, i32 2
  %lock = load ptr, ptr %lockp
  %calledp = getelementptr %Team, ptr %team, i64 0, i32 3
  %called = load ptr, ptr %calledp
  %locked = call i32 @pthread_mutex_lock(ptr %lock)
  %told = call i32 @pthread_cond_broadcast(ptr %called)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %lock)
  ret void
}
"""


def has_futex() -> bool:
    """Whether this system has the calls by which a thread sleeps on a word of memory."""
    return sys.platform == "linux" and sys.maxsize > 2**32 and platform.machine() in _FUTEX_NUMBERS


def waiting_code(futex: bool) -> str:
    """`nap` and `rouse` for this system."""
    number = str(_FUTEX_NUMBERS.get(platform.machine(), 0))
    return _FUTEX.replace("NUMBER", number) if futex else _CONDITION


def clock() -> str:
    """The instruction that reads a clock; 0 where none is known, and then nothing is ever late."""
    return _CLOCK.get(platform.machine(), "add i64 0, 0")


def pause() -> str:
    """The instruction that tells the processor that this thread only looks."""
    return _PAUSE.get(platform.machine(), "")
