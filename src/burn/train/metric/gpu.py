"""NVIDIA cards: load, memory, temperature, power, through their management library (the package `nvidia-ml-py`)."""

from __future__ import annotations

import contextlib
import importlib
import threading
from typing import Any

from burn.train.metric.cpu import GIGABYTE
from burn.train.metric.protocol import Metric, MetricEntry, MetricMetadata
from burn.train.metric.system import NotAvailable, SystemMetric, say_once

_LOCK = threading.Lock()
_LIBRARY: list[Any] = []


def nvml() -> Any:
    """The management library, started once; `NotAvailable` where there is none."""
    with _LOCK:
        if not _LIBRARY:
            try:
                library = importlib.import_module("pynvml")
            except ImportError:
                raise NotAvailable("nvidia-ml-py is not installed; pip install 'burn-dl[train]'") from None
            try:
                library.nvmlInit()
            except library.NVMLError as error:
                raise NotAvailable(f"the NVIDIA driver does not answer: {error}") from None
            _LIBRARY.append(library)
        return _LIBRARY[0]


class GpuMetric(SystemMetric):
    """A number of one card."""

    def __init__(self, index: int = 0) -> None:
        super().__init__()
        self.index = index
        if index:
            self.title = f"{self.title} #{index}"

    def card(self) -> tuple[Any, Any]:
        """The library and the handle of the card."""
        library = nvml()
        count = library.nvmlDeviceGetCount()
        if self.index >= count:
            raise NotAvailable(f"there is no card #{self.index}: the driver knows {count}")
        return library, library.nvmlDeviceGetHandleByIndex(self.index)


class GpuTemperature(GpuMetric):
    """The temperature of the NVIDIA card of that `index`, in degrees Celsius. Needs `nvidia-ml-py`.

    >>> from burn.train import GpuTemperature, LearnerBuilder
    >>> builder = LearnerBuilder("artifacts").metric_train_numeric(GpuTemperature(index=0))
    >>> GpuTemperature().attributes().unit
    '°C'
    """

    title, unit = "GPU Temperature", "°C"
    interval = 1.0

    def read(self) -> float:
        """The sensor of the chip."""
        library, card = self.card()
        return float(library.nvmlDeviceGetTemperature(card, library.NVML_TEMPERATURE_GPU))


class GpuUse(GpuMetric):
    """How busy the NVIDIA card of that `index` is, in percent. Needs `nvidia-ml-py`.

    >>> from burn.train import GpuUse, LearnerBuilder
    >>> builder = LearnerBuilder("artifacts").metric_train_numeric(GpuUse())
    >>> GpuUse().attributes().unit
    '%'
    """

    title, unit = "GPU Usage", "%"

    def read(self) -> float:
        """The share of time in which a kernel ran."""
        library, card = self.card()
        return float(library.nvmlDeviceGetUtilizationRates(card).gpu)


class GpuMemory(GpuMetric):
    """How much memory of the NVIDIA card of that `index` is in use, in gigabytes. Needs `nvidia-ml-py`.

    >>> from burn.train import GpuMemory, LearnerBuilder
    >>> builder = LearnerBuilder("artifacts").metric_train_numeric(GpuMemory())
    >>> GpuMemory().attributes().unit
    'Gb'
    """

    title, unit = "GPU Memory", "Gb"

    def __init__(self, index: int = 0) -> None:
        super().__init__(index)
        self.total = 0.0

    def read(self) -> float:
        """What is in use by all programs."""
        library, card = self.card()
        memory = library.nvmlDeviceGetMemoryInfo(card)
        self.total = memory.total / GIGABYTE
        return float(memory.used) / GIGABYTE

    def show(self, value: float) -> str:
        """In use, of all."""
        return f"{self.title}: {value:.2f} / {self.total:.2f} Gb"


class CudaMetric(Metric[Any]):
    """A line on every NVIDIA card: memory, load, power. Needs `nvidia-ml-py`; it is text, not a number.

    >>> from burn.train import CudaMetric, LearnerBuilder
    >>> builder = LearnerBuilder("artifacts").metric_train(CudaMetric())
    >>> CudaMetric().name()
    'Cuda'
    """

    def __init__(self) -> None:
        self._missing = False

    def name(self) -> str:
        """The name."""
        return "Cuda"

    def clear(self) -> None:
        """Nothing is kept over an epoch."""

    def update(self, item: Any, metadata: MetricMetadata) -> MetricEntry:
        """The cards as they are now."""
        shown: list[str] = []
        raw: list[str] = []
        if not self._missing:
            try:
                library = nvml()
                for index in range(library.nvmlDeviceGetCount()):
                    line, numbers = _card(library, index)
                    shown.append(line)
                    raw.append(numbers)
            except Exception as error:
                # As with every look at the machine: said once, and the training goes on.
                self._missing = isinstance(error, NotAvailable)
                say_once("Cuda", error)
        return MetricEntry("Cuda", " ".join(shown) or "Cuda: not available", " ".join(raw))


def _card(library: Any, index: int) -> tuple[str, str]:
    card = library.nvmlDeviceGetHandleByIndex(index)
    memory, load = library.nvmlDeviceGetMemoryInfo(card), library.nvmlDeviceGetUtilizationRates(card)
    used, total = memory.used / GIGABYTE, memory.total / GIGABYTE
    line = f"GPU #{index} - Memory {used:.2f}/{total:.2f} Gb - Usage {load.gpu}%"
    with contextlib.suppress(library.NVMLError):  # some cards do not tell
        line += f" - Power {library.nvmlDeviceGetPowerUsage(card) / 1000:.1f} W"
    return line, f"{used:.3f}/{total:.3f}"
