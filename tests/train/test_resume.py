"""A training that was ended at any moment goes on, and ends with the same bits as one that was not."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from burn import Cpu, NdArray
from burn.record import DefaultRecorder
from burn.train import Callback, Split
from tests.train.resumed import train
from tests.train.small import network

ROOT = Path(__file__).resolve().parents[2]
FINAL = ("final-model.mpk", "final-optim.mpk", "final-scheduler.mpk")


@pytest.fixture
def initial(tmp_path: Path) -> Path:
    """A file with the first parameters and their ids, which are random otherwise."""
    NdArray().seed(1)
    network(NdArray()).save_file(tmp_path / "initial", DefaultRecorder())
    return tmp_path / "initial"


def assert_equal_files(one: Path, other: Path, names: tuple[str, ...] = FINAL) -> None:
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


@pytest.mark.parametrize("device", [NdArray(), Cpu()], ids=repr)
def test_a_run_in_two_parts_ends_as_one_in_one(device: Any, initial: Path, tmp_path: Path) -> None:
    class Die(Callback):
        def on_batch_end(self, context: Any) -> None:
            if context.epoch == 4 and context.iteration == 3:
                raise RuntimeError("power cut")

    whole = train(tmp_path / "whole", initial, 6, device)
    with pytest.raises(RuntimeError, match="power cut"):
        train(tmp_path / "parts", initial, 6, device, callbacks=[Die()])
    parts = train(tmp_path / "parts", initial, 6, device)
    assert parts.position.epoch == 6
    assert_equal_files(tmp_path / "whole", tmp_path / "parts")
    logs = tuple(
        f"{s}/epoch-{e}/{m}.log" for s in ("train", "valid") for e in range(1, 7) for m in ("Loss", "Accuracy")
    )
    assert_equal_files(tmp_path / "whole", tmp_path / "parts", logs)
    assert parts.store.state(6) == whole.store.state(6)
    kept = [{p.name for p in (tmp_path / f / "checkpoint").iterdir()} for f in ("whole", "parts")]
    assert kept[0] == kept[1]


def test_a_run_that_was_stopped_inside_of_an_epoch_goes_on_there(initial: Path, tmp_path: Path) -> None:
    class Stop(Callback):
        def on_batch_end(self, context: Any) -> None:
            if context.step == 17:
                context.stop("for lunch")

    device = Cpu()
    train(tmp_path / "whole", initial, 4, device)
    stopped = train(tmp_path / "parts", initial, 4, device, callbacks=[Stop()])
    assert (stopped.position.epoch, stopped.position.iteration) == (3, 3)
    train(tmp_path / "parts", initial, 4, device)
    assert_equal_files(tmp_path / "whole", tmp_path / "parts")
    assert_equal_files(tmp_path / "whole", tmp_path / "parts", ("train/epoch-3/Loss.log", "valid/epoch-3/Loss.log"))


@pytest.mark.parametrize("options", [{"ema": 0.8}, {"mixed_precision": "bf16"}, {"grads_accumulation": 2}], ids=str)
def test_averages_precision_and_accumulation_go_on_too(options: Any, initial: Path, tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", initial, 4, Cpu(), **options)
    shutil.copytree(tmp_path / "whole", tmp_path / "again")
    for name in ("checkpoint/state-4.json", *FINAL):
        (tmp_path / "again" / name).unlink()  # as if it had ended while the last checkpoint was written
    resumed = train(tmp_path / "again", initial, 4, Cpu(), **options)
    assert_equal_files(tmp_path / "whole", tmp_path / "again")
    assert resumed.store.mean("Loss", 4, Split.Valid) == whole.store.mean("Loss", 4, Split.Valid)


def kill_loop(kills: int, initial: Path, folder: Path, device: str, epochs: int, seed: int) -> int:
    """Start the training and kill it at random moments, then let it end; gives how often it was killed."""
    chance = random.Random(seed)
    done = 0
    command = [sys.executable, "-m", "tests.train.resumed", str(folder), str(initial), str(epochs), device]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    while True:
        child = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        child.stdout.readline()
        if done < kills and not (folder / FINAL[-1]).exists():
            time.sleep(chance.uniform(0.05, 0.45))
            child.send_signal(signal.SIGKILL)
            child.wait()
            child.stdout.close()
            if (folder / FINAL[-1]).exists():
                return done
            done += 1
            continue
        child.stdout.close()
        assert child.wait() == 0
        return done


def test_a_training_killed_again_and_again_ends_with_the_same_bits(initial: Path, tmp_path: Path) -> None:
    train(tmp_path / "whole", initial, 12, NdArray())
    assert kill_loop(4, initial, tmp_path / "killed", "ndarray", 12, seed=1) >= 1
    assert_equal_files(tmp_path / "whole", tmp_path / "killed")
    left = [path.name for path in (tmp_path / "killed/checkpoint").iterdir() if path.name.startswith(".")]
    assert left == []


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("BURN_TEST_KILLS"), reason="set BURN_TEST_KILLS=50 to kill that often")
def test_a_training_survives_many_kills(initial: Path, tmp_path: Path) -> None:
    kills = int(os.environ["BURN_TEST_KILLS"])
    total = rounds = 0
    train(tmp_path / "whole", initial, 40, Cpu())
    while total < kills:
        folder = tmp_path / f"killed-{rounds}"
        total += kill_loop(kills - total, initial, folder, "cpu", 40, seed=rounds)
        assert_equal_files(tmp_path / "whole", folder)
        rounds += 1
