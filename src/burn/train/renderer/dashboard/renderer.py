"""The renderer that feeds the dashboard: it gathers what the learner tells, and sends it five times a second.

The dashboard runs in a process of its own (see `child.py`), so a frame costs the training nothing but one short
message, written by a thread that may wait where the training must not.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
from typing import Any

from burn.errors import ArgumentError, MissingOperation
from burn.train.progress import TrainingProgress
from burn.train.renderer.dashboard.capture import OutputCapture
from burn.train.renderer.dashboard.feed import Feed
from burn.train.renderer.dashboard.messages import Message, decode, encode, plan_message
from burn.train.renderer.plain import PlainRenderer
from burn.train.renderer.protocol import MetricsRenderer, MetricState, TrainingPlan

INTERVAL = 0.2
PATIENCE = 10.0
RESTORE = "\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?2004l\x1b[?1004l\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h\x1b[0m"


class DashboardRenderer(MetricsRenderer):
    """Shows the training on the terminal: metrics, plots, progress, a log. Needs `textual`.

    With `persist` it stays open after the training until a key closes it. `capture` keeps stray output off the screen:
    it is shown in the log pane, and printed when the dashboard closes.

    >>> from burn.train import LearnerBuilder
    >>> from burn.train.renderer import DashboardRenderer
    >>> builder = LearnerBuilder("artifacts").renderer(DashboardRenderer(persist=True))  # doctest: +SKIP
    """

    def __init__(self, persist: bool = False, capture: bool = True) -> None:
        check_terminal()
        self.persist, self.capture = persist, capture
        self._feed = Feed()
        self._over = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._output: OutputCapture | None = None
        self._threads: list[threading.Thread] = []
        self._to_child = -1
        self._plan: TrainingPlan | None = None
        self._terminal_state: Any = None
        self._killed = False
        self._plain: PlainRenderer | None = None

    # what the learner calls

    def on_train_start(self, plan: TrainingPlan) -> None:
        """Open the dashboard."""
        self.close()
        self._plan = plan
        self._open(plan)
        atexit.register(self.close)

    def update_train(self, state: MetricState) -> None:
        """Gather."""
        self._feed.metric("train", state)

    def update_valid(self, state: MetricState) -> None:
        """Gather."""
        self._feed.metric("valid", state)

    def render_train(self, progress: TrainingProgress) -> None:
        """Gather; the sender takes it with the next frame."""
        self._gather("train", progress)

    def render_valid(self, progress: TrainingProgress) -> None:
        """Gather; the sender takes it with the next frame."""
        self._gather("valid", progress)

    def on_log(self, message: str) -> None:
        """To the log pane."""
        if self._plain is not None:
            self._plain.on_log(message)
            return
        self._feed.log(message)

    def on_train_end(self, summary: Any = None) -> None:
        """Close, give the terminal back, and print what was caught and the summary."""
        self.close("" if summary is None else str(summary))
        if self._killed:
            # A learner may have taken the first interrupt for a wish to stop, and ended in order before the second.
            if sys.exc_info()[0] is None:
                raise KeyboardInterrupt
        elif summary is not None:
            print(summary, flush=True)

    # the process

    def _open(self, plan: TrainingPlan) -> None:
        incoming, self._to_child = os.pipe()
        from_child, outgoing = os.pipe()
        self._output = OutputCapture(self.on_log)
        self._terminal_state = _terminal_state()
        terminal = os.open("/dev/tty", os.O_RDWR)
        mode = "persist" if self.persist else "close"
        command = [sys.executable, "-m", "burn.train.renderer.dashboard.child", str(incoming), str(outgoing), mode]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=terminal,
                stdout=terminal,
                stderr=terminal,
                pass_fds=(incoming, outgoing),
                # These would be believed over the terminal, which can change its size.
                env={name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")},
            )
        finally:
            for descriptor in (terminal, incoming, outgoing):
                os.close(descriptor)
        self._over.clear()
        self._killed, self._plain = False, None
        self._send(plan_message(plan))  # before the threads: nothing may come first
        if self.capture:
            self._output.start()
        self._threads = [
            threading.Thread(target=self._send_frames, name="dashboard-sender", daemon=True),
            threading.Thread(target=self._listen, args=(from_child,), name="dashboard-answers", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def close(self, summary: str = "") -> None:
        """Close the dashboard and restore the terminal, and print `summary`. Closing twice is fine."""
        process, self._process = self._process, None
        if process is None:
            return
        atexit.unregister(self.close)
        self._over.set()
        self._threads[0].join(PATIENCE)
        if self._threads[0].is_alive():  # the dashboard does not read: a signal stopped it
            process.kill()
            self._threads[0].join()
        if message := self._feed.take():
            self._send(message)
        self._send({"kind": "end", "summary": summary})
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(None if self.persist and not self._killed else PATIENCE)
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(self._to_child)
        self._threads[1].join(PATIENCE)
        if self._plain is None:
            self._give_back(process)

    def _give_back(self, process: subprocess.Popen[bytes]) -> None:
        if process.returncode != 0:
            _restore(self._terminal_state)
        if self._output is not None and self.capture:
            self._output.stop()

    # threads

    def _gather(self, split: str, progress: TrainingProgress) -> None:
        if self._plain is not None:
            self._show_plainly(self._plain, split, progress)
            return
        self._feed.batch_done(split, progress)

    def _show_plainly(self, plain: PlainRenderer, split: str, progress: TrainingProgress) -> None:
        for its_split, state in self._feed.take_batch():
            (plain.update_train if its_split == "train" else plain.update_valid)(state)
        (plain.render_train if split == "train" else plain.render_valid)(progress)

    def _send_frames(self) -> None:
        while not self._over.wait(INTERVAL):
            if message := self._feed.take():
                self._send(message)

    def _send(self, message: Message) -> None:
        block = encode(message)
        with contextlib.suppress(OSError):  # the dashboard is gone: the training goes on without
            while block:
                block = block[os.write(self._to_child, block) :]

    def _listen(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb") as stream:
            for message in decode(stream):
                if message["kind"] == "stop" and self.interrupter is not None:
                    self.interrupter.stop("asked for in the dashboard")
                elif message["kind"] == "kill":
                    self._killed = True
                    self._interrupt()
        process = self._process
        if process is not None and not self._over.is_set() and not self._killed:
            self._go_on_without(process)

    def _interrupt(self) -> None:
        """Raise KeyboardInterrupt in the main thread. A learner's first Ctrl-C only asks: then a second one follows."""
        asks_first = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        os.kill(os.getpid(), signal.SIGINT)
        if asks_first and not self._over.wait(0.3):
            os.kill(os.getpid(), signal.SIGINT)

    def _go_on_without(self, process: subprocess.Popen[bytes]) -> None:
        """The dashboard died: give the terminal back and print lines from now on."""
        code = process.wait()
        self._give_back(process)
        plain = PlainRenderer()
        plain.on_log(f"dashboard: its process ended with code {code}; the training goes on, shown in lines")
        if self._plan is not None:
            plain.on_train_start(self._plan)
        self._plain = plain


