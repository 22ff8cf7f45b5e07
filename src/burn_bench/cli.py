"""The `burn-bench` command: `burn-bench run softmax --devices cpu --peers torch`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from burn.errors import ArgumentError, BurnError
from burn.tools.entry import command
from burn.version import __version__
from burn_bench import chart, compare, first_call, machine, memory, model_inputs, models, report, results, tune
from burn_bench.benchmark import Benchmark
from burn_bench.engines import DEFAULT_DEVICES, DEFAULT_PEERS, DEVICES, PEERS, chosen_devices, chosen_peers
from burn_bench.runner import SUITE, Plan, Runner
from burn_bench.suite import GROUPS
from burn_bench.worker import load_suite

TUNING = ("off", "remembered", "on")


@command("burn-bench")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. The code is 0, 1 where a device of ours failed or was wrong, 2 for a wrong command line."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 2
    try:
        return COMMANDS[options.command](options)
    except BurnError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("burn-bench: interrupted", file=sys.stderr)
        return 130


def default_threads() -> int:
    """As many threads as there are cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="burn-bench", description="Measure our devices against their peers.")
    parser.add_argument("--version", action="version", version=f"burn-bench {__version__}")
    parser.add_argument("--suite", default=SUITE, help="module whose function benchmarks() gives the benchmarks")
    commands = parser.add_subparsers(dest="command", metavar="command")

    commands.add_parser("list", help="the benchmarks, and the engines that can run them")

    run = commands.add_parser("run", help="measure and print a table")
    run.add_argument("names", nargs="*", help="beginnings of names, such as matmul, or a group: kernels; else all")
    run.add_argument("--devices", default=",".join(DEFAULT_DEVICES), help=f"of {', '.join(DEVICES)}")
    run.add_argument("--peers", default=",".join(DEFAULT_PEERS), help=f"of {', '.join(PEERS)}; none for nobody")
    run.add_argument("--blocks", type=int, default=7, help="interleaved blocks; fewer than 7 give no verdict")
    run.add_argument("--seconds", type=float, default=0.3, help="about how long a block takes (default 0.3)")
    run.add_argument("--quick", action="store_true", help="3 blocks of 0.05 s: to see whether everything works")
    run.add_argument("--wait", type=float, default=0.0, help="seconds the run may wait for others to be quiet")
    run.add_argument("--keep-memory", action="store_true", help="no engine gives freed memory back to the system")
    run.add_argument("--json", type=Path, metavar="FILE", help="write the result there too")
    run.add_argument("--plot", type=Path, metavar="FILE", help="draw the ratios, .svg or .png")
    run.add_argument("--no-keep", action="store_true", help="do not keep the result for compare and history")

    show = commands.add_parser("show", help="print a kept run again")
    show.add_argument("run", nargs="?", default="latest", help="a file, a date, a commit, latest or previous")
    show.add_argument("--plot", type=Path, metavar="FILE", help="draw the ratios, .svg or .png")

    two = commands.add_parser("compare", help="two runs side by side")
    two.add_argument("first", nargs="?", default="previous", help="a file, a date, a commit, latest or previous")
    two.add_argument("second", nargs="?", default="latest")

    past = commands.add_parser("history", help="ratios of all kept runs")
    past.add_argument("names", nargs="*", help="beginnings of names; all by default")
    past.add_argument("--against", default="torch", help="the peer (default torch)")
    past.add_argument("--engine", help="one of our engines; cpu and cpu-captured by default")
    past.add_argument("--plot", type=Path, metavar="FILE", help="draw it, .svg or .png")

    peak = commands.add_parser("memory", help="peak memory of a training step and of inference, in fresh processes")
    peak.add_argument("--batch", type=int, default=64)
    first = commands.add_parser("first-call", help="the first call with a cold and a warm cache, in fresh processes")
    for each, workloads in ((peak, memory.WORKLOADS), (first, first_call.WORKLOADS)):
        each.add_argument("workloads", nargs="*", metavar="workload", help=f"of {', '.join(workloads)}; else all")
        each.add_argument("--processes", type=int, default=7, help="fresh processes for each number (default 7)")
        each.add_argument("--quick", action="store_true", help="one process for each number")
    folder = commands.add_parser("models", help="the ONNX files of a folder against ONNX Runtime, one by one")
    folder.add_argument("folder", type=Path, help="a folder with .onnx and .ort files, or one such file")
    folder.add_argument("--only", action="append", default=[], help="files whose path contains this")
    folder.add_argument("--size", action="append", default=[], metavar="NAME=N", help="a size that files leave open")
    folder.add_argument("--shapes", type=Path, metavar="FILE", help="JSON: shapes of the inputs of each file")
    folder.add_argument("--blocks", type=int, default=7, help="interleaved blocks of each engine")
    folder.add_argument("--seconds", type=float, default=0.2, help="about how long a block takes (default 0.2)")
    folder.add_argument("--patience", type=float, default=300.0, help="seconds that a first result may take")
    folder.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes there")
    folder.add_argument("--plot", type=Path, metavar="FILE", help="draw the ratios, .svg")
    folder.add_argument("--compare", type=Path, metavar="FILE", help="outcomes of an earlier run to compare with")
    tuned = commands.add_parser("tune", help="measure which kernels are fastest here, and remember it")
    tuned.add_argument("names", nargs="*", help="beginnings of names, such as resnet18, or a group: kernels; else all")
    tuned.add_argument("--forget", action="store_true", help="drop what is known of this machine first")
    run.add_argument("--tune", choices=TUNING, help="BURN_TUNE of our devices: whether they use what was measured")
    for each in (run, peak, first, tuned, folder):
        each.add_argument("--threads", type=int, default=default_threads(), help="threads of every engine")
    for each in (run, show, two, past):
        each.add_argument("--store", type=Path, default=None, help="folder of the kept runs")
    return parser


