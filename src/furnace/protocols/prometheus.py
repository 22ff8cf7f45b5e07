"""Numbers for monitoring, in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from furnace.engine.statistics import Histogram
from furnace.hub import Hub, Version

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(hub: Hub, *, uptime: float, connections: int) -> str:
    """All numbers of a server."""
    return "\n".join(_lines(hub, uptime, connections)) + "\n"


def _lines(hub: Hub, uptime: float, connections: int) -> Iterator[str]:
    versions = hub.all()
    ready = [each for each in versions if each.worker is not None]
    yield from _head("furnace_uptime_seconds", "gauge", "Seconds since the server started")
    yield f"furnace_uptime_seconds {uptime:.3f}"
    yield from _head("furnace_connections", "gauge", "Open connections")
    yield f"furnace_connections {connections}"
    yield from _head("furnace_model_ready", "gauge", "1 when a model version answers requests")
    for version in versions:
        yield f"furnace_model_ready{_labels(version)} {int(version.ready)}"
    yield from _head("furnace_requests_total", "counter", "Requests answered, by outcome")
    for version in ready:
        for outcome, count in sorted(version.serving.statistics.answers.items()):
            yield f"furnace_requests_total{_labels(version, outcome=outcome)} {count}"
    yield from _head("furnace_inferences_total", "counter", "Rows that went through a model")
    for version in ready:
        yield f"furnace_inferences_total{_labels(version)} {version.serving.statistics.inferences}"
    yield from _head("furnace_queue_depth", "gauge", "Requests that wait or run now")
    for version in ready:
        yield f"furnace_queue_depth{_labels(version)} {version.serving.pending}"
    yield from _head("furnace_queue_seconds", "histogram", "Time that requests waited")
    for version in ready:
        yield from _histogram("furnace_queue_seconds", version, version.serving.statistics.queue)
    yield from _head("furnace_compute_seconds", "histogram", "Time of runs")
    for version in ready:
        yield from _histogram("furnace_compute_seconds", version, version.serving.statistics.compute)
    yield from _head("furnace_batch_rows", "histogram", "Rows of runs")
    for version in ready:
        yield from _histogram("furnace_batch_rows", version, version.serving.statistics.batches)


def _head(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def _labels(version: Version, **more: str) -> str:
    pairs = {"model": version.name, "version": version.version, **more}
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in pairs.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _histogram(name: str, version: Version, histogram: Histogram) -> Iterator[str]:
    total = 0
    for bound, count in zip(histogram.bounds, histogram.counts):
        total += count
        yield f"{name}_bucket{_labels(version, le=f'{bound:g}')} {total}"
    total += histogram.counts[-1]
    yield f"{name}_bucket{_labels(version, le='+Inf')} {total}"
    yield f"{name}_sum{_labels(version)} {histogram.sum:.9g}"
    yield f"{name}_count{_labels(version)} {total}"


def summed(texts: list[str]) -> str:
    """Expositions of several workers as one: the same series are added up, except those that say a state."""
    totals: dict[str, float] = {}
    lines: list[str] = []
    for text in texts:
        for line in text.splitlines():
            if line.startswith("#"):
                if line not in totals:
                    totals[line] = 0
                    lines.append(line)
                continue
            series, _, value = line.rpartition(" ")
            if series not in totals:
                lines.append(series)
                totals[series] = float(value)
            elif series.startswith(("furnace_model_ready", "furnace_uptime_seconds")):
                totals[series] = min(totals[series], float(value))
            else:
                totals[series] += float(value)
    ordered = _grouped(lines)
    return "\n".join(line if line.startswith("#") else f"{line} {totals[line]:.12g}" for line in ordered) + "\n"


def _grouped(lines: list[str]) -> list[str]:
    """Series of one name together, under their name's help and type."""
    groups: dict[str, list[str]] = {}
    for line in lines:
        name = line.split(" ")[2] if line.startswith("#") else line.partition("{")[0]
        for ending in ("_bucket", "_sum", "_count"):
            base = name.removesuffix(ending)
            if base != name and base in groups:
                name = base
        groups.setdefault(name, []).append(line)
    return [line for group in groups.values() for line in group]
