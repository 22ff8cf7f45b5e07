"""Where the time of an epoch goes: waiting for data, steps, and what is done between them."""

from __future__ import annotations

import json
import time
from pathlib import Path


class EpochProfile:
    """Laps of a stopwatch, summed by name."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.begin = self.last = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.laps: dict[str, int] = {}

    def lap(self, name: str) -> None:
        """What was done since the last lap."""
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self.last
        self.laps[name] = self.laps.get(name, 0) + 1
        self.last = now

    def table(self) -> str:
        """The laps as text, the longest first."""
        total = self.last - self.begin
        lines = [f"profile of epoch {self.epoch}: {total:.3f} s"]
        for name, seconds in sorted(self.seconds.items(), key=lambda each: -each[1]):
            share = seconds / total if total else 0.0
            each = seconds / self.laps[name] * 1e3
            lines.append(f"  {name:<22} {seconds:9.3f} s {share:6.1%}  {self.laps[name]:>7} x {each:.3f} ms")
        return "\n".join(lines)

    def finish(self, folder: Path | None) -> str:
        """The table; with a folder it is written there too, as text and as JSON."""
        self.lap("rest")
        text = self.table()
        if folder is not None:
            (folder / "profile.txt").write_text(text + "\n", "utf-8")
            found = {name: {"seconds": self.seconds[name], "count": self.laps[name]} for name in self.seconds}
            (folder / "profile.json").write_text(json.dumps({"epoch": self.epoch, "laps": found}, indent=1), "utf-8")
        return text
