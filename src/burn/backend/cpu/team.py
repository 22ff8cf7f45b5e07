"""A team of threads of our own, for systems without libgomp.

The workers are plain POSIX threads that run a loop written in LLVM IR and never touch Python. A
worker waits for the generation number to move: first by looking at it again and again for some
microseconds, since the next kernel of a plan usually comes at once, then asleep on a condition
variable. The caller works too, and waits in the same way for the others to finish.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal

from burn.backend.cpu.native import Loaded, assemble, keep_for_ever, load

SPINS = 10_000
"""How often a thread looks before it sleeps: about 50 to 400 microseconds."""

_LINE = 64
_LOCK_BYTES = 256
"""More than a mutex or a condition variable takes on any system."""

_PAUSE = {"x86_64": 'call void asm sideeffect "pause", ""()', "aarch64": 'call void asm sideeffect "isb", ""()'}
_PAUSE["AMD64"], _PAUSE["arm64"] = _PAUSE["x86_64"], _PAUSE["aarch64"]

SOURCE = """
; generation, padding, pending, padding, job: function and argument, workers, sleepers, spins, whether the caller
; sleeps, then the lock, the condition `there is work`, the condition `all is done`
%Team = type { i64, [7 x i64], i64, [7 x i64], ptr, ptr, i64, i64, i64, i64, ptr, ptr, ptr }
%Worker = type { ptr, i64, i64 } ; team, number, generation at the time of its birth

declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

define ptr @work(ptr %worker) nounwind {
entry:
  %team = load ptr, ptr %worker
  %numberp = getelementptr %Worker, ptr %worker, i64 0, i32 1
  %number = load i64, ptr %numberp
  %birthp = getelementptr %Worker, ptr %worker, i64 0, i32 2
  %birth = load i64, ptr %birthp
  %pendingp = getelementptr %Team, ptr %team, i64 0, i32 2
  %functionp = getelementptr %Team, ptr %team, i64 0, i32 4
  %jobp = getelementptr %Team, ptr %team, i64 0, i32 5
  %workersp = getelementptr %Team, ptr %team, i64 0, i32 6
  %sleepersp = getelementptr %Team, ptr %team, i64 0, i32 7
  %spinsp = getelementptr %Team, ptr %team, i64 0, i32 8
  %callerp = getelementptr %Team, ptr %team, i64 0, i32 9
  %lockp = getelementptr %Team, ptr %team, i64 0, i32 10
  %lock = load ptr, ptr %lockp
  %wakep = getelementptr %Team, ptr %team, i64 0, i32 11
  %wake = load ptr, ptr %wakep
  %donep = getelementptr %Team, ptr %team, i64 0, i32 12
  %done = load ptr, ptr %donep
  %spins = load i64, ptr %spinsp
  br label %wait
wait:
  %seen = phi i64 [ %birth, %entry ], [ %now, %finished ]
  br label %look
look:
  %looks = phi i64 [ 0, %wait ], [ %looked, %again ]
  %glance = load atomic i64, ptr %team acquire, align 8
  %moved = icmp ne i64 %glance, %seen
  br i1 %moved, label %run, label %again
again:
  PAUSE
  %looked = add i64 %looks, 1
  %patient = icmp slt i64 %looked, %spins
  br i1 %patient, label %look, label %tired
tired:
  %locked = call i32 @pthread_mutex_lock(ptr %lock)
  %sleepers = load i64, ptr %sleepersp
  %more.sleepers = add i64 %sleepers, 1
  store i64 %more.sleepers, ptr %sleepersp
  br label %sleep
sleep:
  %under.lock = load atomic i64, ptr %team acquire, align 8
  %still = icmp eq i64 %under.lock, %seen
  br i1 %still, label %doze, label %awake
doze:
  %waited = call i32 @pthread_cond_wait(ptr %wake, ptr %lock)
  br label %sleep
awake:
  %sleepers.now = load i64, ptr %sleepersp
  %fewer = sub i64 %sleepers.now, 1
  store i64 %fewer, ptr %sleepersp
  %unlocked = call i32 @pthread_mutex_unlock(ptr %lock)
  br label %run
run:
  %now = load atomic i64, ptr %team acquire, align 8
  %function = load ptr, ptr %functionp
  %job = load ptr, ptr %jobp
  %workers = load i64, ptr %workersp
  %threads = add i64 %workers, 1
  call void %function(ptr %job, i64 %number, i64 %threads)
  %left = atomicrmw sub ptr %pendingp, i64 1 acq_rel, align 8
  %last = icmp eq i64 %left, 1
  br i1 %last, label %tell, label %finished
tell:
  %locked.too = call i32 @pthread_mutex_lock(ptr %lock)
  %caller = load i64, ptr %callerp
  %caller.sleeps = icmp ne i64 %caller, 0
  br i1 %caller.sleeps, label %call.caller, label %told
call.caller:
  %called = call i32 @pthread_cond_broadcast(ptr %done)
  br label %told
told:
  %unlocked.too = call i32 @pthread_mutex_unlock(ptr %lock)
  br label %finished
finished:
  br label %wait
}