def check_terminal() -> None:
    """Raise where the dashboard cannot be shown."""
    from importlib.util import find_spec

    if os.name != "posix":
        raise MissingOperation("DashboardRenderer: needs a POSIX terminal; use RichRenderer()")
    if find_spec("textual") is None:
        raise MissingOperation("DashboardRenderer: needs textual; install it with: pip install 'burn-dl[train]'")
    if not is_terminal():
        raise ArgumentError("DashboardRenderer: standard output is no terminal; use PlainRenderer()")


def is_terminal() -> bool:
    """Whether this process can take over a terminal: output goes to one, and it has one that controls it."""
    try:
        if not os.isatty(1):
            return False
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return False
    return True


def _terminal_state() -> Any:
    import termios

    with contextlib.suppress(OSError, termios.error), open("/dev/tty", "rb") as terminal:
        return termios.tcgetattr(terminal)
    return None


def _restore(state: Any) -> None:
    """Undo what a dashboard that died has left: alternate screen, mouse, hidden cursor, raw keys."""
    import termios

    with contextlib.suppress(OSError, termios.error), open("/dev/tty", "wb", buffering=0) as terminal:
        terminal.write(RESTORE.encode())
        if state is not None:
            termios.tcsetattr(terminal, termios.TCSANOW, state)


__all__ = ["DashboardRenderer", "check_terminal", "is_terminal"]
