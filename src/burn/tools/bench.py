"""The `burn-bench` command, which lives in a package of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from burn.tools.entry import command


@command("burn-bench")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run burn-bench, or say how to get it."""
    try:
        from burn_bench.cli import main as run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "burn_bench":
            raise
        print(
            "burn-bench: the benchmarks are a package of their own; write pip install 'burn-dl[bench]', "
            "or python -m benches in a checkout",
            file=sys.stderr,
        )
        return 2
    return run(arguments)
