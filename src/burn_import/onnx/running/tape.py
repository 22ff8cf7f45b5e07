"""Recordings as they are played again: segments, steps of the host, and the questions between them.

A recording is a tree. A stretch of it is a list of steps; what is read at its end chooses the stretch that follows:

    segment ── read 16000 ── segment ── result
             └ read 8000 ─── segment ── result

Each step adds what it makes to one list, the slots of a run, in which the inputs of the model come first. An answer
that no recording had is `Unknown`: then the model is evaluated, which adds the missing stretch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

Slots = list[Any]


class Results(Protocol):
    """From the slots at the end of a recording to the results by name."""

    def __call__(self, slots: Slots) -> dict[str, Any]:
        """The results."""

    def is_all_from(self, first: int, count: int) -> bool:
        """Whether the results are so many slots from `first` on, as they are."""


MOST_ANSWERS = 16
"""Answers to one question; one that has more of them is evaluated each time."""
MOST_LEAVES = 64
LONGEST_ANSWER = 4096
"""Bytes of a value that may choose."""


class Unknown(Exception):
    """An answer that nobody has recorded."""


class Changing(Unknown):
    """A question whose answers differ all the time."""


class Segment:
    """A program that runs as a whole: from slots to slots."""

    __slots__ = ("key", "run", "sources")

    def __init__(self, key: Any, run: Callable[[Sequence[Any]], list[Any]], sources: tuple[int, ...]) -> None:
        self.key, self.run, self.sources = key, run, sources

    def __call__(self, slots: Slots) -> None:
        slots += self.run([slots[number] for number in self.sources])


class HostStep:
    """An operation that runs on values: a kernel, where its operands are, and its attributes."""

    __slots__ = ("call", "key", "kernel")

    def __init__(self, key: Any, kernel: Callable[..., Any], call: Callable[[Slots], list[Any]]) -> None:
        self.key, self.kernel, self.call = key, kernel, call

    def __call__(self, slots: Slots) -> None:
        made = self.kernel(*self.call(slots))
        slots.extend(made if isinstance(made, tuple) else (made,))


class Stretch:
    """Steps without a question, and what is asked behind them; or the results, at a leaf."""

    __slots__ = ("answer", "answers", "before", "finish", "is_changing", "question", "steps")

    def __init__(self, before: Stretch | None = None, answer: Any = None) -> None:
        self.before, self.answer = before, answer
        self.steps: list[Segment | HostStep] = []
        self.question: tuple[Any, Callable[[Slots], Any]] | None = None
        self.answers: dict[Any, Stretch] = {}
        self.is_changing = False
        self.finish: Results | None = None


class Tape:
    """Everything recorded for one set of shapes."""

    def __init__(self) -> None:
        self.root = Stretch()
        self.is_plain = False
        """Whether something was met that cannot be played again; then the model is evaluated each time."""
        self._leaves: OrderedDict[Stretch, None] = OrderedDict()

    def play(self, given: Sequence[Any]) -> dict[str, Any]:
        """The results for the inputs of the model."""
        slots, stretch = [*given], self.root
        while True:
            for step in stretch.steps:
                step(slots)
            question = stretch.question
            if question is None:
                if stretch.finish is None:
                    raise Unknown
                if stretch in self._leaves and len(self._leaves) > 1:
                    self._used(stretch)
                return stretch.finish(slots)
            if stretch.is_changing:
                raise Changing
            found = stretch.answers.get(question[1](slots))
            if found is None:
                raise Unknown
            stretch = found

    def whole(self) -> tuple[Segment, Results] | None:
        """The only segment and the results, where the recording is nothing else."""
        root = self.root
        if root.finish is None or root.question is not None or len(root.steps) != 1:
            return None
        step = root.steps[0]
        return (step, root.finish) if isinstance(step, Segment) else None

    def asks_for_shapes(self) -> bool:
        """Whether shapes of values choose how it goes on: those of other inputs would be other ones."""
        waiting = [self.root]
        while waiting:
            stretch = waiting.pop()
            if stretch.question is not None and stretch.question[0][0] == "kinds":
                return True
            waiting += stretch.answers.values()
        return False

    def finished(self, stretch: Stretch, finish: Results) -> None:
        """A recording has come to its end."""
        stretch.finish = finish
        if stretch is self.root:  # nothing can lead elsewhere: no step is ever compared again
            for step in stretch.steps:
                step.key = None
        self._leaves[stretch] = None
        while len(self._leaves) > MOST_LEAVES:
            self._forget(self._leaves.popitem(last=False)[0])

    def _used(self, leaf: Stretch) -> None:
        try:
            self._leaves.move_to_end(leaf)
        except KeyError:  # another thread has just dropped it
            return

    def _forget(self, leaf: Stretch) -> None:
        """Drop a leaf, and what led to it alone."""
        stretch, before = leaf, leaf.before
        while before is not None:
            before.answers.pop(stretch.answer, None)
            if before.answers:
                return
            stretch, before = before, before.before


class Writer:
    """One recording on its way through a tape: steps that are there are found again, others are added."""

    def __init__(self, tape: Tape, inputs: int) -> None:
        self.tape = tape
        self.stretch = tape.root
        self.place = 0
        self.slots = inputs

    def known(self, key: Any) -> Segment | HostStep | None:
        """The step that stands here, if it is the same one."""
        steps = self.stretch.steps
        if self.place >= len(steps):
            return None
        found = steps[self.place]
        if found.key != key:
            self.tape.is_plain = True  # the same answers led to something else
            return None
        return found

    def add(self, step: Segment | HostStep, results: int) -> range:
        """The numbers of the slots that a step fills."""
        if self.place == len(self.stretch.steps) and self.stretch.question is None and self.stretch.finish is None:
            self.stretch.steps.append(step)
        elif self.place >= len(self.stretch.steps) or self.stretch.steps[self.place] is not step:
            self.tape.is_plain = True
        self.place += 1
        self.slots += results
        return range(self.slots - results, self.slots)

    def ask(self, key: Any, question: Callable[[Slots], Any], answer: Any) -> None:
        """What was read here, and what was found."""
        stretch = self.stretch
        if stretch.question is None and stretch.finish is None and self.place == len(stretch.steps):
            stretch.question = (key, question)
        if stretch.question is None or stretch.question[0] != key or self.place != len(stretch.steps):
            self.tape.is_plain = True
            return
        found = stretch.answers.get(answer)
        if found is None:
            found = Stretch(stretch, answer)
            if len(stretch.answers) >= MOST_ANSWERS:
                stretch.is_changing = True
            else:
                stretch.answers[answer] = found
        self.stretch, self.place = found, 0

    def end(self, finish: Results) -> None:
        """The recording has come to its end."""
        if self.stretch.question is not None or self.place != len(self.stretch.steps):
            self.tape.is_plain = True
        elif self.stretch.finish is None:
            self.tape.finished(self.stretch, finish)


def content(number: int) -> Callable[[Slots], Any]:
    """The question for the value in a slot."""

    def asked(slots: Slots) -> Any:
        return slots[number].tobytes()

    return asked


def kinds(first: int, count: int) -> Callable[[Slots], Any]:
    """The question for the shapes of what an operation of the host made."""

    def asked(slots: Slots) -> Any:
        return tuple([(each.shape, each.dtype.str) for each in slots[first : first + count]])

    return asked


def kinds_of(values: Sequence[Any]) -> Any:
    """The answer to `kinds`."""
    return tuple([(np.shape(each), each.dtype.str) for each in values])