def chosen(suite: dict[str, Benchmark], names: Sequence[str]) -> list[Benchmark]:
    """The benchmarks whose titles begin with one of the names; groups are the names they stand for."""
    names = [each for name in names for each in GROUPS.get(name, (name,))]
    for name in names:
        if not any(title.startswith(name) for title in suite):
            known = ", ".join(dict.fromkeys(each.name for each in suite.values()))
            groups = ", ".join(GROUPS)
            raise ArgumentError(f"burn-bench: there is no benchmark {name}; choose from {known}, or a group: {groups}")
    return [each for title, each in suite.items() if not names or any(title.startswith(name) for name in names)]


def _words(text: str) -> list[str]:
    return [] if text == "none" else [each.strip() for each in text.split(",") if each.strip()]


def _list(options: argparse.Namespace) -> int:
    suite = load_suite(options.suite)
    width = max(len(title) for title in suite)
    for title, benchmark in suite.items():
        print(f"{title:<{width}}  {benchmark.summary}".rstrip())
        print(f"{'':<{width}}  engines: {', '.join(benchmark.builders)}")
        for target in benchmark.targets:
            print(f"{'':<{width}}  target: {target.title()}")
    print("\ngroups:")
    for name, members in GROUPS.items():
        print(f"  {name:<20} {', '.join(members)}")
    print("\nengines:")
    for engine in (*DEVICES.values(), *PEERS.values()):
        print(f"  {engine.name:<20} {engine.device or engine.absent() or engine.version()}")
    return 0


