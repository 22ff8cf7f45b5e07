"""Asking: `pick` for lowerings, and `asking` for a plan that notes what was asked while it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field

from burn.classes import dataclass
from burn.engine.tuning.answers import Answers
from burn.engine.tuning.modes import OFF, mode
from burn.engine.tuning.question import Question
from burn.scoped import Scoped
from burn.symbolic import typical


@dataclass
class Asked:
    """The questions of one plan: for each, the default and what was answered. `fixed` answers come before `known`."""

    threads: int
    accuracy: str
    features: str
    known: Answers
    fixed: Mapping[Question, str] = field(default_factory=dict)
    defaults: dict[Question, str] = field(default_factory=dict)
    answers: dict[Question, str] = field(default_factory=dict)

    def holds(self) -> bool:
        """Whether the same questions would get the same answers now."""
        return all(self.answer(each, self.defaults[each]) == given for each, given in self.answers.items())

    def answer(self, question: Question, default: str) -> str:
        """What is fixed, else what is known, else the default."""
        if question in self.fixed:
            return self.fixed[question]
        if mode() == OFF:
            return default
        return self.known.of(question) or default


_current: Scoped[Asked | None] = Scoped(None)


def asking(asked: Asked) -> AbstractContextManager[Asked]:
    """Note what is asked in this thread, inside a `with` block."""
    return _current.holds(asked)


def pick(family: str, numbers: Sequence[int | str], candidates: Sequence[str], default: str) -> str:
    """The candidate that does a step: what was measured, else the default, as where no plan is made.

    `numbers` are whatever tells apart cases with different winners; the number of threads, the accuracy and
    the instruction sets of the device are known. Every candidate must be right for them.
    """
    assert default in candidates, f"{family}: the default {default} is no candidate"
    asked = _current.value
    if len(candidates) == 1 or asked is None:
        return default
    numbers = tuple(map(typical, numbers))
    question = Question(family, numbers, asked.threads, asked.accuracy, asked.features, tuple(candidates))
    asked.defaults[question] = default
    answer = asked.answers[question] = asked.answer(question, default)
    return answer
