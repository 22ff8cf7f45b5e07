"""The dashboard's own process: `python -m burn.train.renderer.dashboard.child IN OUT PERSIST`, with two open pipes.

A process of its own has its own main thread, where Textual wants to be (signals, resizes), takes nothing of the
training's interpreter, and outlives a training that dies without a word: when the pipe ends the terminal is restored.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading

from burn.train.renderer.dashboard.app import Dashboard
from burn.train.renderer.dashboard.messages import decode, encode
from burn.train.renderer.dashboard.state import DashboardState


def main() -> int:
    """Draw until the training ends, or its side of the pipe does."""
    incoming, outgoing, persist = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "persist"
    writer = os.fdopen(outgoing, "wb", buffering=0)

    def answer(kind: str) -> None:
        with contextlib.suppress(OSError):  # the training is gone: the end of the other pipe closes the app
            writer.write(encode({"kind": kind}))

    app = Dashboard(DashboardState(), answer, persist)

    def listen() -> None:
        with os.fdopen(incoming, "rb") as stream:
            for message in decode(stream):
                app.receive(message)
        if not app.state.is_over:
            # The shell may own the terminal by now: setting it must not stop us.
            signal_ignored.wait(5)
            app.call_from_thread(app.exit, "lost")

    signal_ignored = threading.Event()

    def mounted() -> None:
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # one sent to the whole group is the training's to answer
        signal_ignored.set()
        with contextlib.suppress(OSError):
            os.nice(10)  # where cores are few the training goes first
        answer("ready")
        threading.Thread(target=listen, name="dashboard-listener", daemon=True).start()

    app.call_later(mounted)
    app.run()
    return app.return_code or 0


if __name__ == "__main__":
    sys.exit(main())
