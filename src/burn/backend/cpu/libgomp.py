"""Finding libgomp, an OpenMP runtime.

Two OpenMP runtimes in one process keep two teams that fight for the cores, so the copy to use is the
one whose name is `libgomp.so.1`. The loader gives out a copy of that name
that is already mapped (PyTorch's wheel brings one) instead of opening a second file. Copies that a
wheel renamed (`libgomp-a34b3233.so.1`) serve nobody else; they are used where there is nothing better.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

NAME = "libgomp.so.1"

SPIN_COUNT = 100_000
"""How often an idle worker looks for work before it sleeps: one to two milliseconds.

libgomp's own number is 300,000, three times that, taken after every plan from whatever runs then: data
loading, Python, another process. Sleeping at once (OMP_WAIT_POLICY=passive) makes every kernel wait
for the system's scheduler, 45 microseconds on an idle core and milliseconds on a busy one. This many
looks bridge the gap between two steps and the Python between two plans. OMP_WAIT_POLICY or
GOMP_SPINCOUNT set by the user win, and a libgomp that somebody else loaded first keeps its setting.
"""


def mapped() -> list[str]:
    """The paths of every libgomp in this process, those of the plain name first."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
            paths = {line.split(maxsplit=5)[5].rstrip("\n") for line in file if "libgomp" in line}
    except (OSError, IndexError):
        return []
    found = [path for path in paths if os.path.basename(path).startswith("libgomp") and ".so" in path]
    return sorted(found, key=lambda path: (not os.path.basename(path).startswith("libgomp.so"), path))


def installed() -> list[str]:
    """Copies that other packages brought along."""
    found: list[Path] = []
    for folder in {sysconfig.get_path("platlib"), sysconfig.get_path("purelib")}:
        for pattern in ("*/lib/libgomp*.so*", "*.libs/libgomp*.so*"):
            found += Path(folder).glob(pattern)
    return sorted(map(str, found), key=lambda path: (not os.path.basename(path).startswith(NAME), path))


def candidates() -> list[str]:
    """What to try, best first."""
    now = mapped()
    plain = [path for path in now if os.path.basename(path).startswith("libgomp.so")]
    return [*plain, NAME, *(path for path in now if path not in plain), *installed()]


@contextlib.contextmanager
def _bounded_spinning() -> Iterator[None]:
    """libgomp reads its settings when it is loaded; what we set for it is not left to child processes."""
    if "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ:
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = str(SPIN_COUNT)
    try:
        yield
    finally:
        os.environ.pop("GOMP_SPINCOUNT", None)


@dataclass(frozen=True)
class Libgomp:
    """A loaded libgomp and the addresses of the functions that a runner needs."""

    path: str
    addresses: dict[str, int] = field(repr=False)
    library: ctypes.CDLL = field(repr=False)

    def forbid_teams(self) -> None:
        """Make every parallel region of the calling thread run on that thread alone, for good."""
        self.library.omp_set_max_active_levels(0)


def _open(name: str) -> Libgomp | None:
    try:
        library = ctypes.CDLL(name)
        wanted = (
            "GOMP_parallel omp_get_thread_num omp_get_num_threads omp_get_max_threads omp_set_num_threads "
            "omp_set_max_active_levels"
        ).split()
        addresses = {each: ctypes.cast(getattr(library, each), ctypes.c_void_p).value or 0 for each in wanted}
    except (OSError, AttributeError):
        return None
    path = name if os.path.isabs(name) else next(iter(mapped()), name)
    return Libgomp(path, addresses, library)


def load() -> Libgomp | None:
    """The libgomp of this process, loaded if need be; None where there is none."""
    with _bounded_spinning():
        return next(filter(None, map(_open, candidates())), None)
