"""Every module can be imported where POSIX is not: on Windows, and on macOS without what only Linux has.

The interpreter that imports them finds no module of POSIX and none of the names of `os` and `signal` that other
platforms lack, as the standard library's documentation lists them.
"""

from __future__ import annotations

import json
import os
import pkgutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"

POSIX_MODULES = ["fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty", "_posixshmem"]
KEPT_SIGNALS = {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM"}
LINUX_ONLY = [
    name
    for name in dir(os)
    if name.startswith(
        ("sched_", "SCHED_", "memfd_", "MFD_", "eventfd", "EFD_", "getrandom", "GRND_", "pidfd_", "posix_")
    )
    or name in ("splice", "copy_file_range", "O_TMPFILE", "O_DIRECT", "setns", "getresuid", "getresgid")
]
POSIX_ONLY = """
    fork forkpty openpty register_at_fork geteuid getuid getgid getegid getpgid getpgrp getsid getgroups getloadavg
    getpriority setpriority setuid setgid setsid setpgid killpg nice chown chroot fchown fchmod lchown fchdir mkfifo
    mknod uname sysconf sysconf_names confstr statvfs fstatvfs pread pwrite preadv pwritev readv writev sendfile pipe2
    ctermid ttyname lockf sync fdatasync O_CLOEXEC O_NONBLOCK O_NOFOLLOW O_DIRECTORY O_SYNC wait wait3 wait4 waitid
    WNOHANG WIFEXITED WEXITSTATUS WIFSIGNALED WTERMSIG tcgetpgrp tcsetpgrp
""".split()

PROGRAM = """
import importlib, json, os, signal, sys
modules, removed, signals, names = json.load(sys.stdin)
# What the standard library itself reads at import is loaded before the names are gone: its own parts for other
# platforms would be other modules.
import asyncio, concurrent.futures, ctypes, multiprocessing.pool, multiprocessing.shared_memory, socketserver, sqlite3
import http.server, logging.handlers, subprocess, tempfile, threading, unittest.mock, urllib.request
import numpy, ssl, zipfile
import numpy.random, numpy.linalg, numpy.fft, multiprocessing.popen_spawn_posix, multiprocessing.resource_tracker
for name in json.loads(sys.argv[1]):
    try:
        importlib.import_module(name)
    except ImportError:
        pass
for name in list(sys.modules):
    if name in modules:
        sys.modules[name] = None
for name in modules:
    sys.modules[name] = None
for name in removed:
    if hasattr(os, name):
        delattr(os, name)
for name in signals:
    if hasattr(signal, name):
        delattr(signal, name)
faults = {}
for name in names:
    try:
        importlib.import_module(name)
    except BaseException as error:
        faults[name] = f"{type(error).__name__}: {error}"
print(json.dumps(faults))
"""

OTHERS = ["llvmlite.binding", "ml_dtypes", "msgpack", "orjson", "httptools", "grpc", "google.protobuf", "torch",
          "onnx.backend.base", "rich.live", "textual.app", "textual.widgets", "PIL.Image",
          "polars", "psutil"]  # fmt: skip


def modules() -> list[str]:
    """Every module that is installed, but for those that run when they are imported."""
    found = []
    for package in ("burn", "burn_import", "furnace"):
        found.append(package)
        for each in pkgutil.walk_packages([str(SOURCE / package)], f"{package}.", onerror=lambda name: None):
            if not each.name.endswith("__main__"):
                found.append(each.name)
    return found


def imported_without(hidden: list[str], of_os: list[str], of_signal: list[str], wanted: list[str]) -> dict[str, str]:
    """Which of the wanted modules cannot be imported without these, in a fresh interpreter, and why."""
    given = json.dumps([hidden, of_os, of_signal, wanted])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, json.dumps(OTHERS if len(wanted) > 1 else [])],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.skipif(os.name != "posix", reason="elsewhere these names are missing by themselves")
def test_every_module_can_be_imported_without_posix() -> None:
    assert len(modules()) > 800
    signals = [
        name for name in dir(signal) if name.startswith("SIG") and name not in KEPT_SIGNALS and name[3] != "_"
    ] + ["pthread_sigmask", "pthread_kill", "alarm", "setitimer", "getitimer", "siginterrupt", "sigpending", "sigwait",
         "SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK"]  # fmt: skip
    assert imported_without(POSIX_MODULES, [*LINUX_ONLY, *POSIX_ONLY], signals, modules()) == {}


def test_a_module_that_needs_what_is_not_there_would_be_named() -> None:
    faults = imported_without(["mmap"], [], [], ["burn.record.source"])
    assert faults == {"burn.record.source": "ModuleNotFoundError: import of mmap halted; None in sys.modules"}
