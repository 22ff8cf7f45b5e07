"""Targets: what lowering may ask, and when."""

from __future__ import annotations

import threading

import pytest

from burn.engine.target import Target, lowering_for, target
from burn.ops import TABLE


def test_a_target_keeps_the_composites_that_it_names_and_no_others() -> None:
    made = Target("made up", kept=frozenset(("softmax",)))
    assert made.keeps(TABLE["softmax"])
    assert not made.keeps(TABLE["log_softmax"])
    assert not Target("made up").keeps(TABLE["softmax"])


def test_the_target_is_that_of_the_innermost_lowering_of_this_thread() -> None:
    outer, inner = Target("outer"), Target("inner")
    elsewhere: list[str] = []

    def ask() -> None:
        try:
            target()
        except RuntimeError as error:
            elsewhere.append(str(error))

    with lowering_for(outer):
        with lowering_for(inner):
            assert target() is inner
        assert target() is outer
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    with pytest.raises(RuntimeError, match="nothing is being lowered"):
        target()
    assert len(elsewhere) == 1
