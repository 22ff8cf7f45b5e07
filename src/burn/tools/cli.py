"""The `burn` command: `burn --version`, `burn env`, `burn parity`, `burn clear-cache`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from burn.tools.entry import command
from burn.version import __version__

COMMANDS = {
    "env": "describe this installation: Python, NumPy, platform, devices",
    "parity": "compare the public names with Burn's",
    "clear-cache": "delete the compiled kernels kept on disk",
}


@command("burn")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command named by the first argument."""
    parser = argparse.ArgumentParser(
        prog="burn",
        description="Burn for Python.",
        epilog="commands:\n" + "\n".join(f"  {name:<13}{text}" for name, text in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"burn-dl {__version__}")
    parser.add_argument("command", choices=COMMANDS, metavar="command", nargs="?")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the command")
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 2
    if options.command == "parity":
        from burn.tools import parity

        return parity.main(options.arguments)
    if options.command == "clear-cache":
        from burn.backend.cpu.cache import clear_cache_command

        return clear_cache_command(options.arguments)
    from burn.tools import env

    return env.main(options.arguments)


if __name__ == "__main__":
    sys.exit(main())
