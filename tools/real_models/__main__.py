"""The command line of the report on real models."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import tools.real_models as package
from tools.real_models.packages import fetch, read_list
from tools.real_models.report import heading, line, read_results, run, status_of, summary


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch, run or show; the exit code of `run` and `show` says whether every model matches."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.real_models",
        description=package.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    getter = commands.add_parser("fetch", help="download the packages of a list")
    runner = commands.add_parser("run", help="import and compare")
    shower = commands.add_parser("show", help="print results")
    for each in (getter, runner):
        each.add_argument("list", type=Path)
        each.add_argument("folder", type=Path)
    for each in (runner, shower):
        each.add_argument("results", type=Path)
        each.add_argument("--device", action="append", help="ndarray, cpu or torch; both of the first by default")
    for each in (getter, runner, shower):
        each.add_argument("--only", action="append", help="models whose name contains this")
    getter.add_argument("--archives", type=Path, help="a folder with archives that were downloaded in another way")
    runner.add_argument("--redo", action="append", default=[], help="repeat models of this status; all repeats all")
    runner.add_argument("--seconds", type=float, default=300.0, help="time limit of a model")
    runner.add_argument("--gigabytes", type=float, default=8.0, help="memory limit of a model")
    runner.add_argument("--workers", type=int, default=1)
    shower.add_argument("--failed", action="store_true", help="only what does not match")
    options = parser.parse_args(arguments)

    def wanted(name: str) -> bool:
        return not options.only or any(word in name for word in options.only)

    if options.command == "fetch":
        chosen = [each for each in read_list(options.list) if wanted(each.name)]
        for sentence in fetch(chosen, options.folder, options.archives):
            print(sentence, flush=True)
        return 0
    devices = options.device or ["ndarray", "cpu"]
    if options.command == "run":
        entries = [each for each in read_list(options.list) if wanted(each.name)]
        print(heading())
        limits = {"seconds": options.seconds, "gigabytes": options.gigabytes, "workers": options.workers}
        for row in run(entries, options.folder, options.results, devices, redo=options.redo, **limits):
            for device in devices:
                print(line(row, device), flush=True)
        rows = [row for name, row in read_results(options.results).items() if name in {each.name for each in entries}]
    else:
        rows = [row for name, row in sorted(read_results(options.results).items()) if wanted(name)]
        print(heading())
        for row in rows:
            for device in devices:
                if device in row and not (options.failed and row[device]["status"] in ("match", "imports")):
                    print(line(row, device))
    print(summary(rows, devices))
    good = {"match", "spread", "imports"}
    return 0 if all(status_of(row) <= good for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
