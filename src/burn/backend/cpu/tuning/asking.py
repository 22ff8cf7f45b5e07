"""Asking: `pick` for lowerings, and `asking` for a plan that notes what was asked while it was made."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from burn.backend.cpu.pool import pool
from burn.backend.cpu.settings import settings
from burn.backend.cpu.tuning.answers import answers
from burn.backend.cpu.tuning.modes import OFF, mode
from burn.backend.cpu.tuning.question import Question


@dataclass
class Asked:
    """The questions of one plan: for each, the default and what was answered. `fixed` answers come before others."""

    accuracy: str
    features: str
    fixed: Mapping[Question, str]
    defaults: dict[Question, str] = field(default_factory=dict)
    answers: dict[Question, str] = field(default_factory=dict)

    def holds(self) -> bool:
        """Whether the same questions would get the same answers now."""
        return all(_answer(each, self.defaults[each], self.fixed) == given for each, given in self.answers.items())


class _Current(threading.local):
    asked: Asked | None = None


_current = _Current()
_NOTHING: Mapping[Question, str] = {}


@contextlib.contextmanager
def asking(accuracy: str, features: str, fixed: Mapping[Question, str] = _NOTHING) -> Iterator[Asked]:
    """Note what is asked in this thread."""
    before, _current.asked = _current.asked, Asked(accuracy, features, fixed)
    try:
        yield _current.asked
    finally:
        _current.asked = before


def pick(family: str, numbers: Sequence[int | str], candidates: Sequence[str], default: str) -> str:
    """The candidate that does a step: what was measured, else the default.

    `numbers` are whatever tells apart cases with different winners; the number of threads, the accuracy and
    the instruction sets of the device are known. Every candidate must be right for them.
    """
    assert default in candidates, f"{family}: the default {default} is no candidate"
    if len(candidates) == 1:
        return default
    asked = _current.asked
    told = settings() if asked is None else asked
    question = Question(family, tuple(numbers), pool().threads, told.accuracy, told.features, tuple(candidates))
    if asked is None:
        return _answer(question, default, _NOTHING)
    asked.defaults[question] = default
    answer = asked.answers[question] = _answer(question, default, asked.fixed)
    return answer


def _answer(question: Question, default: str, fixed: Mapping[Question, str]) -> str:
    if question in fixed:
        return fixed[question]
    if mode() == OFF:
        return default
    return answers().of(question) or default
