"""How every command begins and ends: `@command("burn")` on its `main`.

A command survives what a shell does to it. The reader of a pipe may go away (`burn env | head -1`), a stream may have
been closed before the start (`>&-`), Ctrl-C may be pressed; each ends it quietly, with the code a shell knows. A
package that is not installed is one line that says how to get it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps

from burn.packages import EXTRAS, missing

Main = Callable[[Sequence[str] | None], int]

PIPE_CLOSED = 141
"""128 and the number of SIGPIPE: what a shell reports for a program whose reader went away."""
INTERRUPTED = 130
"""128 and the number of SIGINT."""


def command(program: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Make a function of arguments to an exit code one that ends as a command does."""

    def decorate(main: Callable[..., int]) -> Callable[..., int]:
        @wraps(main)
        def run(arguments: Sequence[str] | None = None) -> int:
            open_closed_streams()
            try:
                try:
                    code = main(arguments)
                except SystemExit:
                    flush()
                    raise
                except KeyboardInterrupt:
                    code = INTERRUPTED
                except ModuleNotFoundError as error:
                    package = (error.name or "").partition(".")[0]
                    if package not in EXTRAS:
                        raise
                    print(missing(program, package), file=sys.stderr)
                    code = 1
                flush()
                return code
            except OSError as error:
                closed = is_closed_pipe(error)
                if not closed and (error.filename is not None or error.errno not in (errno.ENOSPC, errno.EIO)):
                    raise
                if not closed:
                    print(f"{program}: cannot write its output: {error.strerror}", file=sys.stderr)
                leave_streams()
                return PIPE_CLOSED if closed else 1

        return run

    return decorate


def is_closed_pipe(error: OSError) -> bool:
    """Whether the reader of a pipe is gone; Windows says so with another number."""
    return isinstance(error, BrokenPipeError) or (sys.platform == "win32" and error.errno == errno.EINVAL)


def open_closed_streams() -> None:
    """Point closed standard streams at nothing: a file opened later would take their numbers, and the output."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (stays for the life of the process)


def flush() -> None:
    """Write what is still in the streams, here, where an error can be answered."""
    sys.stdout.flush()
    sys.stderr.flush()


def leave_streams() -> None:
    """Point the streams at nothing, so that what the interpreter writes at its end cannot fail again."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
        with contextlib.suppress(OSError, ValueError):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream.fileno())
            os.close(nothing)
