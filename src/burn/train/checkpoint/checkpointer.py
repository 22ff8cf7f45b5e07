"""The checkpointer: writes checkpoints in a thread of its own, one after the other, and reads them back.

Records are taken on the training thread, which costs a copy; encoding and writing wait for nobody. Each file is
written beside its target and renamed, the state last. Old checkpoints are deleted only after the new one is whole, so
a full disk costs the new one and nothing else.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from burn.device import Device
from burn.record import FileRecorder, Record
from burn.train.checkpoint.folder import CheckpointError, CheckpointFolder

Notice = Callable[[str], None]


class Checkpointer:
    """Saves and restores epochs of a training, in a thread of its own.

    `recorder` says how records are written. A learner makes one of `with_file_checkpointer`.

    `name` is one of "model", "optim", "scheduler"; `state` is what else is kept, as JSON has it; `notice` is told
    what people should know.

    >>> from pathlib import Path
    >>> import burn
    >>> from burn import nn
    >>> from burn.record import DefaultRecorder
    >>> from burn.train import Checkpointer
    >>> checkpointer = Checkpointer(Path("checkpoint"), DefaultRecorder())
    >>> checkpointer.save(1, {"model": nn.Linear(2, 3).into_record()}, state={})
    >>> checkpointer.wait()
    >>> checkpointer.has("model", 1)
    True
    >>> checkpointer.close()
    """

    def __init__(self, path: Path, recorder: FileRecorder[Any], notice: Notice = lambda text: None) -> None:
        self.folder = CheckpointFolder(path, recorder.extension)
        self.recorder, self.notice = recorder, notice
        self.failed: str | None = None
        """Why the last save did not succeed."""
        self.error: BaseException | None = None
        """What a callback raised in the thread of this checkpointer."""
        self.on_saved: Callable[[int, Path], None] = lambda epoch, path: None
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    # Writing

    def save(self, epoch: int, records: Mapping[str, Any], state: dict[str, Any], delete: tuple[int, ...] = ()) -> None:
        """Write an epoch, then delete others. Returns at once; `wait` waits."""
        self._later(lambda: self._save(epoch, records, state, delete))

    def delete(self, *epochs: int) -> None:
        """Delete epochs, after what is being written now."""
        self._later(lambda: self._delete(epochs))

    def wait(self) -> None:
        """Wait until everything is on disk."""
        if self._thread is not None:
            done = threading.Event()
            self._work.put(done.set)
            done.wait()

    def close(self) -> None:
        """Wait, and end the thread."""
        if self._thread is not None:
            self._work.put(None)
            self._thread.join()
            self._thread = None

    def _later(self, work: Callable[[], None]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="burn-checkpoints", daemon=False)
            self._thread.start()
        self._work.put(work)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except BaseException as error:  # of a callback; the training thread raises it
                self.error = self.error or error

    def _save(self, epoch: int, records: Mapping[str, Any], state: dict[str, Any], delete: tuple[int, ...]) -> None:
        folder = self.folder
        try:
            folder.begin(epoch)
            for name, record in records.items():
                self.recorder.record(record, folder.file(name, epoch))
            folder.write_state(epoch, list(records), state)
        except Exception as error:
            self.failed = f"checkpoint {epoch} could not be written: {error}"
            kept = folder.complete()
            rest = f"; complete ones: {', '.join(map(str, kept))}" if kept else "; there is no other one"
            self.notice(f"{self.failed}{rest}; the training goes on")
            for name in records:
                folder.file(name, epoch).unlink(missing_ok=True)
            return
        self.failed = None
        self._delete(delete)
        self.on_saved(epoch, folder.path)

    def _delete(self, epochs: tuple[int, ...]) -> None:
        try:
            for epoch in epochs:
                self.folder.delete(epoch)
        except OSError as error:
            self.notice(f"an old checkpoint could not be deleted: {error}")

    # Reading

    def last(self) -> int | None:
        """The epoch that was written last and is whole; those that are not are passed over, with a notice."""
        candidates = self.folder.newest() or self.folder.epochs()[::-1]
        for epoch in candidates:
            fault = self.folder.fault(epoch)
            if fault is None:
                return epoch
            self.notice(f"checkpoint {epoch} is passed over: {fault}")
        return None

    def check(self, epoch: int) -> str | None:
        """What speaks against loading an epoch, as a sentence for people; None if nothing does."""
        if epoch not in self.folder.epochs():
            known = self.folder.complete() or self.folder.epochs()
            rest = f"there are {', '.join(map(str, known))}" if known else "there is none"
            return f"checkpoint({epoch}): not found in {self.folder.path}; {rest}"
        fault = self.folder.fault(epoch)
        return None if fault is None else f"checkpoint({epoch}): {fault}"

    def load(self, name: str, epoch: int, device: Device | None = None) -> Record:
        """A record of an epoch."""
        return self.recorder.load(self.folder.file(name, epoch), device)

    def has(self, name: str, epoch: int) -> bool:
        """Whether an epoch has this record."""
        return self.folder.file(name, epoch).is_file()


__all__ = ["CheckpointError", "Checkpointer"]
