"""A handle that stops a training from elsewhere: a key in the dashboard, a signal, a callback, another thread.

    interrupter = builder.interrupter()
    interrupter.stop("the loss is small enough")

The learner looks after each batch: it finishes the batch, ends the epoch, writes the checkpoint and returns the model.
"""

from __future__ import annotations

from threading import Event


class Interrupter:
    """Asks for a stop, and tells whether one was asked for: from a key, a signal, a callback or another thread.

    The learner finishes the batch, ends the epoch, writes the checkpoint and returns the model.

    >>> from burn.train import Interrupter, LearnerBuilder
    >>> interrupter = Interrupter()
    >>> builder = LearnerBuilder("artifacts").with_interrupter(interrupter)
    >>> interrupter.stop("the loss is small enough")
    >>> interrupter.should_stop(), interrupter.reason
    (True, 'the loss is small enough')
    """

    __slots__ = ("_asked", "_reason", "served")

    def __init__(self) -> None:
        self._asked = Event()
        self._reason = ""
        self.served = False
        """Whether a training has ended because of the request."""

    def stop(self, reason: str = "") -> None:
        """Ask the training to end after the batch that runs now. The first reason is kept."""
        if not self._asked.is_set():
            self._reason = reason
        self._asked.set()

    def should_stop(self) -> bool:
        """Whether a stop was asked for."""
        return self._asked.is_set()

    @property
    def reason(self) -> str:
        """Why, as given to `stop`."""
        return self._reason

    def reset(self) -> None:
        """Forget the request: the next training runs."""
        self._asked.clear()
        self._reason = ""
        self.served = False

    def begin(self) -> None:
        """A training begins: a request that an earlier one has served is over."""
        if self.served:
            self.reset()

    def __repr__(self) -> str:
        return f"Interrupter(stopped={self.should_stop()}, reason={self._reason!r})"
