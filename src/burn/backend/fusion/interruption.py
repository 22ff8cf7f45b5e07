"""Ctrl-C waits for what must not be cut in two: a run that writes over its inputs."""

from __future__ import annotations

import signal
import threading
from typing import Any

try:  # what `signal` wraps: its enums cost twenty times the system's calls
    from _signal import getsignal as _get  # type: ignore[import-not-found, unused-ignore]
    from _signal import signal as _set
except ImportError:  # an interpreter that builds `signal` otherwise
    from signal import getsignal as _get
    from signal import signal as _set
_SIGINT = int(signal.SIGINT)
_MAIN = threading.main_thread().ident


class HeldBack:
    """A block that Ctrl-C does not end: what would have happened happens after it. A second Ctrl-C does not wait."""

    __slots__ = ("before", "given")

    def __enter__(self) -> None:
        self.before: Any = None
        self.given: tuple[int, Any] | None = None
        if threading.get_ident() == _MAIN:  # signals come to the main thread alone
            before = _get(_SIGINT)
            if callable(before):
                _set(_SIGINT, self._note)
                self.before = before

    def _note(self, number: int, frame: Any) -> None:
        if self.given is not None and self.before is not None:
            self.before(number, frame)
        self.given = (number, frame)

    def __exit__(self, *_: object) -> None:
        before = self.before
        if before is None:
            return
        _set(_SIGINT, before)
        if self.given is not None:
            before(*self.given)
