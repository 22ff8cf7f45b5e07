"""What this process knows: answers from disk, loaded when the first question is asked, and those it measured itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from burn.engine.tuning.question import Question
from burn.engine.tuning.store import Store


class Answers:
    """Answers by question. `generation` grows with every new one: plans look whether theirs still hold."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self.generation = 0
        self._open = open_store
        self._store: Store | None = None
        self._known: dict[str, str] = {}
        self._lock = threading.Lock()

    def of(self, question: Question) -> str | None:
        """The answer to a question; None where nobody knows it, or where it is not on offer any more."""
        if self._store is None:
            self._load()
        found = self._known.get(question.title())
        return found if found in question.candidates else None

    def add(self, found: Mapping[Question, str]) -> None:
        """Remember answers, also on disk."""
        if self._store is None:
            self._load()
        texts = {question.title(): answer for question, answer in found.items()}
        with self._lock:
            self._known.update(texts)
            self.generation += 1
        assert self._store is not None
        self._store.add(texts)

    def forget(self) -> None:
        """Drop all answers of this machine, also on disk."""
        self._open().forget()
        self.reload()

    def reload(self) -> None:
        """Forget what this process knows; the next question reads the file again."""
        with self._lock:
            self._store = None
            self._known = {}
            self.generation += 1

    def after_fork(self) -> None:
        """In a child, where whoever held the lock is not there to give it back."""
        self._lock = threading.Lock()

    def _load(self) -> None:
        with self._lock:
            if self._store is None:
                store = self._open()
                self._known = store.load()
                self._store = store
