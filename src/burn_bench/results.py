"""What a run found: plain values that go to JSON and come back equal.

Runs are kept in the user's data folder, `~/.local/share/burn/benchmarks/` unless `XDG_DATA_HOME` says
otherwise, one file a run, named by date and commit. `latest` and `previous` name the last two.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from burn.errors import ArgumentError, DataError
from burn_bench.benchmark import Target

FORMAT = 1
RECENT = ("latest", "previous")


@dataclass
class Measurement:
    """One engine on one benchmark: the median time of a call in each block, in seconds, or why there is none.

    `error` is the distance of its result from the reference, `faults` the number of page faults in a call.
    The kinds of failure are `absent` (not installed, or a tool is missing), `wrong` (the result), and
    `failed` (an exception, a crash, no answer in time).
    """

    times: list[float] = field(default_factory=list)
    error: float = 0.0
    faults: float = 0.0
    notes: list[str] = field(default_factory=list)
    failure: str = ""
    kind: str = ""


@dataclass
class Outcome:
    """One benchmark: what each engine did, and what copies of our engines did beside them.

    `others` is the share of the machine that other processes took during the blocks.
    """

    name: str
    shapes: str
    title: str
    summary: str
    traffic: int | None
    targets: list[Target]
    engines: dict[str, Measurement] = field(default_factory=dict)
    again: dict[str, list[float]] = field(default_factory=dict)
    failure: str = ""
    others: float = 0.0

    def times(self, engine: str) -> list[float]:
        """The blocks of an engine; empty where it has none."""
        found = self.engines.get(engine)
        return found.times if found is not None else []


@dataclass
class Run:
    """A whole run."""

    date: str
    commit: str
    version: str
    machine: dict[str, Any]
    settings: dict[str, Any]
    ours: list[str]
    versions: dict[str, str]
    outcomes: list[Outcome] = field(default_factory=list)
    disturbance: dict[str, float] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def title(self) -> str:
        """Date and commit, as in the name of its file."""
        return f"{self.date.replace(':', '')}-{self.commit.rstrip('+')}"

    def outcome(self, title: str) -> Outcome | None:
        """The outcome of a benchmark."""
        return next((each for each in self.outcomes if each.title == title), None)


def to_json(run: Run) -> str:
    """A run as text."""
    return json.dumps(asdict(run), indent=1, ensure_ascii=False) + "\n"


def from_json(text: str, source: str = "text") -> Run:
    """A run from its text."""
    try:
        fields = json.loads(text)
        if fields["format"] != FORMAT:
            raise DataError(f"burn-bench: {source} has the format {fields['format']}, this version reads {FORMAT}")
        outcomes = [_outcome(each) for each in fields.pop("outcomes")]
        return Run(**fields, outcomes=outcomes)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"burn-bench: {source} is not a result of burn-bench ({error})") from None


def _outcome(fields: dict[str, Any]) -> Outcome:
    targets = [Target(**{**each, "peers": tuple(each["peers"])}) for each in fields.pop("targets")]
    engines = {name: Measurement(**each) for name, each in fields.pop("engines").items()}
    return Outcome(**fields, targets=targets, engines=engines)


# The store


def store_folder() -> Path:
    """Where runs are kept."""
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".local" / "share") / "burn" / "benchmarks"


def keep(run: Run, folder: Path) -> Path:
    """Write a run into the store."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run.title}.json"
    path.write_text(to_json(run), encoding="utf-8")
    return path


def kept(folder: Path) -> list[Path]:
    """The files of the store, oldest first."""
    return sorted(folder.glob("*.json"))


def load(name: str, folder: Path) -> Run:
    """A run by the path of its file, by the beginning of its name in the store, or as `latest` or `previous`."""
    path = Path(name)
    if not path.is_file():
        files = kept(folder)
        if name in RECENT:
            back = 1 + RECENT.index(name)
            if len(files) < back:
                raise ArgumentError(f"burn-bench: there is no {name} run in {folder}; write burn-bench run first")
            path = files[-back]
        else:
            matches = [each for each in files if each.name.startswith(name) or f"-{name}" in each.stem]
            if not matches:
                known = ", ".join(each.stem for each in files[-5:]) or "none"
                raise ArgumentError(f"burn-bench: {name} is neither a file nor a run in {folder}; the last are {known}")
            path = matches[-1]
    return from_json(path.read_text(encoding="utf-8"), str(path))
