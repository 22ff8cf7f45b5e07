"""The table of what Python code does inside of a captured function: captured is plain, or runs plainly and says why."""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, Tensor
from tests import capture
from tests.capture.habits import CALLS, HABITS, Habit

for _file in pkgutil.iter_modules(capture.__path__):
    if _file.name.startswith("habits_"):
        importlib.import_module(f"tests.capture.{_file.name}")


def plain(value: Any) -> Any:
    """A result with lists in the place of tensors."""
    if isinstance(value, Tensor):
        return ("tensor", value.tolist())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value if not hasattr(value, "__dict__") else {name: plain(each) for name, each in vars(value).items()}


def history(habit: Habit, capture: bool, notices: list[str]) -> tuple[list[Any], Any]:
    """What nine calls give, and what is seen after each of them."""
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002
    device = Cpu()
    device.seed(7)
    function, between, *more = habit.make()
    seen = more[0] if more and more[0] is not None else lambda: None
    arguments = more[1] if len(more) > 1 else lambda call: ()
    run = burn.compile(function, notice=notices.append) if capture else function
    found = []
    for call in range(CALLS):
        between(call)
        x = burn.tensor([1.0 + call, 2.0], device=device)
        try:
            result = plain(run(x, *arguments(call)))
        except Exception as error:
            result = (type(error).__name__, str(error))
        found.append((result, plain(seen())))
    return found, run


@pytest.mark.parametrize("name", HABITS)
def test_captured_is_plain(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    habit, notices = HABITS[name], []
    expected, _ = history(habit, False, [])
    printed = capsys.readouterr().out
    found, compiled = history(habit, True, notices)
    assert found == expected
    assert capsys.readouterr().out == printed
    if habit.notice:
        assert any(re.search(habit.notice, each) for each in notices), notices
        assert compiled.calls == 0
    if habit.replays:
        assert compiled.calls > 0, notices
