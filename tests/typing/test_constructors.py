"""Classes made from the arguments of a config tell checkers what their constructors take."""

from __future__ import annotations

import subprocess
import sys

from burn import nn
from tools.typed_constructors import SOURCE, differences, files, stale, written


def test_each_layer_has_the_signatures_of_its_constructor() -> None:
    assert sum(len(kinds) for _, kinds in files()) > 60
    assert differences() == [], "run python tools/typed_constructors.py"


def test_another_signature_is_noticed_and_written_anew() -> None:
    text = (SOURCE / "burn" / "nn" / "linear.py").read_text(encoding="utf-8")
    changed = text.replace("d_output: int,", "d_output: str,")
    assert changed != text
    assert stale(text, [nn.Linear]) == []
    assert stale(changed, [nn.Linear]) == ["burn.nn.linear.Linear"]
    assert stale(written(changed, [nn.Linear]), [nn.Linear]) == []


def test_the_command_tells_that_nothing_is_to_be_written() -> None:
    command = [sys.executable, "tools/typed_constructors.py", "--check"]
    result = subprocess.run(command, cwd=SOURCE.parent, capture_output=True, text=True, check=False)
    assert result.stdout == "all are up to date\n", result.stderr
