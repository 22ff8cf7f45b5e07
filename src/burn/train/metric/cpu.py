"""The processor: its load, its memory, its temperature. They need the package `psutil`."""

from __future__ import annotations

import importlib
from typing import Any

from burn.train.metric.system import NotAvailable, SystemMetric

GIGABYTE = 1e9


def psutil() -> Any:
    """The package, or `NotAvailable`."""
    try:
        return importlib.import_module("psutil")
    except ImportError:
        raise NotAvailable("psutil is not installed; pip install 'burn-dl[train]'") from None


class CpuUse(SystemMetric):
    """How busy the processor is, in percent of all cores. Needs `psutil`.

    >>> from burn.train import CpuUse, LearnerBuilder
    >>> builder = LearnerBuilder("artifacts").metric_train_numeric(CpuUse())
    >>> CpuUse().attributes().unit
    '%'
    """

    title, unit = "CPU Usage", "%"

    def read(self) -> float:
        """The load since the last look."""
        return float(psutil().cpu_percent(interval=None))


class CpuMemory(SystemMetric):
    """How much memory of the machine is in use, in gigabytes. Needs `psutil`.

    >>> from burn.train.metric import CpuMemory, MetricMetadata
    >>> metric = CpuMemory()
    >>> print(metric.update(None, MetricMetadata.fake()).formatted)  # doctest: +ELLIPSIS
    RAM Used: ... Gb
    """

    title, unit = "CPU Memory", "Gb"

    def __init__(self) -> None:
        super().__init__()
        self.total = 0.0

    def read(self) -> float:
        """What is in use by all programs."""
        memory = psutil().virtual_memory()
        self.total = memory.total / GIGABYTE
        return float(memory.total - memory.available) / GIGABYTE

    def show(self, value: float) -> str:
        """In use, of all."""
        return f"RAM Used: {value:.2f} / {self.total:.2f} Gb"


class CpuTemperature(SystemMetric):
    """The mean temperature of the processor's cores, in degrees Celsius, where the system tells it. Needs `psutil`.

    >>> from burn.train import CpuTemperature, LearnerBuilder
    >>> builder = LearnerBuilder("artifacts").metric_train_numeric(CpuTemperature())
    >>> CpuTemperature().attributes().unit
    '°C'
    """

    title, unit = "CPU Temperature", "°C"
    interval = 1.0

    def read(self) -> float:
        """The sensors of the processor; all sensors where none is named after it."""
        sensors = getattr(psutil(), "sensors_temperatures", None)
        found = sensors() if sensors is not None else {}
        for chip in ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal"):
            if found.get(chip):
                found = {chip: found[chip]}
                break
        degrees = [each.current for group in found.values() for each in group if each.current]
        if not degrees:
            raise NotAvailable("this machine shows no temperature sensor to programs")
        return float(sum(degrees) / len(degrees))
