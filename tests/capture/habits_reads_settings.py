"""Habits of reading settings of the process, and what can only be seen while it runs."""

# ruff: noqa: E741, RUF059

from __future__ import annotations

import builtins
import contextvars
import gc
import hashlib
import io
import itertools
import logging
import math
import os
import queue
import re
import sys
import threading
import time
import weakref

import numpy as np

import burn
from burn import Cpu, NdArray, Tensor
from burn.device import current_device
from tests.capture.habits import at, habit, nothing


@habit()
def np_errstate():
    def b(c):
        if c == 4:
            np.seterr(divide="raise")
        if c == 8:
            np.seterr(divide="warn")

    def f(x):
        try:
            k = float(np.float64(1.0) / np.float64(0.0))
        except FloatingPointError:
            k = 3.0
        return x * min(k, 9.0)

    return f, b


@habit(notice="numpy\\._core\\._ufunc_config\\.geterr is called")
def np_geterr():
    def b(c):
        if c == 4:
            np.seterr(divide="ignore")
        if c == 8:
            np.seterr(divide="warn")

    return lambda x: x * (2.0 if np.geterr()["divide"] == "warn" else 3.0), b


@habit(notice="contextvars\\.ContextVar\\.get is called")
def np_printoptions():
    a = np.array([1.23456789])
    old = np.get_printoptions()

    def b(c):
        if c == 4:
            np.set_printoptions(precision=2)
        if c == 8:
            np.set_printoptions(**old)

    return lambda x: x * float(len(str(a))), b


@habit(notice="thread\\.lock\\.locked is called")
def lock_locked():
    l = threading.Lock()
    return lambda x: x * (2.0 if l.locked() else 3.0), at(4)(lambda: l.acquire())


@habit()
def sys_argv():
    old = list(sys.argv)

    def b(c):
        if c == 4:
            sys.argv.append("zz")
        if c == 8:
            sys.argv[:] = old

    return lambda x: x * float(len(sys.argv)), b


@habit()
def sys_custom():
    def b(c):
        sys.habit_k = 2.0 if c < 4 else 5.0

    return lambda x: x * sys.habit_k, b


@habit(notice="sys\\.getrecursionlimit is called")
def sys_getrecursionlimit():
    n = sys.getrecursionlimit()

    def b(c):
        if c == 4:
            sys.setrecursionlimit(n + 1)
        if c == 8:
            sys.setrecursionlimit(n)

    return lambda x: x * (2.0 if sys.getrecursionlimit() == n else 3.0), b


@habit(notice="sys\\.getsizeof is called")
def sys_getsizeof():
    l = [1]
    return lambda x: x * float(sys.getsizeof(l)), at(4)(lambda: l.extend(range(50)))


@habit(notice="sys\\.exc_info is called")
def exc_info_state():
    return lambda x: x * (2.0 if sys.exc_info()[0] is None else 3.0), nothing


@habit(notice="fin cannot be looked at: it depends on something else")
def finalize_alive():
    class A:
        pass

    box = [A()]
    fin = weakref.finalize(box[0], lambda: None)
    return lambda x: x * (2.0 if fin.alive else 3.0), at(4)(box.clear)


@habit(notice="gc\\.isenabled is called")
def gc_enabled():
    def b(c):
        if c == 4:
            gc.disable()
        if c == 8:
            gc.enable()

    return lambda x: x * (2.0 if gc.isenabled() else 3.0), b


@habit(notice="f_locals is read in frame_locals_kept\\.<locals>\\.<lambda>")
def frame_locals_kept():
    def gen():
        k = 2.0
        while True:
            k = (yield k) or k

    g = gen()
    next(g)
    return lambda x: x * g.gi_frame.f_locals["k"], at(4)(lambda: g.send(5.0))


@habit()
def monkeypatched_math():
    old = math.sqrt

    def b(c):
        if c == 4:
            math.sqrt = lambda v: 7.0
        if c == 7:
            math.sqrt = old

    return lambda x: x * math.sqrt(4.0), b


@habit()
def monkeypatched_numpy():
    old = np.sqrt

    def b(c):
        if c == 4:
            np.sqrt = lambda v: 7.0
        if c == 7:
            np.sqrt = old

    return lambda x: x * float(np.sqrt(4.0)), b


