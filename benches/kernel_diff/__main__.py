"""Which kernels and plans a change of the engine changes.

    git stash                                   # or a worktree of the commit to compare with
    python -m benches.kernel_diff save
    git stash pop
    python -m benches.kernel_diff compare       # exit code 1 if anything differs

A fixed set of programs is recorded, not run, and lowered for each instruction set.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from benches.kernel_diff.comparing import Saved, compare, told
from benches.kernel_diff.describing import Descriptions
from benches.kernel_diff.recording import Run, record, undisturbed

SETS = ("avx2", "avx512")
FOLDER = Path("build/kernel_diff")


def lowered(programs: Mapping[str, Run]) -> Saved:
    """The plans and kernels of programs."""
    plans, descriptions = {}, Descriptions()
    begun = time.monotonic()
    with undisturbed():
        for number, (name, run) in enumerate(programs.items(), 1):
            _progress(f"{number}/{len(programs)}  {time.monotonic() - begun:.0f} s  {name}")
            recorded = record(run)
            for features in SETS:
                plans[f"{features}/{name}"] = descriptions.of(recorded, features)
    _progress("")
    return Saved(plans, descriptions.kernels)


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{line[:100]}", end="", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None, programs: Mapping[str, Run] | None = None) -> int:
    """The command. Other `programs` than the fixed set are for its tests."""
    parser = argparse.ArgumentParser(prog="python -m benches.kernel_diff", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("command", choices=["save", "compare"])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help=f"default: {FOLDER}")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="programs whose name contains it, such as row/reduce"
    )
    parser.add_argument("--most", type=int, default=3, help="how many kernels and plans are shown as diffs")
    given = parser.parse_args(arguments)
    if given.command == "compare" and not (given.folder / "plans").is_dir():
        parser.error(
            f"{given.folder} holds no plans; write them with: python -m benches.kernel_diff save {given.folder}"
        )
    if programs is None:
        from benches.kernel_diff.programs import programs as fixed

        programs = fixed()
    found = lowered({name: run for name, run in programs.items() if given.only in name})
    size = f"{len(found.plans)} descriptions of plans and {len(found.kernels)} kernels"
    if given.command == "save":
        found.write(given.folder)
        print(f"saved {size} in {given.folder}")
        return 0
    before = Saved.read(given.folder)
    before.plans = {name: text for name, text in before.plans.items() if given.only in name.partition("/")[2]}
    difference = compare(before, found)
    print("\n".join(told(difference, before, found, given.most)))
    print(f"{size}: {'they differ' if difference else 'nothing differs'}")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
