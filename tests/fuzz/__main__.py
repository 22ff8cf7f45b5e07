"""The command: try seeds of a kind, remember what passed, print what failed as code.

python -m tests.fuzz networks --n 2000 --seed 0 --features avx2 --jobs 16 --results fuzz.jsonl
python -m tests.fuzz summary --results fuzz.jsonl
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from tests.fuzz.results import Result, Results, summary
from tests.fuzz.workers import KINDS, Settings, serve, try_seeds


def main(arguments: list[str]) -> int:
    """The command's exit code: 0 if every seed passed."""
    if arguments[:1] == ["worker"]:
        serve(arguments[1], int(arguments[2]))
        return 0
    chosen = _parser().parse_args(arguments)
    results = Results(chosen.results)
    if chosen.kind == "summary":
        print(summary(results.read()))
        return 0
    settings = Settings(chosen.kind, chosen.features, chosen.sanitize, chosen.threads, chosen.patience)
    known = results.passed(chosen.kind, chosen.features, chosen.older)
    wanted = [seed for seed in range(chosen.seed, chosen.seed + chosen.n) if seed not in known]
    progress = _Progress(f"{chosen.kind} {chosen.features}", chosen.n, chosen.n - len(wanted))

    def tell(result: Result) -> None:
        results.add(result)
        progress.tell(result)

    try_seeds(settings, wanted, chosen.jobs, tell)
    print(progress.line(), file=sys.stderr)
    return 1 if progress.failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Random tests of the whole product.")
    parser.add_argument("kind", choices=[*KINDS, "summary"])
    parser.add_argument("--n", type=int, default=100, help="how many seeds")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--features", default="best", help="avx512, avx2, sse4, baseline, neon, or best: what there is")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="processes")
    parser.add_argument("--threads", type=int, default=2, help="threads of each process")
    parser.add_argument("--sanitize", action="store_true", help="check every access of every kernel")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds after which a seed counts as hung")
    parser.add_argument("--results", type=Path, help="a file that remembers which seeds passed")
    parser.add_argument("--older", action="store_true", help="passes of other versions of the code count too")
    return parser


class _Progress:
    """A line now and then, and every failure at once."""

    def __init__(self, name: str, wanted: int, known: int) -> None:
        self.name, self.wanted, self.known = name, wanted, known
        self.done, self.failed, self.slowest = 0, 0, 0.0
        self.begun = self.shown = time.monotonic()

    def tell(self, result: Result) -> None:
        self.done += 1
        self.slowest = max(self.slowest, result.seconds)
        if result.failure:
            self.failed += 1
            print(f"\n{result.kind} seed {result.seed} ({result.features}):\n{result.failure}", flush=True)
        if time.monotonic() - self.shown > 5.0:
            self.shown = time.monotonic()
            print(self.line(), file=sys.stderr, flush=True)

    def line(self) -> str:
        passed = time.monotonic() - self.begun
        rate = self.done / passed if passed else 0.0
        left = (self.wanted - self.known - self.done) / rate if rate else 0.0
        return (
            f"{self.name}: {self.known + self.done} of {self.wanted} ({self.known} known), {self.failed} failed, "
            f"{passed:.0f} s, {1000 / rate if rate else 0:.0f} ms a seed (slowest {self.slowest:.1f} s), "
            f"{left:.0f} s left"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
