"""The `furnace` command: settings from a file and the command line, then a server."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from burn.errors import BurnError
from burn.tools.entry import command
from burn.version import __version__
from furnace.settings import Settings, read_toml


@command("furnace")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run a server until it is told to end. 2 is a fault in what was given, 1 a model or port that does not work."""
    parser = make_parser()
    given = vars(parser.parse_args(arguments))
    config = given.pop("config")
    try:
        values = {} if config is None else read_toml(Path(config))
        values.update({name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})
        settings = Settings(**values)
    except BurnError as error:
        print(f"furnace: {error}", file=sys.stderr)
        return 2
    set_up_logging(settings)
    from furnace.engine.threads import own_process
    from furnace.server import Server

    try:
        if settings.workers > 1:
            from furnace.supervisor import supervise

            return supervise(settings)
        own_process()
        Server(settings=settings).run()
    except BurnError as error:
        print(f"furnace: {error}", file=sys.stderr)
        return 1
    return 0


def make_parser() -> argparse.ArgumentParser:
    """The options: one for each setting, and the file that may hold them."""
    parser = argparse.ArgumentParser("furnace", description="Serve models over HTTP.")
    parser.add_argument("--version", action="version", version=f"furnace {__version__}")
    parser.add_argument("--config", metavar="FILE", default=None, help="a TOML file with any of these settings")
    for each in fields(Settings):
        option = "--" + each.name.replace("_", "-")
        text, kind = each.metadata["help"], str(each.type)
        more: dict[str, Any] = {"dest": each.name, "default": argparse.SUPPRESS}
        if each.metadata.get("many"):
            parser.add_argument(option, action="append", help=text, metavar="VALUE", **more)
        elif kind == "bool":
            parser.add_argument(option, action=argparse.BooleanOptionalAction, help=text, **more)
        else:
            number = int if kind.startswith("int") else float if kind.startswith("float") else str
            shown = "" if each.default is None else f" (default {each.default})"
            parser.add_argument(option, type=number, help=text + shown, choices=each.metadata.get("choices"),
                                metavar=None if "choices" in each.metadata else each.metadata.get("metavar", "VALUE"),
                                **more)  # fmt: skip
    return parser


def set_up_logging(settings: Settings) -> None:
    """Lines on standard error, for people or as one JSON object each."""
    handler = logging.StreamHandler()
    text = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    handler.setFormatter(_JsonLines() if settings.log_format == "json" else text)
    logger = logging.getLogger("furnace")
    logger.handlers[:] = [handler]
    logger.setLevel(settings.log_level.upper())
    logger.propagate = False


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


if __name__ == "__main__":
    sys.exit(main())
