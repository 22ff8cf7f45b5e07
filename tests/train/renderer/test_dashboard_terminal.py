"""The dashboard in a real terminal: tmux is the terminal, and a scripted training runs in it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("textual")
if shutil.which("tmux") is None:
    pytest.skip("tmux is not installed", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = Path(__file__).with_name("scripted.py")


class Terminal:
    """A terminal of our own with a shell in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._name = f"burn-{uuid.uuid4().hex[:8]}"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "env PS1='prompt> ' sh")
        self.wait(lambda text: "prompt>" in text)

    def tmux(self, *arguments: str) -> str:
        command = ["tmux", "-L", self._name, *arguments]
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def wait(self, ready: Callable[[str], bool], seconds: float = 60) -> str:
        """The screen, once it is as told."""
        end = time.monotonic() + seconds
        while not ready(text := self.screen()):
            assert time.monotonic() < end, f"the screen never came to it:\n{text}"
            time.sleep(0.05)
        return text

    def train(self, *arguments: str) -> None:
        """Start a training and wait for the dashboard."""
        self.keys("stty -a > before", "Enter")
        self.keys(f"PYTHONPATH={ROOT} {sys.executable} {SCRIPT} {' '.join(arguments)} & echo $! > pid; fg", "Enter")
        self.wait(lambda text: "─ Plots ─" in text and "Mode      " in text)

    def settled(self) -> str:
        """The screen after the training, when the shell has the terminal back as it was."""
        text = self.wait(lambda text: text.rstrip().endswith("prompt>") and "─ Plots ─" not in text)
        self.keys("stty -a > after", "Enter", "echo typed", "Enter")
        self.wait(lambda text: text.count("typed") == 2)  # the command and what it prints
        before, after = ((self.folder / name).read_text().partition("\n")[2] for name in ("before", "after"))
        assert before == after
        return text

    def close(self) -> None:
        self.tmux("kill-server")


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("ENV", "")
    monkeypatch.setenv("TERM", "xterm-256color")
    found = Terminal(tmp_path)
    found.keys(f"cd {tmp_path}; clear", "Enter")
    found.wait(lambda text: text.strip() == "prompt>")
    yield found
    found.close()


def test_keys_switch_and_q_s_stops_the_training(terminal: Terminal) -> None:
    terminal.train("dashboard", "30", "0.02")
    text = terminal.wait(lambda text: "Valid " in text and "a stray warning" in text)
    for title in ("Controls", "Metrics", "Status", "Plots", "Log", "Progress"):
        assert f"─ {title} " in text
    assert "Loss │ Accuracy │ Learning Rate" in text
    assert "● Full history" in text
    terminal.keys("Right", "Down")
    terminal.wait(lambda text: "● Recent history" in text and "0.50 ┤" not in text)
    terminal.tmux("resize-window", "-x", "110", "-y", "35")
    terminal.wait(lambda text: "╮" in text.splitlines()[0][105:] and "╯" in text.splitlines()[34][105:])
    terminal.tmux("resize-window", "-x", "80", "-y", "24")
    terminal.keys("q")
    terminal.wait(lambda text: "━ Quit ━" in text)
    terminal.keys("s")
    text = terminal.settled()
    assert "a stray print\n" in text
    assert "a stray warning" in text.replace("\n", "")  # the line begins with a path, and may be broken anywhere
    assert "==== the summary ====\nafter the training, reason: asked for in the dashboard\n" in text


def test_q_k_raises_keyboard_interrupt_and_an_error_is_seen(terminal: Terminal) -> None:
    terminal.train("dashboard", "30", "0.02")
    terminal.keys("q")
    terminal.wait(lambda text: "━ Quit ━" in text)
    terminal.keys("k")
    assert "\nKeyboardInterrupt\n" in terminal.settled()
    terminal.keys("clear", "Enter")
    terminal.train("dashboard", "30", "0.02", "fail")
    assert "\nRuntimeError: the batch was bad\n" in terminal.settled()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_terminal_is_restored_when_the_training_is_killed(terminal: Terminal, number: int) -> None:
    terminal.train("dashboard", "30", "0.02")
    os.kill(int((terminal.folder / "pid").read_text()), number)
    terminal.wait(lambda text: "─ Plots ─" not in text)
    terminal.keys("", "Enter")
    terminal.settled()


def test_it_stays_open_after_the_training_when_asked(terminal: Terminal) -> None:
    terminal.train("dashboard", "1", "0.02", "persist")
    terminal.wait(lambda text: "━ Finished ━" in text and "==== the summary ====" in text)
    terminal.keys("q")
    assert "==== the summary ====\nafter the training" in terminal.settled()
