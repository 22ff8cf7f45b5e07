"""Ctrl-C at any moment, and errors in the middle of recording, leave a device that gives right numbers."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, Tensor
from burn.backend.cpu.instance import Instance
from burn.errors import DeviceError

ROW = np.array([1.0, 2.0, 3.0], np.float32)


def row(device: Any) -> Any:
    return burn.tensor(ROW, device=device)


def test_numbers_of_an_operation_that_failed_are_forgotten() -> None:
    device = Cpu()
    failed = row(device).select(0, burn.tensor([0, 7, 1], device=device))
    with pytest.raises(IndexError):
        failed.numpy()
    x = row(device)
    for use in (lambda: 5.0 / failed, lambda: 5.0 - failed, lambda: failed.clamp(2.0, 4.0), lambda: x * 7.0 + failed):
        with pytest.raises(IndexError):
            use()
        np.testing.assert_array_equal((x * 3.0 + 0.5).numpy(), ROW * 3 + 0.5)


def test_what_was_to_be_computed_is_still_there_after_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Cpu()
    result = row(device).exp() * 2.0
    with monkeypatch.context() as patch:
        patch.setattr(type(device), "prepare", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            result.numpy()
    np.testing.assert_allclose(result.numpy(), np.exp(ROW) * 2, rtol=1e-6)


def _interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def python_handles_ctrl_c() -> Iterator[None]:
    """Python's own handler, which a process that was started in the background does not have."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_handles_ctrl_c")
@pytest.mark.parametrize("times", [1, 2])
def test_an_update_in_place_is_done_once_when_ctrl_c_comes(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    device = Cpu()
    weight = row(device) + 0.0
    device.sync()
    weight = weight + 1.0
    run = Instance.run

    def while_running(self: Any, *args: Any) -> Any:
        found = run(self, *args)
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Instance, "run", while_running)
        with pytest.raises(KeyboardInterrupt):
            device.sync()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert device.plans.latest().reused
    if times == 1:
        np.testing.assert_array_equal(weight.numpy(), ROW + 1)
    else:  # the second one did not wait for the end, so nobody knows what is written
        with pytest.raises(DeviceError, match="interrupted while it wrote; compute it again"):
            weight.numpy()


@pytest.mark.parametrize("features", [None, "baseline"])
def test_ctrl_c_at_every_instruction_of_recording(features: str | None) -> None:
    # In a thread of its own: Python looks for signals at fewer instructions than these, never between the two of taking
    # a lock, so the lock of this thread's stream stays taken at some of them.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_interrupted_while_recording, Cpu() if features is None else Cpu(features=features)).result()


def _interrupted_while_recording(device: Any) -> None:
    x, other = row(device), burn.tensor(ROW * 2, device=device)
    fresh = [row(device) for _ in range(2)]

    def record() -> Any:
        y = (x * 2.0 + other) / fresh[0]
        y = (4.0 / y).clamp(0.25, 8.0).exp()
        parts = Tensor.cat([y, fresh[1]], 0).sort_with_indices(0)
        return parts[0] + parts[1] * 0.5

    moments = 0
    for moment in range(0, 4000, 7):
        fresh[:] = [row(device) for _ in range(2)]
        before = x * 5.0 - 1.0
        if not _interrupt(record, moment):
            break
        moments += 1
        np.testing.assert_array_equal((before * 3.0 + other).numpy(), (ROW * 5 - 1) * 3 + ROW * 2, str(moment))
    assert moments > 100


def _interrupt(function: Any, moment: int) -> bool:
    """Raise at that instruction inside of the recording of operations; False where there are not so many."""
    left = moment

    def look(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        if "backend/fusion" not in frame.f_code.co_filename.replace("\\", "/"):
            return look
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
        return look

    earlier = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 asks once, when tracing begins, whether a frame wants this
    sys.settrace(look)
    try:
        function()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(earlier)
    return False
