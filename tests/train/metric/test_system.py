"""Metrics of the machine: they read what is there, say once what is not, and never fail a training."""

from __future__ import annotations

import logging
import math
import subprocess
import sys
import types

import pytest

from burn.train.metric import (
    CpuMemory,
    CpuTemperature,
    CpuUse,
    CudaMetric,
    GpuMemory,
    GpuTemperature,
    GpuUse,
    IterationSpeedMetric,
    MetricMetadata,
    Numeric,
    SystemMetric,
    gpu,
    iteration_speed,
    system,
)

ALL = [CpuUse, CpuMemory, CpuTemperature, GpuUse, GpuMemory, GpuTemperature, CudaMetric]


@pytest.fixture(autouse=True)
def fresh(monkeypatch) -> None:
    monkeypatch.setattr(system, "_SAID", set())
    monkeypatch.setattr(gpu, "_LIBRARY", [])


class FakeCards(types.ModuleType):
    """What the management library answers for two cards, the second of which tells no power."""

    NVML_TEMPERATURE_GPU = 0

    class NVMLError(Exception):
        pass

    def nvmlInit(self) -> None: ...
    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetMemoryInfo(self, card: int):
        return types.SimpleNamespace(used=1.5e9 * (card + 1), total=24e9)

    def nvmlDeviceGetUtilizationRates(self, card: int):
        return types.SimpleNamespace(gpu=40 + card)

    def nvmlDeviceGetTemperature(self, card: int, sensor: int) -> int:
        return 61

    def nvmlDeviceGetPowerUsage(self, card: int) -> int:
        if card:
            raise self.NVMLError
        return 75300


@pytest.mark.parametrize("metric", ALL, ids=lambda each: each.__name__)
def test_a_metric_of_the_machine_gives_an_entry_whatever_the_machine_has(metric) -> None:
    made = metric()
    for _ in range(2):
        entry = made.update(None, MetricMetadata.fake())
        assert entry.name == made.name()
        assert entry.formatted
    made.clear()


def test_the_processor() -> None:
    pytest.importorskip("psutil")
    use, memory = CpuUse(), CpuMemory()
    assert use.update(None, MetricMetadata.fake()).formatted.startswith("CPU Usage: ")
    assert 0 <= use.value() <= 100
    entry = memory.update(None, MetricMetadata.fake())
    assert entry.formatted == f"RAM Used: {memory.value():.2f} / {memory.total:.2f} Gb"
    assert 0 < memory.value() < memory.total


@pytest.mark.parametrize("package", ["psutil", "pynvml"])
def test_a_missing_package_is_said_once(package: str, monkeypatch, caplog) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    metrics = [CpuUse(), CpuUse()] if package == "psutil" else [CudaMetric(), CudaMetric()]
    with caplog.at_level(logging.WARNING, "burn.train"):
        entries = [metric.update(None, MetricMetadata.fake()) for metric in metrics for _ in range(3)]
    assert len(caplog.records) == 1
    assert "pip install 'burn-dl[train]'" in caplog.text
    assert {entry.formatted.split(": ")[1] for entry in entries} == {"not available"}
    assert all(math.isnan(metric.value()) for metric in metrics if isinstance(metric, Numeric))


def test_cards(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeCards("pynvml"))
    entry = CudaMetric().update(None, MetricMetadata.fake())
    assert entry.formatted == (
        "GPU #0 - Memory 1.50/24.00 Gb - Usage 40% - Power 75.3 W GPU #1 - Memory 3.00/24.00 Gb - Usage 41%"
    )
    values = []
    for metric in (GpuUse(), GpuMemory(1), GpuTemperature()):
        metric.update(None, MetricMetadata.fake())
        values.append((metric.name(), metric.value()))
    assert values == [("GPU Usage", 40.0), ("GPU Memory #1", 3.0), ("GPU Temperature", 61.0)]
    assert "not available" in GpuUse(7).update(None, MetricMetadata.fake()).formatted


def test_the_machine_is_asked_seldom() -> None:
    asked = []

    class Counting(SystemMetric):
        title, unit = "Counting", "things"
        interval = 3600.0

        def read(self) -> float:
            asked.append(1)
            return 7.0

    metric = Counting()
    lines = {metric.update(None, MetricMetadata.fake()).formatted for _ in range(5)}
    assert lines == {"Counting: 7.00 things"}
    assert len(asked) == 1


def test_a_sensor_that_fails_once_is_asked_again() -> None:
    class Loose(SystemMetric):
        title, unit, interval = "Loose", "V", 0.0
        tries = 0

        def read(self) -> float:
            self.tries += 1
            if self.tries == 1:
                raise OSError("loose contact")
            return 5.0

    metric = Loose()
    assert metric.update(None, MetricMetadata.fake()).formatted == "Loose: not available"
    assert metric.update(None, MetricMetadata.fake()).formatted == "Loose: 5.00 V"


def test_iteration_speed(monkeypatch) -> None:
    moments = iter([10.0, 10.5, 10.75, 20.0, 21.0])
    monkeypatch.setattr(iteration_speed.time, "perf_counter", lambda: next(moments))
    metric = IterationSpeedMetric()
    metric.update(None, MetricMetadata.fake())
    metric.update(None, MetricMetadata.fake())
    entry = metric.update(None, MetricMetadata.fake())
    assert entry.formatted == "epoch 2.67 iter/sec - batch 4.00 iter/sec"
    metric.clear()
    metric.update(None, MetricMetadata.fake())
    assert metric.update(None, MetricMetadata.fake()).formatted == "epoch 1.00 iter/sec - batch 1.00 iter/sec"


def test_metrics_load_no_package_of_the_machine_before_they_are_asked() -> None:
    code = "import sys, burn.train.metric; print({'psutil', 'pynvml'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
