"""What loading a large record costs beside reading the file: `python -m benches.records`.

A record of 1 GB is written once in each format. Then every reader loads its file and touches every byte, in turns
with plain reading of the same file, whose bytes are touched in the same way; the page cache is warm. The
figure is the median over the blocks of the ratio of neighbours, with its quartiles; `reading` beside itself shows
the noise. Memory is measured in a fresh process for each reader: what is anonymous (`RssAnon`) after
loading and touching, above the start, for each byte of the file, and the peak of everything resident.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from burn.record import (
    Absent,
    BinFileRecorder,
    BurnpackRecorder,
    NamedMpkFileRecorder,
    ParamItem,
    Record,
    SafetensorsRecorder,
)
from burn.tensor import TensorData

Array = np.ndarray[Any, Any]
Loaded = list[Array]
TIME_BUDGET, MEMORY_BUDGET = 1.2, 1.3
OURS = {
    "NamedMpk": NamedMpkFileRecorder,
    "Bin": BinFileRecorder,
    "Safetensors": SafetensorsRecorder,
    "Burnpack": BurnpackRecorder,
}
FILES = {
    "NamedMpk": "model.mpk", "Bin": "model.bin", "Safetensors": "model.safetensors", "Burnpack": "model.bpk",
    "safetensors.numpy": "model.safetensors", "torch.load": "model.pt", "torch.load mmap": "model.pt",
}  # fmt: skip


def layers(megabytes: int) -> dict[str, Any]:
    """A stack of layers: large weights, small biases, and names of all lengths, so that alignments differ."""
    generator = np.random.default_rng(0)
    weight = generator.standard_normal((1024, 2048), np.float32)
    count = max(1, megabytes * (1 << 20) // weight.nbytes)
    made: dict[str, Any] = {}
    for index in range(count):
        bias = TensorData.adopt(np.arange(2048, dtype=np.float32) + index)
        item = {
            "weight": ParamItem("v8vojso07rkks", TensorData.adopt(weight)),
            "bias": ParamItem("obe8t1h6i9h4m", bias),
        }
        made[f"layer{'x' * (index % 7)}{index}"] = item
    return made


def arrays(item: Any) -> Iterator[Array]:
    """Every tensor of a record."""
    if isinstance(item, ParamItem):
        yield item.data.numpy()
    elif isinstance(item, dict):
        for value in item.values():
            yield from arrays(value)


def touch(values: Loaded) -> int:
    """Read every byte: the exclusive or of all words."""
    total = 0
    for each in values:
        total ^= int(np.bitwise_xor.reduce(each.reshape(-1).view(np.uint64)))
    return total


def schema(item: Any) -> Any:
    if isinstance(item, dict):
        return {name: schema(value) for name, value in item.items()}
    return Absent(None) if item is None else ParamItem("", None)


def loader(name: str, folder: str, like: Any) -> Callable[[], Loaded]:
    """A call that loads a file of its kind and gives its arrays."""
    path = os.path.join(folder, FILES[name])
    if name in OURS:
        recorder = OURS[name]()
        return lambda: list(arrays(recorder.load(path).resolve(like)))
    if name == "safetensors.numpy":
        from safetensors.numpy import load_file

        return lambda: list(load_file(path).values())
    import torch

    mapped = name.endswith("mmap")
    return lambda: [each.numpy() for each in torch.load(path, weights_only=True, mmap=mapped).values()]


def plain(path: str) -> Callable[[], Loaded]:
    """Plain reading: the whole file into memory."""

    def read() -> Loaded:
        data = Path(path).read_bytes()
        return [np.frombuffer(data, np.uint64, len(data) // 8)]

    return read


def seconds(call: Callable[[], Loaded]) -> float:
    gc.collect()
    start = time.perf_counter()
    touch(call())
    return time.perf_counter() - start


def write(folder: str, item: dict[str, Any]) -> list[str]:
    """Write every file, and give the readers that there are."""
    for recorder in OURS.values():
        recorder().record(Record(item), os.path.join(folder, "model"))
    names = list(OURS)
    try:
        import safetensors.numpy  # noqa: F401

        names.append("safetensors.numpy")
    except ImportError:
        print("safetensors is not installed: left out")
    try:
        import torch
    except ImportError:
        print("torch is not installed: left out")
        return names
    flat = {
        f"{name}.{part}": torch.from_numpy(each[part].data.numpy().copy())
        for name, each in item.items()
        for part in each
    }
    torch.save(flat, os.path.join(folder, "model.pt"))
    return [*names, "torch.load", "torch.load mmap"]


def status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{field}:"))


def memory_of(name: str, folder: str) -> tuple[int, int]:
    """Anonymous and peak resident bytes of one load in a fresh process."""
    command = [sys.executable, "-m", "benches.records", "--one", name, "--folder", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second = json.loads(done.stdout.splitlines()[-1])
    return first, second


def one(name: str, folder: str) -> None:
    item = json.loads(Path(folder, "names.json").read_text())
    like = {each: {"weight": ParamItem("", None), "bias": ParamItem("", None)} for each in item}
    load = plain(os.path.join(folder, FILES["NamedMpk"])) if name == "reading" else loader(name, folder, like)
    before, resident = status("RssAnon"), status("VmRSS")
    held = load()
    touch(held)
    print(json.dumps([status("RssAnon") - before, status("VmHWM") - resident]))


def measure(folder: str, megabytes: int, blocks: int, wanted: list[str]) -> None:
    item = layers(megabytes)
    names = write(folder, item)
    Path(folder, "names.json").write_text(json.dumps(list(item)))
    like = schema(item)
    del item
    print(f"{'reader':<20} {'seconds':>8} {'reading':>8} {'ratio':>6}  {'quartiles':<14} {'anonymous':>9} {'peak':>6}")
    for name in [each for each in ["reading", *names] if not wanted or each in wanted]:
        path = os.path.join(folder, FILES.get(name, FILES["NamedMpk"]))
        first, second = plain(path) if name == "reading" else loader(name, folder, like), plain(path)
        times: tuple[list[float], list[float]] = ([], [])
        for call in (first, second):
            seconds(call)
        for block in range(blocks):
            for index in (0, 1) if block % 2 else (1, 0):
                times[index].append(seconds((first, second)[index]))
        ratios = [ours / other for ours, other in zip(*times, strict=True)]
        low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
        anonymous, peak = (each / os.path.getsize(path) for each in memory_of(name, folder))
        verdict = ""
        if name in OURS:
            met = median <= TIME_BUDGET and anonymous <= MEMORY_BUDGET
            verdict = "met" if met else "MISSED"
        print(
            f"{name:<20} {statistics.median(times[0]):>8.3f} {statistics.median(times[1]):>8.3f} {median:>6.2f}  "
            f"{f'{low:.2f} to {high:.2f}':<14} {anonymous:>8.2f}x {peak:>5.2f}x  {verdict}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.records", description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1024, help="size of the record (default 1024)")
    parser.add_argument("--blocks", type=int, default=7, help="interleaved blocks, at least 7 (default 7)")
    parser.add_argument("--readers", default="", help="names separated by commas (default: all)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.one, options.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        wanted = [name for name in options.readers.split(",") if name]
        measure(folder, options.megabytes, max(7, options.blocks), wanted)


if __name__ == "__main__":
    main()