def _run(options: argparse.Namespace) -> int:
    for name in ("blocks", "threads"):
        if getattr(options, name) < 1:
            raise ArgumentError(f"--{name}: must be 1 or more, got {getattr(options, name)}")
    suite = chosen(load_suite(options.suite), options.names)
    engines = chosen_devices(_words(options.devices)) + chosen_peers(_words(options.peers))
    blocks, seconds = (3, 0.05) if options.quick else (options.blocks, options.seconds)
    plan = Plan(
        wait=options.wait,
        blocks=blocks,
        seconds=seconds,
        threads=options.threads,
        suite=options.suite,
        keep_memory=options.keep_memory,
        tune=options.tune or os.environ.get("BURN_TUNE") or "remembered",
    )
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as with Ctrl-C: nothing is left behind
    try:
        found = Runner(plan, engines).run(suite, _print_last)
    finally:
        signal.signal(signal.SIGTERM, before)
    print(report.ending(found), end="")
    if options.json is not None:
        options.json.write_text(results.to_json(found), encoding="utf-8")
    if not options.no_keep:
        print(f"kept as {results.keep(found, options.store or results.store_folder())}")
    if options.plot is not None:
        chart.save_bars(found, options.plot)
    faults = report.faults(found)
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    return 1 if faults else 0


def _models(options: argparse.Namespace) -> int:
    if PEERS["onnxruntime"].absent():
        raise ArgumentError("burn-bench models: ONNX Runtime is not installed; write pip install onnxruntime")
    before = None if options.compare is None else models.read(options.compare)
    sizes, shapes = model_inputs.sizes_from(options.size), model_inputs.listed_shapes(options.shapes)
    plan = models.Plan(options.threads, options.blocks, options.seconds, options.patience, sizes, shapes, options.only)
    count, found = len(models.found_models(options.folder, options.only)), []
    for outcome in models.measure_all(options.folder, plan):
        found.append(outcome)
        if options.json is not None:
            models.save(found, options.json)
        print(f"[{len(found)} of {count}] {models.line(outcome)}", file=sys.stderr, flush=True)
    print(f"{machine.processor()}, {options.threads} threads, {machine.now()}, commit {machine.commit()}\n")
    print(models.HEADING)
    for outcome in models.by_ratio(found):
        print(models.line(outcome))
    print(models.summary(found))
    if options.plot is not None:
        models.draw(found, options.plot)
    if before is not None:
        print("\nratio of ratios, after to before")
        print("\n".join(models.changes(before, found)))
    return 1 if any(each.fault.startswith("burn") or each.difference > models.CLOSE for each in found) else 0


def _print_last(run: results.Run) -> None:
    """Print the table of the benchmark that has just ended; before the first, the heading."""
    if len(run.outcomes) == 1:
        print(f"{report.heading(run)}\n", flush=True)
    print(report.one(run, run.outcomes[-1]), flush=True)


def _show(options: argparse.Namespace) -> int:
    found = results.load(options.run, options.store or results.store_folder())
    print(report.report(found), end="")
    if options.plot is not None:
        chart.save_bars(found, options.plot)
    return 0


def _compare(options: argparse.Namespace) -> int:
    store = options.store or results.store_folder()
    print(compare.comparison(results.load(options.first, store), results.load(options.second, store)), end="")
    return 0


def _history(options: argparse.Namespace) -> int:
    store = options.store or results.store_folder()
    runs = [results.load(str(path), store) for path in results.kept(store)]
    series = compare.history(runs, options.against, options.engine, options.names)
    for name, points in series.items():
        print(f"{name} against {options.against}")
        for point in points:
            print(f"  {point.date}  {point.commit:<12} {report.between(point.ratio)}")
    if options.plot is not None:
        chart.save_history(series, options.against, options.plot)
    elif not series:
        print(f"no kept run in {store} was measured against {options.against}")
    return 0


def _tune(options: argparse.Namespace) -> int:
    return tune.command(options, chosen(load_suite(options.suite), options.names))


COMMANDS = {
    "list": _list,
    "run": _run,
    "show": _show,
    "compare": _compare,
    "history": _history,
    "memory": memory.command,
    "first-call": first_call.command,
    "tune": _tune,
    "models": _models,
}


if __name__ == "__main__":
    sys.exit(main())
