"""All models of a list: a child process for each, a line of JSON for each, a table of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from tools.real_models.packages import Entry

ORDER = ("match", "spread", "imports", "differs", "error", "refused", "timeout", "crash", "absent")


def run_one(entry: Entry, folder: Path, devices: Sequence[str], seconds: float, gigabytes: float) -> dict[str, Any]:
    """Everything that is known of one model, whatever happens to its process."""
    row: dict[str, Any] = {"name": entry.name, "size": entry.size}
    path = entry.place(folder)
    if not path.exists():
        return row | {device: {"status": "absent", "fault": "not downloaded"} for device in devices}
    command = [sys.executable, "-m", "tools.real_models.comparison", str(path), json.dumps(entry.shapes)]
    command += [",".join(devices), str(gigabytes)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    try:
        said, complaint = child.communicate(timeout=seconds)
        ending = f"exit {child.returncode}: {complaint.decode(errors='replace')[-300:].strip()}"
        status = "crash"
    except subprocess.TimeoutExpired:
        child.kill()
        said, _ = child.communicate()
        status, ending = "timeout", f"more than {seconds:g} s"
    for line in said.decode(errors="replace").splitlines():
        if line.startswith("{"):
            row.update(json.loads(line))
    for device in devices:
        row.setdefault(device, {"status": status, "fault": ending})
    return row


def read_results(path: Path) -> dict[str, dict[str, Any]]:
    """What the lines say of each model; a newer line goes before an older one, a device at a time."""
    found: dict[str, dict[str, Any]] = {}
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        row = json.loads(text)
        found.setdefault(row["name"], {}).update(row)
    return found


def status_of(row: Mapping[str, Any]) -> set[str]:
    """The statuses of all devices of a row."""
    return {value["status"] for value in row.values() if isinstance(value, dict) and "status" in value}


def run(
    entries: Sequence[Entry],
    folder: Path,
    results: Path,
    devices: Sequence[str],
    *,
    redo: Sequence[str] = (),
    seconds: float = 300.0,
    gigabytes: float = 8.0,
    workers: int = 1,
) -> Iterator[dict[str, Any]]:
    """Compare what has no result yet, or one of the statuses in `redo` ("all" repeats everything)."""
    known = read_results(results)
    chosen = []
    for entry in entries:
        row = known.get(entry.name)
        if row is None or "all" in redo or any(device not in row for device in devices) or status_of(row) & {*redo}:
            chosen.append(entry)
    with ThreadPoolExecutor(workers) as pool, results.open("a", encoding="utf-8") as file:
        waiting = [pool.submit(run_one, entry, folder, devices, seconds, gigabytes) for entry in chosen]
        for each in as_completed(waiting):
            row = each.result()
            file.write(json.dumps(row) + "\n")
            file.flush()
            yield row


def line(row: Mapping[str, Any], device: str) -> str:
    """One model on one device, as a line of the table."""
    found = row.get(device, {"status": "absent"})
    numbers = "  ".join(_number(found.get(key)) for key in ("absolute", "relative"))
    spread = row.get("spread", {})
    times = "  ".join(_number(each) for each in (row.get("import_s"), found.get("run_s"), row.get("ort_s")))
    text = f"{row['name'][-70:]:<70} {row.get('opset') or '':>3} {row.get('nodes') or '':>5}  {device:<8}"
    text += f"{found['status']:<8} {numbers}  {_number(spread.get('relative'))}  {times}"
    if found["status"] not in ("match", "imports"):
        text += f"  {found.get('fault', '')} {found.get('at', '')}".replace("\n", " ")[:400]
    return text.rstrip()


def _number(value: Any) -> str:
    return f"{value:>8.2g}" if isinstance(value, float) else f"{'':>8}"


def heading() -> str:
    """The names of the columns."""
    columns = ("absolute", "relative", "spread", "import", "run", "runtime")
    return f"{'model':<70} {'set':>3} {'nodes':>5}  {'device':<8}{'status':<8} " + "  ".join(
        f"{each:>8}" for each in columns
    )


def summary(rows: Sequence[Mapping[str, Any]], devices: Sequence[str]) -> str:
    """How many models of each status, per device."""
    lines = []
    for device in devices:
        count = Counter(row[device]["status"] for row in rows if device in row)
        parts = [f"{count[status]} {status}" for status in ORDER if count[status]]
        lines.append(f"{device}: {sum(count.values())} models: {', '.join(parts)}")
    return "\n".join(lines)
