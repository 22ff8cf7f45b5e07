"""Ctrl-C in a notebook, tried with a real kernel: the cell ends, and the next one works."""

from __future__ import annotations

import queue
import time
from typing import Any

import pytest

manager = pytest.importorskip("jupyter_client.manager", reason="needs ipykernel")

TRAIN = """
import tempfile, time
import burn
from burn.optim import SgdConfig
from burn.train import LearnerBuilder, NoRenderer, TrainOutput

class Constant(burn.Module):
    weight: burn.Param
    def valid_step(self, batch):
        return ((self.weight - batch) ** 2).sum()
    def train_step(self, batch):
        return TrainOutput(self, self.valid_step(batch).backward(), item=None)

class Endless:
    def __iter__(self):
        print("training", flush=True)
        while True:
            time.sleep(0.001)
            yield burn.tensor([4.0])
    def __len__(self):
        return 1_000_000

builder = LearnerBuilder(tempfile.mkdtemp()).renderer(NoRenderer())
learner = builder.build(Constant(burn.Param.from_data([0.0])), SgdConfig().init(), 0.25)
learner.fit(Endless())
"""
LOOP = """
import burn
x = burn.tensor([[1.0, 2.0], [3.0, 4.0]])
print("training", flush=True)
while True:
    x = (x @ x).tanh()
    x.numpy()
"""


def answered(client: Any, sent: str, until: str | None = None) -> str:
    """What a cell prints, until it says `until` or is done."""
    text, end = "", time.monotonic() + 60
    while time.monotonic() < end:
        try:
            message = client.get_iopub_msg(timeout=1)
        except queue.Empty:
            continue
        if message["parent_header"].get("msg_id") != sent:
            continue
        content = message["content"]
        text += content.get("text", "") + "".join(content.get("traceback", []))
        if until is not None and until in text:
            return text
        if content.get("execution_state") == "idle":
            return text
    raise AssertionError(f"the cell neither ended nor said {until!r}: {text}")


@pytest.mark.filterwarnings("ignore")
def test_an_interrupted_cell_ends_and_the_next_one_works() -> None:
    kernel, client = manager.start_new_kernel(kernel_name="python3")
    try:
        for cell in (TRAIN, LOOP):
            sent = client.execute(cell)
            answered(client, sent, until="training")
            time.sleep(0.3)
            kernel.interrupt_kernel()
            answered(client, sent)
            after = client.execute("print((burn.tensor([1.0]) + 1).item())")
            assert "2.0" in answered(client, after)
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