@habit()
def logging_level_attr():
    log = logging.getLogger("habit.level2")
    log.setLevel(logging.WARNING)

    def f(x):
        return x * 2.0 if log.level <= logging.DEBUG else x * 3.0

    return f, at(4)(lambda: log.setLevel(logging.DEBUG))


@habit()
def threading_event_flag():
    e = threading.Event()
    return lambda x: x * (2.0 if e._flag else 3.0), at(4)(e.set)


@habit(notice="q is a _queue\\.SimpleQueue, which cannot be looked at")
def queue_size():
    q = queue.SimpleQueue()
    q.put(1)
    return lambda x: x * float(q.qsize()), at(4)(lambda: q.put(1))


@habit(notice="ctx is a _contextvars\\.Context, which cannot be looked at")
def contextvar_in_ctx_get():
    v = contextvars.ContextVar("v", default=2.0)
    ctx = contextvars.copy_context()
    return lambda x: x * ctx.get(v, 2.0), at(4)(lambda: ctx.run(v.set, 5.0))


@habit()
def env_data_dict():
    data = os.environ._data
    key = os.environ.encodekey("HABIT_K4")

    def b(c):
        if c == 0:
            os.environ["HABIT_K4"] = "2"
        if c == 4:
            os.environ["HABIT_K4"] = "5"

    return lambda x: x * float(data[key]), b


@habit(notice="time\\.perf_counter is called")
def time_budget():
    end = [1e18]
    clock = time.perf_counter
    return lambda x: x * (2.0 if clock() < end[0] else 3.0), at(4)(lambda: end.__setitem__(0, 0.0))


@habit(notice="b is used: it draws, or remembers calls")
def np_bitgen_raw():
    b = np.random.PCG64(3)
    return lambda x: x * float(b.random_raw() % 7), nothing


@habit(notice="threading\\.RLock is called")
def np_rng_spawn():
    g = np.random.default_rng(3)
    return lambda x: x * float(g.spawn(1)[0].random()), nothing


@habit(notice="it is an iterator, which cannot be looked at")
def re_finditer_kept():
    it = re.finditer(r"\d+", "1 2 3 4 5 6 7 8 9 10 11 12")
    return lambda x: x * float(next(it).group()), nothing


@habit(notice="a is an iterator, which cannot be looked at")
def tee_iter():
    a, b = itertools.tee(range(1, 30))
    return lambda x: x * float(next(a)), nothing


@habit(notice="hsh is a _hashlib\\.HASH, which cannot be looked at")
def hashlib_read():
    hsh = hashlib.sha256()
    return lambda x: x * float(hsh.digest()[0]), at(4)(lambda: hsh.update(b"a"))


@habit(notice="m is a mmap\\.mmap, which cannot be looked at")
def mmap_read():
    import mmap

    m = mmap.mmap(-1, 16)
    m[0] = 2
    return lambda x: x * float(m[0]), at(4)(lambda: m.__setitem__(0, 5))


@habit(notice="s is a .*S, which cannot be looked at")
def ctypes_struct():
    import ctypes

    class S(ctypes.Structure):
        _fields_ = [("k", ctypes.c_float)]

    s = S(2.0)
    return lambda x: x * s.k, at(4)(lambda: setattr(s, "k", 5.0))


@habit(notice="fh is an iterator, which cannot be looked at")
def lines_of_a_file():
    fh = io.StringIO("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n")
    return lambda x: x * float(next(fh)), nothing


@habit()
def default_device_changed():
    old = current_device()

    def between(call):
        if call in (0, 4, 8):
            burn.set_default_device(NdArray() if call == 0 else Cpu() if call == 4 else old)

    return lambda x: x * (2.0 if isinstance(Tensor.ones([2]).device, Cpu) else 3.0), between


@habit()
def monkeypatched_builtin():
    def b(c):
        if c == 4:
            builtins.divmod = lambda *a: (7.0, 0)
        if c == 7:
            builtins.divmod = builtins_divmod

    builtins_divmod = divmod
    return lambda x: x * divmod(2.0, 1.0)[0], b
