"""Ctrl-C during a training: the first one asks for a stop, the second one aborts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from burn.train.interrupter import Interrupter


class StopOnInterrupt:
    """While it is entered, in the main thread, SIGINT goes to an interrupter."""

    def __init__(self, interrupter: Interrupter, notice: Callable[[str], None]) -> None:
        self.interrupter, self.notice = interrupter, notice
        self._before: Any = None
        self._asked = False

    def __enter__(self) -> StopOnInterrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def _handle(self, number: int, frame: Any) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        self.interrupter.stop("Ctrl-C")
        # Not from here: the thread that is interrupted may hold the queue.
        threading.Thread(
            target=self.notice, args=("stopping after this batch; Ctrl-C once more aborts",), daemon=True
        ).start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None
