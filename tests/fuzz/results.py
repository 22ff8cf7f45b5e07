"""What is known about seeds: a file of JSON lines that runs add to, so that a run can be cut and continued."""

from __future__ import annotations

import functools
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Result:
    """One seed: empty `failure` is a pass."""

    kind: str
    seed: int
    features: str
    code: str
    seconds: float
    failure: str = ""


@functools.cache
def code_version() -> str:
    """A hash of the package and of the fuzzers: a pass counts for the code that passed."""
    found = hashlib.sha256()
    for folder in ("src/burn", "src/burn_import", "tests/fuzz"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:12]


class Results:
    """The results file; without a path nothing is remembered."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def read(self) -> list[Result]:
        """All results so far; a line that a cut run left unfinished is passed over."""
        if self.path is None or not self.path.exists():
            return []
        found = []
        for line in self.path.read_text().splitlines():
            try:
                found.append(Result(**json.loads(line)))
            except (ValueError, TypeError):
                continue
        return found

    def add(self, result: Result) -> None:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps(asdict(result)) + "\n")

    def passed(self, kind: str, features: str, older: bool) -> set[int]:
        """The seeds that need no other run: passed by this code or, with `older`, by any."""
        return {
            each.seed
            for each in self.read()
            if (each.kind, each.features) == (kind, features) and not each.failure
            and (older or each.code == code_version())
        }  # fmt: skip


def summary(results: Iterable[Result]) -> str:
    """A table of seeds, passes, failures and time for each kind and instruction set; a seed's last run counts."""
    last: dict[tuple[str, str], dict[int, Result]] = defaultdict(dict)
    for each in results:
        last[each.kind, each.features][each.seed] = each
    lines = ["| kind | instruction set | seeds | passed | failed | seconds a seed | total minutes | code |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for (kind, features), seeds in sorted(last.items()):
        failed = sorted(each.seed for each in seeds.values() if each.failure)
        seconds = sum(each.seconds for each in seeds.values())
        codes = sorted({each.code for each in seeds.values()})
        failures = f"{len(failed)} ({_ranges(failed)})" if failed else "0"
        version = codes[0] if len(codes) == 1 else f"{len(codes)} versions"
        lines.append(
            f"| {kind} | {features} | {_ranges(sorted(seeds))} | {len(seeds) - len(failed)} | {failures} | "
            f"{seconds / len(seeds):.3f} | {seconds / 60:.1f} | {version} |"
        )
    return "\n".join(lines)


def _ranges(numbers: list[int]) -> str:
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in found)
