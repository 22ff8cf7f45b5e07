"""The instrument that ends trainings at random moments and compares what they leave with an undisturbed one.

    python -m tests.train.killing --kills 50 --seed 0

A training is started again and again. Each time it ends in one of three ways (SIGKILL, SIGINT, `q` in the dashboard
on a terminal) at a random time, or at an exact moment: after a batch of training or validation, at the border of
epochs, before and after a checkpoint's file gets its name, with half of a file written, with half a line in a log. When
it has ended often enough it runs to its end, and everything it left is compared bit for bit.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import random
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MOMENTS = ("time", "train", "valid", "epoch start", "epoch end", "replace", "replaced", "half file", "log", "board")
SIGNALS = {"kill": signal.SIGKILL, "int": signal.SIGINT}


# In the process that ends


def end_oneself(how: str, moment: str, count: int) -> list[Any]:
    """Arrange for a signal at the `count`-th time that a moment comes; gives callbacks for the training."""
    import pathlib

    from burn.record import files
    from burn.train import Callback
    from burn.train.logger.tensorboard import TensorBoardLogger

    left = count

    def now() -> bool:
        nonlocal left
        left -= 1
        return left == 0

    def strike() -> None:
        os.kill(os.getpid(), SIGNALS[how])

    class Ends(Callback):
        def on_batch_end(self, context: Any) -> None:
            if moment == "train" and now():
                strike()

        def on_valid_batch_end(self, context: Any) -> None:
            if moment == "valid" and now():
                strike()

        def on_epoch_start(self, context: Any) -> None:
            if moment == "epoch start" and now():
                strike()

        def on_epoch_end(self, context: Any) -> None:
            if moment == "epoch end" and now():
                strike()

    if moment in ("replace", "replaced"):
        replace = os.replace

        def replaced(source: Any, target: Any) -> None:
            here = now()
            if here and moment == "replace":
                strike()
            replace(source, target)
            if here:
                strike()

        files.os.replace = replaced  # type: ignore[attr-defined]
    elif moment == "half file":
        write = files._write

        def half(file: Any, pieces: Any) -> int:
            if not now():
                return write(file, pieces)
            whole = b"".join(bytes(piece) for piece in pieces)
            file.write(whole[: len(whole) // 2])
            file.flush()
            strike()
            return len(whole[: len(whole) // 2]) + write(file, [whole[len(whole) // 2 :]])

        files._write = half
    elif moment == "log":

        class Torn:
            def __init__(self, file: Any) -> None:
                self.file = file

            def __enter__(self) -> Torn:
                return self

            def __exit__(self, *error: Any) -> None:
                self.file.close()

            def write(self, text: str) -> int:
                if now():
                    self.file.write(text[: len(text) // 2])
                    self.file.flush()
                    strike()
                    text = text[len(text) // 2 :]
                return int(self.file.write(text))

            def writelines(self, lines: Any) -> None:
                for line in lines:
                    self.write(line)

        opened = pathlib.Path.open

        def torn(path: Any, mode: str = "r", *more: Any, **named: Any) -> Any:
            file = opened(path, mode, *more, **named)
            return Torn(file) if mode in ("a", "w") else file

        pathlib.Path.open = torn  # type: ignore[method-assign, assignment]
    elif moment == "board":
        flush = TensorBoardLogger.flush

        def board(self: Any) -> None:
            flush(self)
            if now() and how == "kill":
                for file in self._files.values():
                    file.write(b"\x18\0\0\0\0\0\0\0half")
                    file.flush()
            if left == 0:
                strike()

        TensorBoardLogger.flush = board  # type: ignore[method-assign]
    return [Ends()]


# In the process that ends it


def command(folder: Path, initial: Path, options: dict[str, Any]) -> list[str]:
    return [sys.executable, "-m", "tests.train.resumed", str(folder), str(initial), json.dumps(options)]


def run(folder: Path, initial: Path, options: dict[str, Any], how: str, moment: str, chance: random.Random) -> int:
    """Start the training and end it; gives the status of the process."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TERM": "xterm-256color"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT), environment.get("PYTHONPATH", "")])
    if how == "q":
        return press_q(command(folder, initial, {**options, "dashboard": True, "pause": 0.1}), environment, chance)
    if moment != "time":
        most = {"train": 9, "epoch start": 1, "epoch end": 1, "replace": 5, "replaced": 5, "half file": 5, "board": 2}
        options = {**options, "end": [how, moment, chance.randint(1, most.get(moment, 6))]}
    child = subprocess.Popen(
        command(folder, initial, options), cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    child.stdout.readline()
    if moment == "time":
        time.sleep(chance.uniform(0.05, 0.8))
        child.send_signal(SIGNALS[how])
    _, errors = child.communicate(timeout=300)
    if child.returncode not in (0, -signal.SIGKILL, -signal.SIGINT, 130) and b"KeyboardInterrupt" not in errors:
        raise AssertionError(f"the training failed with {child.returncode} ({how}, {moment}):\n{errors.decode()}")
    return child.returncode


def press_q(line: list[str], environment: dict[str, str], chance: random.Random) -> int:
    """Run a program on a terminal of its own and press `q`, then `s` for a stop after the batch, until it ends."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def own_terminal() -> None:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    child = subprocess.Popen(
        line, cwd=ROOT, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=own_terminal
    )
    os.close(theirs)
    shown = bytearray()

    def drain() -> None:
        while True:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:
                return
            shown.extend(data)

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    end = time.monotonic() + 300
    begun = Path(line[3]) / "experiment.log"
    before = begun.stat().st_size if begun.exists() else 0
    while child.poll() is None and (not begun.exists() or begun.stat().st_size == before):
        time.sleep(0.05)
    pause = chance.uniform(0.0, 3.0)
    while child.poll() is None:
        assert time.monotonic() < end, "q did not end the training"
        time.sleep(min(pause, 0.2))
        pause -= 0.2
        if pause <= 0:
            try:
                os.write(ours, b"q")  # asks; `s` stops after the batch
                time.sleep(0.3)
                os.write(ours, b"s")
            except OSError:
                break
            pause = 1.0
    child.wait()
    reader.join(5)
    os.close(ours)
    assert child.returncode == 0, (
        f"the training failed with {child.returncode}:\n{shown.decode(errors='replace')[-3000:]}"
    )
    return child.returncode


def events(folder: Path) -> list[str]:
    """Tag, step and number of all event files as text, in order of writing."""
    from burn.train.logger.tensorboard import records, scalar_of

    paths = sorted(folder.glob("events.*"), key=lambda path: (path.name.split(".")[3], int(path.name.split(".")[-1])))
    found = [scalar_of(each) for path in paths for each in records(path.read_bytes())]
    return [repr(each) for each in found if each is not None]


def left_by(folder: Path) -> dict[str, Any]:
    """Everything a training left that does not depend on the clock."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or name == "experiment.log" or name.startswith("board/"):
            continue
        found[name] = path.read_bytes()
        if name.startswith("checkpoint/state-"):
            state = json.loads(found[name])
            del state["written"]
            found[name] = json.dumps(state)
    for split in ("train", "valid"):
        found[f"board/{split}"] = events(folder / "board" / split)
    return found


def differences(one: Path, other: Path) -> list[str]:
    """The names of what differs between two trainings."""
    first, second = left_by(one), left_by(other)
    return [name for name in sorted({*first, *second}) if first.get(name) != second.get(name)]


def killed(
    kills: int, initial: Path, folder: Path, options: dict[str, Any], chance: random.Random, ways: tuple[str, ...]
) -> Counter[str]:
    """End a training `kills` times, then let it run to its end; gives how it was ended."""
    done: Counter[str] = Counter()
    moments = list(MOMENTS)
    while sum(done.values()) < kills and not (folder / "final.json").exists():
        how = chance.choice(ways)
        moment = "time" if how == "q" else chance.choice(moments)
        run(folder, initial, options, how, moment, chance)
        if not (folder / "final.json").exists():
            done[f"{how}, {moment}" if how != "q" else "q"] += 1
        elif how != "q":
            moments.remove(moment)  # it did not come any more
    if not (folder / "final.json").exists():
        line = command(folder, initial, {**options, "pause": 0.0})
        subprocess.run(line, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return done


VARIANTS: tuple[dict[str, Any], ...] = ({}, {"ema": 0.8}, {"grads_accumulation": 3}, {"mixed_precision": "bf16"})


def main() -> int:
    """Kill as often as asked, in rounds of several kills, and say what differed."""
    from burn import NdArray
    from burn.record import DefaultRecorder
    from tests.train.small import network

    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--kills", type=int, default=50)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--device", default="cpu", choices=["cpu", "ndarray"])
    arguments.add_argument("--ways", nargs="+", default=["kill", "int", "q"])
    arguments.add_argument("--folder", type=Path, default=None)
    given = arguments.parse_args()
    chance, faults, total = random.Random(given.seed), 0, Counter[str]()
    root = Path(given.folder or tempfile.mkdtemp(prefix="burn-kills-"))
    NdArray().seed(1)
    network(NdArray()).save_file(root / "initial", DefaultRecorder())
    rounds = 0
    while sum(total.values()) < given.kills:
        options = {"epochs": 8, "device": given.device, **VARIANTS[rounds % len(VARIANTS)]}
        whole, parts = root / f"whole-{rounds}", root / f"parts-{rounds}"
        subprocess.run(command(whole, root / "initial", options), cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        kills = min(given.kills - sum(total.values()), 10)
        done = killed(kills, root / "initial", parts, {**options, "pause": 0.02}, chance, tuple(given.ways))
        different = differences(whole, parts)
        faults += bool(different)
        total += done
        verdict = f"differs in {', '.join(different)}" if different else "all equal"
        print(f"round {rounds}: {options}, ended {sum(done.values())} times: {verdict}", flush=True)
        rounds += 1
    print(f"{sum(total.values())} ends in {rounds} trainings, {faults} of them differ; the files are in {root}")
    print(*(f"{count:4} {what}" for what, count in sorted(total.items())), sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