define void @launch(ptr %team, ptr %function, ptr %job) nounwind {
entry:
  %pendingp = getelementptr %Team, ptr %team, i64 0, i32 2
  %functionp = getelementptr %Team, ptr %team, i64 0, i32 4
  %jobp = getelementptr %Team, ptr %team, i64 0, i32 5
  %workersp = getelementptr %Team, ptr %team, i64 0, i32 6
  %sleepersp = getelementptr %Team, ptr %team, i64 0, i32 7
  %spinsp = getelementptr %Team, ptr %team, i64 0, i32 8
  %callerp = getelementptr %Team, ptr %team, i64 0, i32 9
  %lockp = getelementptr %Team, ptr %team, i64 0, i32 10
  %lock = load ptr, ptr %lockp
  %wakep = getelementptr %Team, ptr %team, i64 0, i32 11
  %wake = load ptr, ptr %wakep
  %donep = getelementptr %Team, ptr %team, i64 0, i32 12
  %done = load ptr, ptr %donep
  %spins = load i64, ptr %spinsp
  %workers = load i64, ptr %workersp
  %threads = add i64 %workers, 1
  store ptr %function, ptr %functionp
  store ptr %job, ptr %jobp
  store atomic i64 %workers, ptr %pendingp release, align 8
  %locked = call i32 @pthread_mutex_lock(ptr %lock)
  %old = atomicrmw add ptr %team, i64 1 release, align 8
  %sleepers = load i64, ptr %sleepersp
  %unlocked = call i32 @pthread_mutex_unlock(ptr %lock)
  %any = icmp ne i64 %sleepers, 0
  br i1 %any, label %rouse, label %own
rouse:
  %roused = call i32 @pthread_cond_broadcast(ptr %wake)
  br label %own
own:
  call void %function(ptr %job, i64 0, i64 %threads)
  br label %look
look:
  %looks = phi i64 [ 0, %own ], [ %looked, %again ]
  %left = load atomic i64, ptr %pendingp acquire, align 8
  %finished = icmp eq i64 %left, 0
  br i1 %finished, label %leave, label %again
again:
  PAUSE
  %looked = add i64 %looks, 1
  %patient = icmp slt i64 %looked, %spins
  br i1 %patient, label %look, label %tired
tired:
  %locked.too = call i32 @pthread_mutex_lock(ptr %lock)
  store i64 1, ptr %callerp
  br label %sleep
sleep:
  %under.lock = load atomic i64, ptr %pendingp acquire, align 8
  %still = icmp ne i64 %under.lock, 0
  br i1 %still, label %doze, label %awake
doze:
  %waited = call i32 @pthread_cond_wait(ptr %done, ptr %lock)
  br label %sleep
awake:
  store i64 0, ptr %callerp
  %unlocked.too = call i32 @pthread_mutex_unlock(ptr %lock)
  br label %leave
leave:
  ret void
}
"""


class _Team(ctypes.Structure):
    _fields_ = (
        ("generation", ctypes.c_int64),
        ("_padding", ctypes.c_int64 * 7),
        ("pending", ctypes.c_int64),
        ("_more_padding", ctypes.c_int64 * 7),
        ("function", ctypes.c_void_p),
        ("job", ctypes.c_void_p),
        ("workers", ctypes.c_int64),
        ("sleepers", ctypes.c_int64),
        ("spins", ctypes.c_int64),
        ("caller_sleeps", ctypes.c_int64),
        ("lock", ctypes.c_void_p),
        ("wake", ctypes.c_void_p),
        ("done", ctypes.c_void_p),
    )


class _Worker(ctypes.Structure):
    _fields_ = (("team", ctypes.c_void_p), ("number", ctypes.c_int64), ("generation", ctypes.c_int64))


def supported() -> bool:
    """Whether this system has POSIX threads."""
    return os.name == "posix"


class Team:
    """Worker threads that live as long as the process. The caller must admit one launch at a time."""

    def __init__(self) -> None:
        pause = _PAUSE.get(platform.machine(), "")
        name = f"team {'pause' if pause else ''}"
        self._loaded: Loaded = load(assemble(SOURCE.replace("PAUSE", pause), name), ["work", "launch"])
        self._system = ctypes.CDLL(None)
        self._memory = ctypes.create_string_buffer(ctypes.sizeof(_Team) + _LINE + 3 * _LOCK_BYTES)
        keep_for_ever(self._memory)
        start = -(-ctypes.addressof(self._memory) // _LINE) * _LINE
        self._team = _Team.from_address(start)
        lock, wake, done = (start + ctypes.sizeof(_Team) + number * _LOCK_BYTES for number in range(3))
        self._team.lock, self._team.wake, self._team.done = lock, wake, done
        self._team.spins = SPINS
        self._system.pthread_mutex_init(ctypes.c_void_p(lock), None)
        self._system.pthread_cond_init(ctypes.c_void_p(wake), None)
        self._system.pthread_cond_init(ctypes.c_void_p(done), None)
        self._workers: list[_Worker] = []

    @property
    def launch(self) -> int:
        """The address of `launch(team, function, job)`."""
        return self._loaded.addresses["launch"]

    @property
    def address(self) -> int:
        """The address of the team."""
        return ctypes.addressof(self._team)

    @property
    def size(self) -> int:
        """The number of threads, with the caller."""
        return len(self._workers) + 1

    def grow(self, threads: int) -> int:
        """Have at least `threads` threads, with the caller; says how many there are. No launch may be under way."""
        # Signals belong to the interpreter's threads: workers inherit a mask that blocks them all.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            while self.size < threads:
                worker = _Worker(self.address, self.size, self._team.generation)
                keep_for_ever(worker)
                handle = ctypes.c_void_p()
                address = ctypes.c_void_p(self._loaded.addresses["work"])
                if self._system.pthread_create(ctypes.byref(handle), None, address, ctypes.byref(worker)) != 0:
                    break
                self._system.pthread_detach(handle)
                self._workers.append(worker)
                self._team.workers = len(self._workers)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return self.size
