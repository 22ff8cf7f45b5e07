"""The `burn-train` command: `burn-train plot ARTIFACT_DIR`, `burn-train summary ARTIFACT_DIR`."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from burn.errors import BurnError
from burn.tools.entry import command
from burn.tools.train.drawing import draw
from burn.train.summary import LearnerSummary
from burn.version import __version__


@command("burn-train")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. The code is 0, or 2 where the command line or the folder is wrong."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 2
    try:
        return _plot(options) if options.command == "plot" else _summary(options)
    except BrokenPipeError:
        raise
    except (BurnError, OSError) as error:
        print(error if isinstance(error, BurnError) else f"burn-train: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="burn-train", description="Look at what a training left in its folder.")
    parser.add_argument("--version", action="version", version=f"burn-train {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")

    plot = commands.add_parser("plot", help="draw the curves of the metrics")
    plot.add_argument("directory", type=Path, metavar="ARTIFACT_DIR", help="the folder that the learner was given")
    plot.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help=".png, .svg or .html; curves.png (or .svg) in the folder"
    )
    plot.add_argument("--title", default="", help="above the curves; the folder's name by default")

    summary = commands.add_parser("summary", help="print the best and worst epoch of each metric")
    summary.add_argument("directory", type=Path, metavar="ARTIFACT_DIR", help="the folder that the learner was given")
    summary.add_argument("--format", choices=("text", "markdown", "json"), default="text")
    for each in (plot, summary):
        each.add_argument("-m", "--metric", action="append", metavar="NAME", help="only this one; can be repeated")
    return parser


def _plot(options: argparse.Namespace) -> int:
    ending = ".png" if importlib.util.find_spec("matplotlib") is not None else ".svg"
    output: Path = options.output or options.directory / f"curves{ending}"
    draw(options.directory, output, options.metric, options.title)
    print(f"wrote {output}")
    return 0


def _summary(options: argparse.Namespace) -> int:
    summary = LearnerSummary(options.directory, options.metric)
    forms = {"text": summary.__str__, "markdown": summary.to_markdown, "json": summary.to_json}
    print(forms[options.format]().rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
